"""Products of two sparse matrices by rows: Gustavson, "Two fast algorithms for sparse matrices" (1978)."""

import numba
import numpy as np
from numba import prange

from ..runtime.arrays import readonly
from ..runtime.jit import kernel
from ..runtime.sorting import shell_sort

# Parts at most: each has a dense array with a place for every column of the product.
MOST_PARTS = 16


def multiply(left, right, width):
    """The CSR arrays of a product of CSR arrays; `width` is that of the second matrix.

    Terms are added in the order of the first matrix's entries. Entries that sum to zero stay stored.
    """
    rows = left[0].size - 1
    parts = max(1, min(numba.get_num_threads(), MOST_PARTS, rows))
    starts = np.searchsorted(left[0], np.arange(parts + 1) * left[1].size // parts)
    starts[0], starts[-1] = 0, rows
    arrays = tuple(readonly(array) for array in (*left, *right, starts))
    counts = np.zeros(rows + 1, np.int64)
    count_entries(*arrays, width, counts)
    indptr = np.cumsum(counts)
    indices, data = np.empty(indptr[-1], left[1].dtype), np.empty(indptr[-1], left[2].dtype)
    add_entries(*arrays, width, readonly(indptr), indices, data)
    return indptr.astype(left[1].dtype), indices, data


# The symbolic phase: counts the columns of each row i of the product at place i + 1.
@kernel(parallel=True)
def count_entries(
    left_indptr, left_indices, left_data, right_indptr, right_indices, right_data, starts, width, counts
):  # fmt: skip
    for part in prange(starts.size - 1):
        met = np.full(width, -1, np.int64)  # the last row in which each column occurred
        for row in range(starts[part], starts[part + 1]):
            for slot in range(np.int64(left_indptr[row]), np.int64(left_indptr[row + 1])):
                middle = np.int64(left_indices[slot])
                for other in range(np.int64(right_indptr[middle]), np.int64(right_indptr[middle + 1])):
                    column = right_indices[other]
                    if met[column] != row:
                        met[column] = row
                        counts[row + 1] += 1


# The numeric phase: adds up the terms of each row in a dense accumulator, and sorts its columns.
@kernel(parallel=True)
def add_entries(
    left_indptr, left_indices, left_data, right_indptr, right_indices, right_data, starts, width,
    indptr, indices, data,
):  # fmt: skip
    for part in prange(starts.size - 1):
        # The place of each column in the output; places before the current row's begin are of earlier rows.
        places = np.full(width, -1, np.int64)
        for row in range(starts[part], starts[part + 1]):
            begin = end = indptr[row]
            for slot in range(np.int64(left_indptr[row]), np.int64(left_indptr[row + 1])):
                middle = np.int64(left_indices[slot])
                for other in range(np.int64(right_indptr[middle]), np.int64(right_indptr[middle + 1])):
                    column = np.int64(right_indices[other])
                    term = left_data[slot] * right_data[other]
                    if places[column] < begin:
                        places[column] = end
                        indices[end], data[end] = column, term
                        end += 1
                    else:
                        data[places[column]] += term
            shell_sort(indices[begin:end], data[begin:end], end - begin)
