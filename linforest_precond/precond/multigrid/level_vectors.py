"""`LevelVectors` holds the work vectors of one level during a cycle."""

from __future__ import annotations

import math
from typing import Any

from linforest_precond.backends.annotations import Array, DType
from linforest_precond.matrix.checked import CheckedMatrix

# Vectors are aligned to this many bytes, as allocations on the GPU are.
ALIGNMENT = 256


class LevelVectors:
    """The vectors of one level for k columns, allocated together, and the backend's functions on them."""

    def __init__(
        self,
        csr: CheckedMatrix,
        matrix: Any,
        columns: int,
        dtype: DType,
        *,
        transpose: bool,
        further: int = 0,
    ):
        backend = csr.backend
        self.ops, self.transfers = backend.multigrid.vector_ops, backend.multigrid.aggregates
        self.matrix, self.transpose = matrix, transpose
        self._shape, self._dtype, self._xp = (csr.n, columns), dtype, backend.xp
        self.residual, self.other, *self._further = self._vectors(2 + further)

    def vector(self) -> Array:
        return self._further.pop() if self._further else self._vectors(1)[0]

    def _vectors(self, count: int) -> list[Array]:
        """Zeroed vectors from one allocation."""
        size, unit = math.prod(self._shape), ALIGNMENT // self._dtype.itemsize
        space = self._xp.zeros((count, -(-size // unit) * unit), self._dtype)
        return [space[i, :size].reshape(self._shape) for i in range(count)]
