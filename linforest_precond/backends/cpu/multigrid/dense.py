"""The dense inverse on the coarsest level."""

import numpy as np
from scipy.linalg import get_lapack_funcs

from ..matrix.entries import rows_of
from ..runtime.jit import kernel

# A matrix counts as singular if a pivot of its Cholesky factorization is below this share of the diagonal.
SMALL_PIVOT = 1e-8
# Rows and columns of a tile.
TILE = 32


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
    upper = potri(factor, lower=True, overwrite_c=True)[0].T
    inverse = np.empty(matrix.shape, stored)
    return inverse if mirror_triangle(upper, inverse) else None


# Copies the upper triangle of a matrix, and its conjugate to the lower one, by tiles that stay in the cache.
# Returns whether all numbers are finite.
@kernel(parallel=False)
def mirror_triangle(matrix, mirrored):
    n, finite = matrix.shape[0], True
    for first in range(0, n, TILE):
        for other in range(first, n, TILE):
            for row in range(first, min(first + TILE, n)):
                for column in range(max(row, other), min(other + TILE, n)):
                    value = mirrored.dtype.type(matrix[row, column])
                    finite &= np.isfinite(value)
                    mirrored[row, column] = value
                    mirrored[column, row] = np.conj(value)
        for row in range(first, min(first + TILE, n)):
            mirrored[row, row] = mirrored[row, row].real
    return finite
