"""The coarsest level: its dense inverse, or banded factors in the reverse Cuthill-McKee order."""

from functools import cache, partial

import numpy as np
from scipy.linalg import get_lapack_funcs
from scipy.sparse import csr_array
from scipy.sparse.csgraph import reverse_cuthill_mckee
from scipy.sparse.linalg import LinearOperator, onenormest

from ..matrix.entries import rows_of
from ..runtime.jit import kernel

# A matrix counts as singular if a pivot of its Cholesky factorization is below this share of the diagonal.
SMALL_PIVOT = 1e-8
# A matrix also counts as singular if its reciprocal condition number is below this: solutions may be wrong by
# 1e-6 then.
SMALL_CONDITION = 2e-10
# Rows and columns of a tile.
TILE = 32

# The largest width of a band, as a share of the rows. The two substitutions read half as many numbers then as
# a product with the dense inverse, in about the same time: each row of them waits for the one before.
WIDEST = 0.25


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


def definite_factor(csr, stored):
    """The Cholesky factor of a Hermitian matrix whose entries are rounded to the type `stored`, or None.

    There is none where the band is wide, and where the matrix is not positive definite or nearly singular, as
    for `definite_inverse`.
    """
    order, rows, columns = in_narrow_order(csr, hermitian=True)
    lower = rows >= columns
    width = int((rows - columns).max(initial=0)) + 1
    if width > WIDEST * csr.n:
        return None
    # Row j has column j of the lower triangle, from the diagonal on: LAPACK reads columns.
    band = np.zeros((csr.n, width), np.result_type(csr.data.dtype, np.float64))
    band[columns[lower], (rows - columns)[lower]] = csr.data[lower].astype(stored, copy=False)
    factor, failed = _lapack("pbtrf", band.dtype)(band.T, lower=True, overwrite_ab=True)
    pivots = factor[0].real ** 2
    if failed or not (pivots > SMALL_PIVOT * csr.diagonal.real[order]).all():
        return None
    return BandedCholesky(factor, order) if np.isfinite(factor).all() else None


def regular_factors(csr, stored):
    """The LU factors of a matrix whose entries are rounded to the type `stored`, or None.

    There are none where the band is wide, and where the matrix is nearly singular.
    """
    order, rows, columns = in_narrow_order(csr, hermitian=False)
    below, above = int((rows - columns).max(initial=0)), int((columns - rows).max(initial=0))
    if 2 * below + above + 1 > 2 * WIDEST * csr.n:
        return None
    band = np.zeros((csr.n, 2 * below + above + 1), np.result_type(csr.data.dtype, np.float64))
    band[columns, below + above + rows - columns] = csr.data.astype(stored, copy=False)
    norm = abs(band).sum(axis=1).max()
    factors, pivots, failed = _lapack("gbtrf", band.dtype)(band.T, below, above, overwrite_ab=True)
    if failed or not np.isfinite(factors).all():
        return None
    found = BandedLu(factors, pivots, below, above, order)
    return found if 1 > SMALL_CONDITION * norm * found.norm_of_inverse() else None


def in_narrow_order(csr, hermitian):
    """The reverse Cuthill-McKee order, and the rows and columns of all entries in it."""
    # By SciPy, which compiles nothing: the first solve of a process waits for compilation.
    indices, indptr = (array.astype(np.int32, copy=False) for array in (csr.indices, csr.indptr))
    order = reverse_cuthill_mckee(csr_array((csr.data, indices, indptr), csr.shape), symmetric_mode=hermitian)
    rank = np.empty_like(order)
    rank[order] = np.arange(order.size, dtype=order.dtype)
    return order, rank[rows_of(csr.indptr, csr.nnz)], rank[csr.indices]


class BandedCholesky:
    """A lower Cholesky factor as LAPACK stores it, in double precision, and the order of its rows."""

    def __init__(self, factor, order):
        self.factor, self.order = factor, order

    def solve_into(self, b, x, scale):
        """Solve for all columns of b, times `scale`, into x."""
        right = np.multiply(b.take(self.order, axis=0), scale, dtype=self.factor.dtype)
        x[self.order] = _lapack("pbtrs", self.factor.dtype)(self.factor, right, lower=True)[0]

    def transposed(self):
        return BandedCholesky(self.factor.conj(), self.order)


class BandedLu:
    """LU factors as LAPACK stores them, in double precision, and the order of rows and columns."""

    def __init__(self, factors, pivots, below, above, order, transpose=False):
        self.factors, self.pivots, self.below, self.above = factors, pivots, below, above
        self.order, self.transpose = order, transpose

    def solve_into(self, b, x, scale):
        """Solve for all columns of b, times `scale`, into x."""
        right = np.multiply(b.take(self.order, axis=0), scale, dtype=self.factors.dtype)
        x[self.order] = self._solution(right, self.transpose)

    def norm_of_inverse(self):
        """An estimate of the 1-norm: `gbcon` is in SciPy 1.16 and later only."""
        # With one column at a time, SciPy draws no random numbers.
        shape, dtype = 2 * self.order.shape, self.factors.dtype
        inverse = LinearOperator(shape, self._solution, partial(self._solution, trans=2), dtype=dtype)
        return onenormest(inverse, t=1)

    def _solution(self, right, trans=0):
        """In the order of the factors; with 1, of the transposed system, with 2 of the adjoint one."""
        solve = _lapack("gbtrs", self.factors.dtype)
        return solve(self.factors, self.below, self.above, right, self.pivots, trans=trans)[0]

    def transposed(self):
        return BandedLu(self.factors, self.pivots, self.below, self.above, self.order, not self.transpose)


@cache
def _lapack(name, dtype):
    return get_lapack_funcs((name,), dtype=dtype)[0]
