"""The Galerkin product P^T A P for the tentative prolongator P of aggregates: a one in each row."""

import numba
import numpy as np
from numba import prange

from ..matrix.entries import packed
from ..runtime.arrays import readonly, shell_sort
from ..runtime.jit import kernel

# Parts at most: each has a dense array with a place for every coarse column.
MOST_PARTS = 16


def coarse_matrix(csr, aggregates, indptr, members):
    """The CSR arrays of P^T A P, columns ascending; each entry is summed in (row, column) order of A.

    Takes each unknown's aggregate, and the members of the aggregates (`aggregates.members_of`). Entries that
    sum to zero stay stored.
    """
    count, index = indptr.size - 1, csr.indices.dtype
    parts = max(1, min(numba.get_num_threads(), MOST_PARTS, count))
    # Load balancing: each part merges coarse rows with about equal numbers of terms, from `room` on.
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
    return ends.astype(index), *packed(room, ends[starts], columns, sums)


# Counts the entries of the members of each aggregate i at place i + 1.
@kernel(parallel=True)
def add_up_lengths(fine_indptr, indptr, members, lengths):
    for row in prange(lengths.size - 1):
        length = np.int64(0)
        for i in range(indptr[row], indptr[row + 1]):
            length += np.int64(fine_indptr[members[i] + 1]) - np.int64(fine_indptr[members[i]])
        lengths[row + 1] = length


# Gustavson's algorithm: each part merges its coarse rows in a dense accumulator; counts[i + 1] is of row i.
@kernel(parallel=True)
def merge_rows(
    fine_indptr, indices, data, aggregates, indptr, members, starts, room, columns, sums, counts
):  # fmt: skip
    for part in prange(starts.size - 1):
        # The place of each column in the output; places before the current row's begin are of earlier rows.
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
