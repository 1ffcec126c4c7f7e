"""The matrix between aggregates: P^T A P, where P has a one in each row."""

import numba
import numpy as np
from numba import prange

from ..runtime.arrays import readonly
from ..runtime.jit import kernel
from ..runtime.sorting import shell_sort

# Parts at most: each has an array as long as the coarse matrix.
MOST_PARTS = 16


def coarse_matrix(csr, aggregates, indptr, members):
    """Add up the entries between the members of each two aggregates, in (row, column) order.

    Takes the aggregates and their members (`aggregates.members_of`). Returns CSR arrays with ascending
    columns: an entry for every two aggregates between which one is stored, zeros included.
    """
    count, index = indptr.size - 1, csr.indices.dtype
    parts = max(1, min(numba.get_num_threads(), MOST_PARTS, count))
    # Each part takes coarse rows with about as many entries, and puts its own from `room` on.
    lengths = np.zeros(count + 1, np.int64)
    add_up_lengths(*map(readonly, (csr.indptr, indptr, members)), lengths)
    lengths = np.cumsum(lengths)
    starts = np.searchsorted(lengths, np.arange(parts + 1) * lengths[-1] // parts)
    starts[-1] = count
    room = lengths[starts]
    columns, sums = np.empty(lengths[-1], index), np.empty(lengths[-1], csr.data.dtype)
    counts = np.zeros(count + 1, np.int64)
    arrays = csr.indptr, csr.indices, csr.data, aggregates, indptr, members, starts, room
    merge_rows(*map(readonly, arrays), columns, sums, counts)
    ends = np.cumsum(counts)
    packed = np.empty(ends[-1], index), np.empty(ends[-1], sums.dtype)
    pack_parts(*map(readonly, (room, ends[starts], columns, sums)), *packed)
    return ends.astype(index), *packed


def mirror_upper(indptr, indices, data):
    """Let entries below the diagonal be the conjugates of those above it, and the diagonal real, in place.

    For coarse matrices of Hermitian ones, whose pattern is symmetric: their sums run in another order on
    either side of the diagonal, so they are Hermitian to rounding only.
    """
    copy_upper(*map(readonly, (indptr, indices)), data)


@kernel(parallel=True)
def copy_upper(indptr, indices, data):
    for row in prange(indptr.size - 1):
        for slot in range(np.int64(indptr[row]), np.int64(indptr[row + 1])):
            column = np.int64(indices[slot])
            if column >= row:
                if column == row:
                    data[slot] = data[slot].real
                break
            above = indices[indptr[column] : indptr[column + 1]]
            data[slot] = np.conj(data[np.int64(indptr[column]) + np.searchsorted(above, row)])


# The entries of the members of each aggregate; those of aggregate i go to place i + 1.
@kernel(parallel=True)
def add_up_lengths(fine_indptr, indptr, members, lengths):
    for row in prange(lengths.size - 1):
        length = np.int64(0)
        for i in range(indptr[row], indptr[row + 1]):
            length += np.int64(fine_indptr[members[i] + 1]) - np.int64(fine_indptr[members[i]])
        lengths[row + 1] = length


# Each part merges its coarse rows one behind the other; `counts` of row i go to place i + 1.
@kernel(parallel=True)
def merge_rows(
    fine_indptr, indices, data, aggregates, indptr, members, starts, room, columns, sums, counts
):  # fmt: skip
    for part in prange(starts.size - 1):
        # Where each column of the row at hand stands; what lies before the row is from rows before it.
        places = np.full(indptr.size - 1, -1, np.int64)
        end = room[part]
        for row in range(starts[part], starts[part + 1]):
            begin = end
            for i in range(indptr[row], indptr[row + 1]):
                v = np.int64(members[i])
                for slot in range(np.int64(fine_indptr[v]), np.int64(fine_indptr[v + 1])):
                    column = np.int64(aggregates[indices[slot]])
                    place = places[column]
                    if place < begin:
                        places[column] = end
                        columns[end], sums[end] = column, data[slot]
                        end += 1
                    else:
                        sums[place] += data[slot]
            shell_sort(columns[begin:end], sums[begin:end], end - begin)
            counts[row + 1] = end - begin


# Closes the gaps between the parts.
@kernel(parallel=True)
def pack_parts(room, ends, columns, sums, packed_columns, packed_sums):
    for part in prange(ends.size - 1):
        gap = room[part] - ends[part]
        for slot in range(ends[part], ends[part + 1]):
            packed_columns[slot], packed_sums[slot] = columns[slot + gap], sums[slot + gap]
