"""The direct solve on the coarsest level, by the dense (pseudo-)inverse or a banded factorization."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from linforest_precond.backends import Backend
from linforest_precond.backends.annotations import Array, DType
from linforest_precond.backends.array_libraries import xp_of
from linforest_precond.backends.blas_threads import one_blas_thread
from linforest_precond.backends.flags import any_set
from linforest_precond.matrix.checked import CheckedMatrix
from linforest_precond.precond.parts.number_types import stored_array
from linforest_precond.precond.storage import schema

# Matrices with more rows are smoothed instead, by this many sweeps.
LARGEST_DENSE = 4000
SWEEPS = 8
# Dense matrices of up to this size are inverted by one thread in about 0.1 seconds.
ONE_THREAD = 1000
# A is singular where an entry of A X - I exceeds this, for its computed inverse X.
LARGEST_ERROR = 1e-6
# For a matrix with constants in its null space: eigenvalues up to ROUNDING times its row sums are rounding
# errors, and row sums up to LARGEST_SUM times the diagonal are.
ROUNDING, LARGEST_SUM = 8, 1e-6


@dataclass(frozen=True, eq=False)
class Coarsest:
    """The dense inverse of a matrix, or its Moore-Penrose pseudo-inverse, and its rank."""

    inverse: Array
    rank: int

    @classmethod
    def of(
        cls, csr: CheckedMatrix, stored: DType, hermitian: bool, centered: bool = False
    ) -> Coarsest | BandedCoarsest | None:
        """Invert a matrix on its device, or factor its band; None where it is too large for that.

        A centered matrix is Hermitian and maps constants to 0, but for rounding errors: its entries are sums
        over all finer levels.
        """
        if csr.n > LARGEST_DENSE:
            return None
        if not csr.n:
            return cls(csr.backend.xp.zeros((0, 0), stored), 0)
        with one_blas_thread() if csr.n <= ONE_THREAD else nullcontext():
            return cls._solver_of(csr, stored, hermitian, centered)

    @classmethod
    def _solver_of(
        cls, csr: CheckedMatrix, stored: DType, hermitian: bool, centered: bool
    ) -> Coarsest | BandedCoarsest:
        """A banded factor, or the dense inverse, of a matrix with rows."""
        backend = csr.backend
        xp = backend.xp
        # The square roots of an inversion are scaled exactly with the matrix by even powers of two only.
        half = csr.largest_exponent % 2 == 1
        scaled = replace(csr, data=csr.data / 2, diagonal=csr.diagonal / 2) if half else csr
        if hermitian and not centered:
            factor = backend.multigrid.coarsest.definite_factor(scaled, stored)
            if factor is not None:
                return BandedCoarsest(csr.n, factor, 0.5 if half else 1.0)
        if not hermitian:
            factors = backend.multigrid.coarsest.regular_factors(csr, stored)
            if factors is not None:
                return BandedCoarsest(csr.n, factors)
        dense = backend.multigrid.coarsest.dense_matrix(scaled)
        inverse = _definite_inverse(dense, stored, centered, backend) if hermitian else None
        if inverse is not None:
            return cls(inverse / 2 if half else inverse, csr.n - centered)
        dense = backend.multigrid.coarsest.dense_matrix(csr) if half else dense
        inverse = None if hermitian else _regular_inverse(dense, xp)
        if inverse is not None:
            return cls(xp.ascontiguousarray(stored_array(inverse, stored)), csr.n)
        inverse, rank = _pseudo_inverse(dense, hermitian, centered, np.finfo(csr.data.dtype).eps, xp)
        return cls(xp.ascontiguousarray(stored_array(inverse, stored)), rank)

    def solve_into(self, ops: Any, b: Array, x: Array) -> None:
        ops.multiply_dense(self.inverse, b, x)

    def transposed(self) -> Coarsest:
        xp = xp_of(self.inverse)
        return Coarsest(xp.ascontiguousarray(self.inverse.T), self.rank)


@dataclass(frozen=True, eq=False)
class BandedCoarsest:
    """Banded factors of a matrix times `scale`: Cholesky's of a definite one, else LU.

    Files hold the rank alone: the factors are those of the last level's matrix, in its stored type.
    """

    rank: int
    factor: Any = field(default=None, metadata={"packed": False})
    scale: float = field(default=1.0, metadata={"packed": False})

    def solve_into(self, ops: Any, b: Array, x: Array) -> None:
        self.factor.solve_into(b, x, self.scale)

    def transposed(self) -> BandedCoarsest:
        return replace(self, factor=self.factor.transposed())


COARSEST = schema.either(
    Coarsest=schema.RecordSpec(Coarsest, {"inverse": schema.numbers("n", "n")}),
    BandedCoarsest=schema.RecordSpec(BandedCoarsest, {"rank": schema.integer(1, LARGEST_DENSE)}),
)


def _definite_inverse(dense: Array, stored: DType, centered: bool, backend: Backend) -> Array | None:
    """The inverse of a definite matrix, or the pseudo-inverse A^+ of one whose null space are the constants.

    With the unit vector u of constants, (A + a u u^T)^-1 = A^+ + u u^T / a.
    """
    invert: Callable[..., Array | None] = backend.multigrid.coarsest.definite_inverse
    if not centered:
        return invert(dense, stored)
    n = dense.shape[0]
    # stall: decides how to invert
    if any_set(abs(dense.sum(axis=1)) > LARGEST_SUM * abs(dense.diagonal())):
        return None
    shift = dense.trace().real / n
    with np.errstate(all="ignore"):
        inverse = invert(dense + shift / n, stored)
        return None if inverse is None else inverse - (1 / (shift * n)).astype(inverse.real.dtype)


def _regular_inverse(dense: Array, xp: Any) -> Array | None:
    """The inverse by LU factorization; None where A X differs from the identity."""
    try:
        with np.errstate(all="ignore"):
            inverse: Array = xp.linalg.inv(dense)
            error = abs(dense @ inverse - xp.eye(dense.shape[0])).max()
    except np.linalg.LinAlgError:
        return None
    return inverse if float(error) <= LARGEST_ERROR else None  # stall: decides how to invert


def _pseudo_inverse(dense: Array, hermitian: bool, centered: bool, eps: float, xp: Any) -> tuple[Array, int]:
    """The pseudo-inverse by eigendecomposition of a Hermitian matrix, else by SVD; and the rank."""
    if hermitian:
        values, vectors = xp.linalg.eigh(dense)
        left, sizes = vectors.conj().T, abs(values)
    else:
        left, sizes, right = xp.linalg.svd(dense, full_matrices=False)
        left, values, vectors = left.conj().T, sizes, right.conj().T
    least = dense.shape[0] * eps * sizes.max()
    if centered:
        least = xp.maximum(least, ROUNDING * abs(dense.sum(axis=1)).max())
    kept = sizes > least
    inverse = (vectors * xp.where(kept, 1 / xp.where(kept, values, 1), 0)) @ left
    rank = int(kept.sum())  # stall: for print
    return (inverse + inverse.conj().T) / 2 if hermitian else inverse, rank
