"""The dense inverse on the coarsest level."""

import numpy as np
from scipy.linalg import get_lapack_funcs

from ..matrix.entries import rows_of

# A matrix counts as singular if a pivot of its Cholesky factorization is below this share of the diagonal.
SMALL_PIVOT = 1e-8


def dense_matrix(csr):
    """The dense matrix in double precision."""
    dense = np.zeros((csr.n, csr.n), np.result_type(csr.data.dtype, np.float64))
    dense[rows_of(csr.indptr, csr.nnz), csr.indices] = csr.data
    return dense


def definite_inverse(matrix, stored):
    """The inverse of a Hermitian matrix, exactly Hermitian, in the type `stored`.

    None if the matrix is not positive definite or nearly singular, or if its inverse overflows that type. The
    matrix is in double precision, and is kept.
    """
    potrf, potri = get_lapack_funcs(("potrf", "potri"), (matrix,))
    # LAPACK reads columns: it gets the transposed matrix, and its lower triangles are our upper ones.
    factor, info = potrf(matrix.T, lower=True)
    if info or not (np.diagonal(factor).real ** 2 > SMALL_PIVOT * np.diagonal(matrix).real).all():
        return None
    upper = np.triu(potri(factor, lower=True, overwrite_c=True)[0].T)
    np.fill_diagonal(upper, np.diagonal(upper).real)
    with np.errstate(over="ignore"):
        upper = upper.astype(stored)
    inverse = upper + np.triu(upper, 1).conj().T
    return inverse if np.isfinite(inverse).all() else None
