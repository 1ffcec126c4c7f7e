"""Sums of a matrix's rows, by which the Galerkin product of aggregates is computed."""

import numpy as np

from ..runtime import INDICES, VALUES, Program, Struct, cupy, launch

# As in row_merging.cuh: terms of a row that a warp merges, and that a block sorts; bytes of values
# that fit into shared memory, but not more terms.
SHORT_ROW = 256
LONGEST_ROW = 4096
CAPACITY_BYTES = 20480
CAPACITY = 2560
# As in row_merging.cu: members whose rows fit into shared memory.
MEMBERS = 512
# Coarse rows of a tile: the most that fit, with a margin for tiles of longer rows.
TILES = 128, 96, 64, 48, 32, 24, 16
MARGIN = 1.1

# The structs and totals in row_merging.cuh.
MERGED_ROWS = Struct("MergedRows", "matrix/row_merging.cuh")
MERGE_ROOM = Struct("MergeRoom", "matrix/row_merging.cuh")
TAKEN, ENTRIES, LONGEST, TOTALS = range(4)
# The structs and sizes in row_merging.cu.
FINE_MATRIX = Struct("FineMatrix", "matrix/row_merging.cu")
GROUPS = Struct("Groups", "matrix/row_merging.cu")
LONGEST_ROWS = Struct("LongestRows", "matrix/row_merging.cu")
SIZES = 3
PROGRAM = Program("matrix/row_merging", VALUE=VALUES, INDEX=INDICES)


def merge_rows(matrix, begins, members, coarse_columns):
    """Add up the rows of each group's members, in their order.

    Takes the CSR arrays of the matrix, where the members of each group begin, the members, and the coarse
    column of each of the matrix's columns. Returns CSR arrays with ascending columns: an entry wherever a
    member has one, zeros included.
    """
    indptr, indices, data = matrix
    count, index, dtype = begins.size - 1, indices.dtype, data.dtype
    program = PROGRAM(VALUE=dtype, INDEX=index)
    lengths, sizes = cupy.zeros(members.size + 1, index), cupy.zeros(SIZES, np.uint64)
    launch(program.count_entries, (indptr, members, members.size, lengths, sizes))
    starts = cupy.cumsum(lengths, dtype=index)
    fine = FINE_MATRIX(indptr=indptr, indices=indices, data=data, coarse_columns=coarse_columns)
    groups = GROUPS(begins=begins, members=members, starts=starts, count=count)
    launch(program.measure_groups, (groups, sizes))
    terms, longest, most_members = sizes.tolist()  # stall: how rows are merged
    rows = rows_of_tile(count, terms, dtype, members.size)
    fits = tiles_fit(rows, longest, dtype) and most_members * rows <= MEMBERS
    room = None if fits else (cupy.empty(terms, index), cupy.empty(terms, dtype))
    long_rows, counts = None, None
    if longest > LONGEST_ROW:
        long_rows, counts = _merge_longest(program, fine, groups, room, starts[begins], dtype)
    listed = LONGEST_ROWS(rows=long_rows, counts=counts, count=0 if counts is None else counts.size)
    out = cupy.zeros(count + 1, index), cupy.empty(terms, index), cupy.empty(terms, dtype)
    entries, _ = merge_tiles(program.merge_groups, (fine, groups, listed), out, room, rows)
    return out[0], out[1][:entries].copy(), out[2][:entries].copy()


def rows_of_tile(count, terms, dtype, members=0):
    """Coarse rows per tile, out of `count`: the largest size that fits into shared memory on average."""
    most = min(_capacity(dtype) * count / max(terms, 1), MEMBERS * count / max(members, 1))
    return next((rows for rows in TILES if MARGIN * rows <= most), TILES[-1])


def tiles_fit(rows, longest, dtype):
    """Whether all tiles fit into shared memory if no row has more than `longest` terms."""
    return longest <= SHORT_ROW and longest * rows <= _capacity(dtype)


def merge_tiles(kernel, arguments, out, room, rows):
    """Launch a kernel that calls `merge_all_rows`, in tiles of `rows`.

    `out` are the CSR arrays, with space for all terms; so has `room`, which is None where all tiles fit into
    shared memory. Returns the numbers of entries of all rows and of the longest row.
    """
    indptr, indices, data = out
    words = cupy.zeros(TOTALS + -(-(indptr.size - 1) // rows), np.uint64)
    merged = MERGED_ROWS(indptr=indptr, indices=indices, data=data)
    launch(kernel, (*arguments, merged, _room_struct(room), rows, words[TOTALS:], words))
    return tuple(words[ENTRIES:TOTALS].tolist())  # stall: the size of the matrix


def _capacity(dtype):
    return min(CAPACITY, CAPACITY_BYTES // dtype.itemsize)


def _room_struct(room):
    indices, data = room or (None, None)
    return MERGE_ROOM(indices=indices, data=data)


def _merge_longest(program, fine, groups, room, starts, dtype):
    """Merge the rows too long for a block, all their terms sorted; returns these rows and their entries."""
    index, lengths = starts.dtype, starts[1:] - starts[:-1]
    rows = cupy.flatnonzero(lengths > LONGEST_ROW).astype(index)  # stall: CuPy counts them to allocate
    offsets = cupy.zeros(rows.size + 1, np.int64)
    offsets[1:] = cupy.cumsum(lengths[rows], dtype=np.int64)
    terms = int(offsets[-1])  # stall: how much memory they need
    words, values = cupy.empty(terms, np.uint64), cupy.empty(terms, dtype)
    launch(program.pack_longest_rows, (fine, groups, rows, offsets, rows.size, words, values))
    order = cupy.argsort(words, kind="stable")
    words, values = words[order], values[order]
    heads = cupy.ones(terms, bool)
    heads[1:] = words[1:] != words[:-1]
    heads = cupy.flatnonzero(heads)  # stall: CuPy counts them to allocate
    numbers = (words[heads] >> np.uint64(32)).astype(np.int64)
    firsts = cupy.searchsorted(numbers, cupy.arange(rows.size + 1))
    counts = (firsts[1:] - firsts[:-1]).astype(index)
    listed = LONGEST_ROWS(rows=rows, counts=counts, count=rows.size)
    arguments = groups, listed, _room_struct(room), words, values, terms, heads, heads.size, firsts
    launch(program.merge_longest_rows, arguments)
    return rows, counts
