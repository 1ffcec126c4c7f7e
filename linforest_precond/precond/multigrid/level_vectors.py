"""The vectors of one level during a cycle."""

from __future__ import annotations

from typing import Any

from linforest_precond.annotations import Array, DType
from linforest_precond.backends import backend_of
from linforest_precond.records import CSR


class LevelVectors:
    """The vectors of one level for k columns, and the backend's functions on them.

    Attributes
    ----------
    matrix
        The level's matrix as the vector operations take it.
    residual, other
        Work space; `other` is what smoothers write in turn with x.
    """

    def __init__(self, csr: CSR, matrix: Any, columns: int, dtype: DType, *, transpose: bool):
        backend = backend_of(csr.data)
        self.ops, self.transfers = backend.multigrid.vector_ops, backend.multigrid.transfers
        self.matrix, self.transpose = matrix, transpose
        self._shape, self._dtype, self._xp = (csr.n, columns), dtype, backend.xp
        self.residual, self.other = self.vector(), self.vector()

    def vector(self) -> Array:
        return self._xp.zeros(self._shape, self._dtype)
