"""The work vectors of one level of a multigrid cycle."""

from __future__ import annotations

from typing import Any

from linforest_precond.annotations import Array, DType
from linforest_precond.backends import Backend


class LevelVectors:
    """The work vectors of one level for k columns, and the backend's functions on them.

    Parameters
    ----------
    n, matrix
        Rows of the level, and its matrix as the backend multiplies it.
    transpose
        Whether the cycle applies the transpose of a preconditioner.
    definite
        Whether the inner products of the K-cycle are those of A's norm.
    """

    def __init__(
        self,
        n: int,
        matrix: Any,
        columns: int,
        dtype: DType,
        *,
        backend: Backend,
        transpose: bool,
        definite: bool,
    ):
        self.ops, self.transfers = backend.multigrid.vector_ops, backend.multigrid.transfers
        self.matrix, self.transpose = matrix, transpose
        self._shape, self._dtype, self._xp = (n, columns), dtype, backend.xp
        # `other` is what smoothers write in turn with x.
        self.residual, self.other = self.vector(), self.vector()
        self.krylov = self.ops.KrylovSteps(*self._shape, dtype, definite)

    def vector(self) -> Array:
        zeros: Array = self._xp.zeros(self._shape, self._dtype)
        return zeros
