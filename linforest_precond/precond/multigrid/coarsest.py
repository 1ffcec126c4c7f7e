"""The coarsest matrix of a hierarchy, inverted as far as it has an inverse."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from linforest_precond.annotations import Array
from linforest_precond.backends import backend_of
from linforest_precond.precond.packing import packable
from linforest_precond.precond.stored import stored_array
from linforest_precond.records import CSR

# Matrices with more rows are smoothed instead, so often.
LARGEST_DENSE = 4000
SWEEPS = 8


@packable("Coarsest")
@dataclass(frozen=True, eq=False)
class Coarsest:
    """The pseudo-inverse of a matrix, dense, and its rank."""

    inverse: Array
    rank: int

    @classmethod
    def of(cls, csr: CSR, stored: np.dtype, hermitian: bool) -> Coarsest | None:
        """Invert a matrix on its device; None where it is too large for that."""
        if csr.n > LARGEST_DENSE:
            return None
        backend = backend_of(csr.data)
        xp, wide = backend.xp, np.result_type(csr.data.dtype, np.float64)
        if not csr.n:
            return cls(xp.zeros((0, 0), stored), 0)
        dense = xp.zeros((csr.n, csr.n), wide)
        dense[backend.matrix.entries.rows_of(csr.indptr, csr.nnz), csr.indices] = csr.data
        inverse = backend.multigrid.dense.definite_inverse(dense) if hermitian else None
        if inverse is not None:
            return cls(_narrow((inverse + inverse.conj().T) / 2, stored, xp), csr.n)
        if hermitian:
            values, vectors = xp.linalg.eigh(dense)
            left, sizes = vectors.conj().T, abs(values)
        else:
            left, sizes, right = xp.linalg.svd(dense, full_matrices=False)
            left, values, vectors = left.conj().T, sizes, right.conj().T
        kept = sizes > csr.n * np.finfo(csr.data.dtype).eps * sizes.max()
        inverse = (vectors * xp.where(kept, 1 / xp.where(kept, values, 1), 0)) @ left
        inverse = (inverse + inverse.conj().T) / 2 if hermitian else inverse
        rank = int(kept.sum())  # stall: for print
        return cls(_narrow(inverse, stored, xp), rank)

    def solve_into(self, ops: Any, b: Any, x: Any) -> None:
        ops.multiply_dense(self.inverse, b, x)

    def transposed(self) -> Coarsest:
        xp = backend_of(self.inverse).xp
        return Coarsest(xp.ascontiguousarray(self.inverse.T), self.rank)


def _narrow(inverse: Array, stored: np.dtype, xp: Any) -> Array:
    return xp.ascontiguousarray(stored_array(inverse, stored))
