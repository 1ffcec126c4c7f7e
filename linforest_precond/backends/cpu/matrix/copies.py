"""Copies of matrices with permuted and scaled rows, B = P D_r A D_c, and of arrays in another precision.

And the scalings of vectors around the inverse of B.
"""

import numpy as np
from numba import prange

from ..runtime.arrays import readonly
from ..runtime.jit import kernel, serial_version
from .entries import rows_of
from .sparse_products import row_shares


def scaled_matrix(indptr, indices, data, order, row, column):
    """CSR arrays of P D_r A D_c; row i is A's row order[i], or its own where order is None.

    An entry is multiplied by the product of its two factors, so that a symmetric matrix stays symmetric.
    """
    if order is not None:
        indptr, indices, data = permuted_matrix(indptr, indices, data, order, np.empty(0, order.dtype))
        row = row[order]
    factors = row[rows_of(indptr, indices.size)] * column[indices]
    with np.errstate(over="ignore", under="ignore"):
        return indptr, indices, (data * factors).astype(data.dtype, copy=False)


def permuted_matrix(indptr, indices, data, order, rank):
    """CSR arrays of P A P^T; row i is A's row order[i] with its entries as they are, column j is rank[j].

    Columns stay where rank is empty.
    """
    permuted = np.zeros_like(indptr)
    np.cumsum((indptr[1:] - indptr[:-1])[order], out=permuted[1:])
    columns, values, starts = np.empty_like(indices), np.empty_like(data), row_shares(permuted)
    given = (readonly(array) for array in (starts, indptr, indices, data, order, rank, permuted))
    (serial_version(move_rows) if starts.size == 2 else move_rows)(*given, columns, values)
    return permuted, columns, values


# The rows are split among threads by their entries. Unsigned indices need no check for negative ones.
@kernel(parallel=True)
def move_rows(starts, indptr, indices, data, order, rank, permuted, columns, values):
    for part in prange(starts.size - 1):
        for row in range(starts[part], starts[part + 1]):
            source, target = np.uint64(indptr[order[row]]), np.uint64(permuted[row])
            for k in range(np.uint64(permuted[row + 1]) - target):
                column = indices[source + k]
                columns[target + k] = rank[np.uint64(column)] if rank.size > 0 else column
                values[target + k] = data[source + k]


def gather_scaled(b, x, order, factors):
    """x[i] = factors[p] b[p] for the row p = order[i], or i where order is None; x may then be b."""
    if order is not None:
        b, factors = b[order], factors[order]
    np.multiply(b, factors[:, None], out=x, casting="same_kind")


def scatter_scaled(b, x, order, factors):
    """x[p] = factors[p] b[i] for the row p = order[i], or i where order is None."""
    if order is None:
        gather_scaled(b, x, None, factors)
    else:
        x[order] = b * factors[order][:, None]


def converted(arrays, dtype):
    """Arrays in another type."""
    return [array.astype(dtype, copy=False) for array in arrays]
