"""Rows of a matrix added up to fewer: what coarse matrices and products of matrices are made by."""

import numpy as np

from ..runtime.launch import launch
from ..runtime.lazy_cupy import cupy
from ..runtime.loader import kernels
from ..runtime.structs import Struct

# As in row_merging.cu: entries of a row that a team of lanes merges, and that a block sorts; what fits into
# shared memory: members, and bytes of their values, but not more entries.
SHORT_ROW = 128
LONGEST_ROW = 4096
MEMBERS = 512
CAPACITY_BYTES = 20480
CAPACITY = 2560
# Rows of a tile: the most that fit, some to spare.
TILES = 128, 96, 64, 48, 32, 16
SPARE = 1.1

# The structs and totals in row_merging.cu.
FINE = Struct("Fine", "matrix/row_merging.cu", indptr="P", indices="P", data="P", numbers="P")
GROUPS = Struct(
    "Groups", "matrix/row_merging.cu", begins="P", members="P", weights="P", starts="P", count="q"
)
COARSE = Struct("Coarse", "matrix/row_merging.cu", indptr="P", indices="P", data="P")
ROOM = Struct(
    "Room", "matrix/row_merging.cu", indices="P", data="P", longest_rows="P", longest_counts="P", longest="q"
)
TAKEN, ENTRIES, TOTALS = range(3)
SIZES = 3


def merge_rows(matrix, begins, members, numbers=0, weights=0, most_terms=None):
    """Add up the rows of each group's members, in their order.

    Takes the CSR arrays of the matrix, where the members of each group begin, and the members. `numbers` are
    new ones for the matrix's columns, `weights` are what each member's row is multiplied with. Returns CSR
    arrays with ascending columns: an entry wherever a member has one, zeros included; None where there are
    more than `most_terms` to add up.
    """
    indptr, indices, data = matrix
    count, index, dtype = begins.size - 1, indices.dtype, data.dtype
    program = kernels("matrix/row_merging", VALUE=dtype.type, INDEX=index.type)
    lengths, sizes = cupy.zeros(members.size + 1, index), cupy.zeros(SIZES, np.uint64)
    launch(program.count_entries, (indptr, members, members.size, lengths, sizes))
    starts = cupy.cumsum(lengths, dtype=index)
    fine = FINE(indptr=indptr, indices=indices, data=data, numbers=numbers)
    groups = GROUPS(begins=begins, members=members, weights=weights, starts=starts, count=count)
    launch(program.measure_groups, (groups, sizes))
    terms, longest, largest = sizes.tolist()  # stall: how rows are merged
    if most_terms is not None and terms > most_terms:
        return None
    rows = _rows_of_tile(terms, members.size, count, dtype)
    fits = longest <= SHORT_ROW and longest * rows <= _capacity(dtype) and largest * rows <= MEMBERS
    room = dict.fromkeys(ROOM.fields, 0)
    if not fits:
        room |= {"indices": cupy.empty(terms, index), "data": cupy.empty(terms, dtype)}
    if longest > LONGEST_ROW:
        room |= _merge_longest(program, fine, groups, room, starts[begins], dtype)
    out = cupy.zeros(count + 1, index), cupy.empty(terms, index), cupy.empty(terms, dtype)
    words = cupy.zeros(TOTALS + -(-count // rows), np.uint64)
    coarse = COARSE(indptr=out[0], indices=out[1], data=out[2])
    launch(program.merge_coarse_rows, (fine, groups, coarse, ROOM(**room), rows, words[TOTALS:], words))
    entries = int(words[ENTRIES])  # stall: the size of the matrix
    return out[0], out[1][:entries].copy(), out[2][:entries].copy()


def _capacity(dtype):
    return min(CAPACITY, CAPACITY_BYTES // dtype.itemsize)


def _rows_of_tile(terms, members, count, dtype):
    most = min(_capacity(dtype) * count / max(terms, 1), MEMBERS * count / max(members, 1))
    return next((rows for rows in TILES if SPARE * rows <= most), TILES[-1])


def _merge_longest(program, fine, groups, room, starts, dtype):
    """Merge the rows too long for a block, all their entries sorted; gives these rows and their counts."""
    index, lengths = starts.dtype, starts[1:] - starts[:-1]
    rows = cupy.flatnonzero(lengths > LONGEST_ROW).astype(index)  # stall: CuPy counts them to allocate
    offsets = cupy.zeros(rows.size + 1, np.int64)
    offsets[1:] = cupy.cumsum(lengths[rows], dtype=np.int64)
    entries = int(offsets[-1])  # stall: how much room they need
    words, values = cupy.empty(entries, np.uint64), cupy.empty(entries, dtype)
    launch(program.pack_words, (fine, groups, rows, offsets, rows.size, words, values))
    order = cupy.argsort(words, kind="stable")
    words, values = words[order], values[order]
    heads = cupy.ones(entries, bool)
    heads[1:] = words[1:] != words[:-1]
    heads = cupy.flatnonzero(heads)  # stall: CuPy counts them to allocate
    numbers = (words[heads] >> np.uint64(32)).astype(np.int64)
    firsts = cupy.searchsorted(numbers, cupy.arange(rows.size + 1))
    found = {
        "longest_rows": rows, "longest_counts": (firsts[1:] - firsts[:-1]).astype(index), "longest": rows.size
    }  # fmt: skip
    arguments = groups, ROOM(**room | found), words, values, entries, heads, heads.size, firsts
    launch(program.merge_longest_rows, arguments)
    return found
