"""The matrix between aggregates: P^T A P, where P has a one in each row."""

import numpy as np

from .launch import Struct, launch
from .lazy import cupy
from .loader import kernels

# As in galerkin.cu: entries of a row that a team of lanes merges and that a block sorts, and what fits into
# shared memory: members, and bytes of their values, but not more entries.
SHORT_ROW = 128
LONGEST_ROW = 4096
MEMBERS = 512
CAPACITY_BYTES = 20480
CAPACITY = 2560
# Rows of a tile: the most that fit, some to spare.
TILES = 128, 96, 64, 48, 32, 16
SPARE = 1.1

# The structs and totals in galerkin.cu.
FINE = Struct(indptr="P", indices="P", data="P", aggregates="P")
GROUPS = Struct(begins="P", members="P", starts="P", count="q")
COARSE = Struct(indptr="P", indices="P", data="P")
ROOM = Struct(indices="P", data="P", longest_rows="P", longest_counts="P", longest="q")
TAKEN, ENTRIES, TOTALS = range(3)


def coarse_matrix(csr, aggregates, indptr, members):
    """Add up the entries between the members of each two aggregates, in (row, column) order.

    Takes the aggregates and their members (`aggregates.members_of`). Returns CSR arrays with ascending
    columns: an entry for every two aggregates between which one is stored, zeros included.
    """
    count, index, dtype = indptr.size - 1, csr.indices.dtype, csr.data.dtype
    program = kernels("galerkin", VALUE=dtype.type, INDEX=index.type)
    starts = cupy.zeros(members.size + 1, index)
    launch(program.count_entries, (csr.indptr, members, members.size, starts))
    starts = cupy.cumsum(starts, dtype=index)
    row_starts = starts[indptr]
    lengths = row_starts[1:] - row_starts[:-1]
    longest = int(lengths.max()) if count else 0  # stall: how rows are merged

    fine = FINE(indptr=csr.indptr, indices=csr.indices, data=csr.data, aggregates=aggregates)
    groups = GROUPS(begins=indptr, members=members, starts=starts, count=count)
    rows = _rows_of_tile(csr, count)
    fits = longest <= SHORT_ROW and longest * rows <= _capacity(dtype)
    room = dict.fromkeys(ROOM.fields, 0)
    if not fits:
        room |= {"indices": cupy.empty_like(csr.indices), "data": cupy.empty_like(csr.data)}
    if longest > LONGEST_ROW:
        room |= _merge_longest(program, fine, groups, room, lengths)
    out = cupy.zeros(count + 1, index), cupy.empty_like(csr.indices), cupy.empty_like(csr.data)
    words = cupy.zeros(TOTALS + -(-count // rows), np.uint64)
    coarse = COARSE(indptr=out[0], indices=out[1], data=out[2])
    launch(program.merge_coarse_rows, (fine, groups, coarse, ROOM(**room), rows, words[TOTALS:], words))
    entries = int(words[ENTRIES])  # stall: the size of the matrix
    return out[0], out[1][:entries].copy(), out[2][:entries].copy()


def mirror_upper(indptr, indices, data):
    """Let entries below the diagonal be the conjugates of those above it, and the diagonal real, in place.

    For coarse matrices of Hermitian ones, whose pattern is symmetric: their sums run in another order on
    either side of the diagonal, so they are Hermitian to rounding only.
    """
    program = kernels("galerkin", VALUE=data.dtype.type, INDEX=indices.dtype.type)
    launch(program.copy_upper, (indptr, indices, indptr.size - 1, data))


def _capacity(dtype):
    return min(CAPACITY, CAPACITY_BYTES // dtype.itemsize)


def _rows_of_tile(csr, count):
    most = min(
        _capacity(csr.data.dtype) * count / max(csr.indices.size, 1),
        MEMBERS * count / max(csr.indptr.size - 1, 1),
    )
    return next((rows for rows in TILES if SPARE * rows <= most), TILES[-1])


def _merge_longest(program, fine, groups, room, lengths):
    """Merge the rows too long for a block, all their entries sorted; gives these rows and their counts."""
    index = lengths.dtype
    rows = cupy.flatnonzero(lengths > LONGEST_ROW).astype(index)  # stall: CuPy counts them to allocate
    offsets = cupy.zeros(rows.size + 1, np.int64)
    offsets[1:] = cupy.cumsum(lengths[rows], dtype=np.int64)
    entries = int(offsets[-1])  # stall: how much room they need
    words, slots = cupy.empty(entries, np.uint64), cupy.empty(entries, np.int64)
    launch(program.pack_words, (fine, groups, rows, offsets, rows.size, words, slots))
    order = cupy.argsort(words, kind="stable")
    words, slots = words[order], slots[order]
    heads = cupy.ones(entries, bool)
    heads[1:] = words[1:] != words[:-1]
    heads = cupy.flatnonzero(heads)  # stall: CuPy counts them to allocate
    numbers = (words[heads] >> np.uint64(32)).astype(np.int64)
    firsts = cupy.searchsorted(numbers, cupy.arange(rows.size + 1))
    found = {
        "longest_rows": rows, "longest_counts": (firsts[1:] - firsts[:-1]).astype(index), "longest": rows.size
    }  # fmt: skip
    arguments = fine, groups, ROOM(**room | found), words, slots, entries, heads, heads.size, firsts
    launch(program.merge_longest_rows, arguments)
    return found
