"""The banded Cholesky factorization on the coarsest level, in the reverse Cuthill-McKee order."""

import functools

import numpy as np
from scipy.linalg import get_lapack_funcs
from scipy.sparse import csr_array
from scipy.sparse.csgraph import reverse_cuthill_mckee

from ..matrix.entries import rows_of
from .dense import SMALL_PIVOT

# The largest width of a band, as a share of the rows. The two substitutions read half as many numbers then as
# a product with the dense inverse, in about the same time: each row of them waits for the one before.
WIDEST = 0.25


def definite_factor(csr, stored):
    """The factor of a Hermitian matrix whose entries are rounded to the type `stored`, or None.

    There is none where the band is wide, and where the matrix is not positive definite or nearly singular, as
    for `dense.definite_inverse`.
    """
    # By SciPy, which compiles nothing: the first solve of a process waits for compilation.
    indices, indptr = (array.astype(np.int32, copy=False) for array in (csr.indices, csr.indptr))
    order = reverse_cuthill_mckee(csr_array((csr.data, indices, indptr), csr.shape), symmetric_mode=True)
    rank = np.empty_like(order)
    rank[order] = np.arange(order.size, dtype=order.dtype)
    columns = rank[csr.indices]
    below = rank[rows_of(csr.indptr, csr.nnz)] - columns
    width = int(below.max(initial=0)) + 1
    if width > WIDEST * csr.n:
        return None
    # Row j has column j of the lower triangle, from the diagonal on: LAPACK reads columns.
    band = np.zeros((csr.n, width), np.result_type(csr.data.dtype, np.float64))
    lower = below >= 0
    band[columns[lower], below[lower]] = csr.data[lower].astype(stored, copy=False)
    factor, failed = _lapack("pbtrf", band.dtype)(band.T, lower=True, overwrite_ab=True)
    pivots = factor[0].real ** 2
    if failed or not (pivots > SMALL_PIVOT * csr.diagonal.real[order]).all():
        return None
    return BandedFactor(factor, order) if np.isfinite(factor).all() else None


class BandedFactor:
    """A lower Cholesky factor as LAPACK stores it, in double precision, and the order of its rows."""

    def __init__(self, factor, order):
        self.factor, self.order = factor, order

    def solve_into(self, b, x, scale):
        """Solve for all columns of b, times `scale`, into x."""
        right = np.multiply(b.take(self.order, axis=0), scale, dtype=self.factor.dtype)
        x[self.order] = _lapack("pbtrs", self.factor.dtype)(self.factor, right, lower=True)[0]

    def conjugated(self):
        return BandedFactor(self.factor.conj(), self.order)


@functools.cache
def _lapack(name, dtype):
    return get_lapack_funcs((name,), dtype=dtype)[0]
