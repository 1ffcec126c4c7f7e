"""Products of two sparse matrices."""

import numba
import numpy as np
from numba import prange

from .entries import readonly
from .jit import helper, kernel
from .pairs import sort

# Parts at most: each has arrays as long as a row of the product.
MOST_PARTS = 16


def multiply(left, right, width):
    """The CSR arrays of a product of CSR arrays; `width` is that of the second matrix.

    Terms are added in the order of the first matrix's entries. Zeros that result are kept.
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


# The columns of a row of the product, in the order in which they are met, and where each stands.
@helper
def meet_columns(left_indptr, left_indices, right_indptr, right_indices, row, places, columns):
    count = 0
    for slot in range(np.int64(left_indptr[row]), np.int64(left_indptr[row + 1])):
        middle = np.int64(left_indices[slot])
        for other in range(np.int64(right_indptr[middle]), np.int64(right_indptr[middle + 1])):
            column = right_indices[other]
            if places[column] < 0:
                places[column] = count
                columns[count] = column
                count += 1
    return count


@kernel(parallel=True)
def count_entries(
    left_indptr, left_indices, left_data, right_indptr, right_indices, right_data, starts, width, counts
):  # fmt: skip
    for part in prange(starts.size - 1):
        places, columns = np.full(width, -1, np.int64), np.empty(width, np.int64)
        for row in range(starts[part], starts[part + 1]):
            count = meet_columns(left_indptr, left_indices, right_indptr, right_indices, row, places, columns)
            counts[row + 1] = count
            for i in range(count):
                places[columns[i]] = -1


@kernel(parallel=True)
def add_entries(
    left_indptr, left_indices, left_data, right_indptr, right_indices, right_data, starts, width,
    indptr, indices, data,
):  # fmt: skip
    for part in prange(starts.size - 1):
        places, columns = np.full(width, -1, np.int64), np.empty(width, np.int64)
        for row in range(starts[part], starts[part + 1]):
            count = meet_columns(left_indptr, left_indices, right_indptr, right_indices, row, places, columns)
            begin = indptr[row]
            own, sums = indices[begin : begin + count], data[begin : begin + count]
            sums[:] = 0
            for slot in range(np.int64(left_indptr[row]), np.int64(left_indptr[row + 1])):
                middle = np.int64(left_indices[slot])
                for other in range(np.int64(right_indptr[middle]), np.int64(right_indptr[middle + 1])):
                    sums[places[right_indices[other]]] += left_data[slot] * right_data[other]
            for i in range(count):
                own[i] = columns[i]
                places[columns[i]] = -1
            sort(own, sums, count)
