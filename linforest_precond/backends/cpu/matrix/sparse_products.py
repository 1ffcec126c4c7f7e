"""Products of two sparse matrices by rows: Gustavson, "Two fast algorithms for sparse matrices" (1978)."""

import math

import numba
import numpy as np
from numba import prange

from ..runtime.arrays import readonly, shell_sort
from ..runtime.jit import kernel

# Parts at most: each has a dense array with a place for every column of the product.
MOST_PARTS = 16
# Entries for which there is work space at a time.
ENTRIES_AT_ONCE = 2**26
# Entries, about, of a thread's share of the rows.
SHARE = 16384


def multiply(left, right, width):
    """The CSR arrays of a product of CSR arrays; `width` is that of the second matrix.

    Terms are added in the order of the first matrix's entries. Entries that sum to zero stay stored.
    """
    return multiply_and_plan(left, right, width)[0]


def multiply_and_plan(left, right, width, most=math.inf):
    """The CSR arrays of a product and its pattern for `multiply_again`; None for more than `most` entries."""
    rows = left[0].size - 1
    factors = tuple(readonly(array) for array in (*left, *right))
    counts = np.zeros(rows + 1, np.int64)
    bound_entries(*factors, width, counts)
    bounds = np.cumsum(counts)
    pieces = [(left[1][:0], left[2][:0])]
    for cut in _cuts(bounds, rows):
        pieces += _rows_of_product(factors, bounds, *cut, width, counts)
    indices, data = map(np.concatenate, zip(*pieces))
    indptr = np.cumsum(counts).astype(left[1].dtype)
    return None if indices.size > most else ((indptr, indices, data), (indptr, indices))


def multiply_again(plan, left, right, width):
    """`multiply` for factors with the patterns of those that a plan was made for."""
    indptr, indices = plan
    dtype = left[2].dtype
    # Minus zero plus any number is that number, zeros with their signs.
    data = np.full(indices.size, complex(-0.0, -0.0) if dtype.kind == "c" else -0.0, dtype)
    starts = _balanced_parts(indptr, 0, indptr.size - 1)
    arrays = (*left, *right, indptr, indices, starts)
    add_known_entries(*(readonly(array) for array in arrays), width, data)
    return indptr, indices, data


def _cuts(bounds, rows):
    """The first and last rows of the parts that are computed one after the other."""
    if 0 < bounds[-1] <= ENTRIES_AT_ONCE:
        return [(0, rows)]
    cuts = np.searchsorted(bounds, np.arange(0, bounds[-1], ENTRIES_AT_ONCE), side="right") - 1
    cuts = np.unique(np.r_[0, cuts, rows])
    return zip(cuts, cuts[1:])


def _balanced_parts(bounds, first, last):
    """Where the parts of some rows begin, each of about as many entries."""
    parts = max(1, min(numba.get_num_threads(), MOST_PARTS, last - first))
    shares = bounds[first] + np.arange(parts + 1) * (bounds[last] - bounds[first]) // parts
    starts = np.searchsorted(bounds, shares).clip(first, last)
    starts[0], starts[-1] = first, last
    return starts


def _rows_of_product(factors, bounds, first, last, width, counts):
    """The column indices and values of some rows of the product, in pieces, and the rows' `counts`.

    The numbers of entries are known only afterwards. So each part allocates the upper bound and uses a prefix
    of it; untouched pages cost nothing.
    """
    starts = _balanced_parts(bounds, first, last)
    places = bounds[starts] - bounds[first]
    indices, data = np.empty(places[-1], factors[1].dtype), np.empty(places[-1], factors[2].dtype)
    ends = places[:-1].copy()
    add_entries(*factors, readonly(starts), width, counts, indices, data, ends)
    return [(indices[begin:end], data[begin:end]) for begin, end in zip(places, ends)]


# Bounds the number of entries of each row i of the product, at place i + 1, by its terms.
@kernel(parallel=True)
def bound_entries(
    left_indptr, left_indices, left_data, right_indptr, right_indices, right_data, width, counts
):  # fmt: skip
    for row in prange(left_indptr.size - 1):
        terms = 0
        for slot in range(np.int64(left_indptr[row]), np.int64(left_indptr[row + 1])):
            middle = np.int64(left_indices[slot])
            terms += np.int64(right_indptr[middle + 1]) - np.int64(right_indptr[middle])
        counts[row + 1] = min(terms, width)


# Adds up the terms of each row in a dense accumulator, sorts its columns, and counts them. The rows of a
# part go to consecutive places from `ends` on, which is moved to their end.
@kernel(parallel=True)
def add_entries(
    left_indptr, left_indices, left_data, right_indptr, right_indices, right_data, starts, width,
    counts, indices, data, ends,
):  # fmt: skip
    for part in prange(starts.size - 1):
        # The place of each column in the output; places before the current row's begin are of earlier rows.
        places = np.full(width, -1, np.int64)
        end = ends[part]
        for row in range(starts[part], starts[part + 1]):
            begin = end
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
            counts[row + 1] = end - begin
        ends[part] = end


# Adds up the terms of each row in the places of its columns.
@kernel(parallel=True)
def add_known_entries(
    left_indptr, left_indices, left_data, right_indptr, right_indices, right_data, indptr, indices, starts,
    width, data,
):  # fmt: skip
    for part in prange(starts.size - 1):
        places = np.empty(width, np.int64)
        for row in range(starts[part], starts[part + 1]):
            for slot in range(np.int64(indptr[row]), np.int64(indptr[row + 1])):
                places[np.int64(indices[slot])] = slot
            for slot in range(np.int64(left_indptr[row]), np.int64(left_indptr[row + 1])):
                middle = np.int64(left_indices[slot])
                for other in range(np.int64(right_indptr[middle]), np.int64(right_indptr[middle + 1])):
                    term = left_data[slot] * right_data[other]
                    data[places[np.int64(right_indices[other])]] += term


def row_shares(indptr):
    """Load balancing: the first row of each thread's share, with equal numbers of entries, and all rows."""
    nnz = int(indptr[-1])
    if nnz <= SHARE:
        return np.array([0, indptr.size - 1])
    parts = -(-nnz // SHARE)
    shares = np.arange(1, parts) * (nnz // parts)
    return np.array([0, *np.searchsorted(indptr, shares), indptr.size - 1], np.int64)
