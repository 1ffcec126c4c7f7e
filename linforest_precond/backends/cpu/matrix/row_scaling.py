"""Permuted and scaled rows of matrices and vectors: B = P D_r A D_c, and the scalings around its inverse."""

import numpy as np

from .entries import rows_of


def scaled_matrix(indptr, indices, data, order, row, column):
    """CSR arrays of P D_r A D_c; row i is A's row order[i], or its own where order is None.

    An entry is multiplied by the product of its two factors, so that a symmetric matrix stays symmetric.
    """
    if order is not None:
        lengths = (indptr[1:] - indptr[:-1])[order]
        permuted = np.zeros_like(indptr)
        np.cumsum(lengths, out=permuted[1:])
        slots = np.repeat(indptr[:-1][order] - permuted[:-1], lengths) + np.arange(indices.size)
        indptr, indices, data, row = permuted, indices[slots], data[slots], row[order]
    factors = row[rows_of(indptr, indices.size)] * column[indices]
    with np.errstate(over="ignore", under="ignore"):
        return indptr, indices, (data * factors).astype(data.dtype, copy=False)


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
