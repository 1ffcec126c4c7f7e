"""One level of a hierarchy over ranks."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np

from linforest_precond.backends.annotations import DType
from linforest_precond.distributed.multigrid.level_matrix import RankLevelMatrix
from linforest_precond.distributed.multigrid.vector_ops import RankVectorOps
from linforest_precond.distributed.partition.entries import matrix_of_entries
from linforest_precond.distributed.partition.matrix import csr_of_rows
from linforest_precond.precond.multigrid.hierarchy_level import Level
from linforest_precond.precond.multigrid.level_vectors import LevelVectors
from linforest_precond.precond.multigrid.smoothers import DiagonalSmoother


@dataclass(frozen=True, eq=False)
class RankLevel(Level):
    """The own rows of a level's matrix, their smoother, and the grid transfer to the next level.

    Attributes
    ----------
    ops
        The vector operations over ranks.
    unknowns, entries
        Those of all ranks.
    """

    ops: RankVectorOps | None = None
    unknowns: int = 0
    entries: int = 0

    @classmethod
    def of(cls, matrix: RankLevelMatrix, stored: DType, smoother: str, transfer: Any) -> RankLevel:
        """All ranks call it together."""
        made = smoother_with_ghosts(matrix, stored, smoother)
        level = cls(matrix.csr, made, transfer, matrix.ops, matrix.n, matrix.entries)
        with matrix.comm.checking():  # numbers may overflow the stored type
            return cast(RankLevel, level.stored_in(stored))

    def vectors(self, columns: int, dtype: DType, *, transpose: bool, further: int) -> LevelVectors:
        made = super().vectors(columns, dtype, transpose=transpose, further=further)
        made.ops = cast(Any, self.ops)
        return made

    def transposed(self) -> RankLevel:
        """The level of the transposed hierarchy, whose rows are partitioned in the same way: collective."""
        assert self.ops is not None
        csr, halo = self.csr, self.ops.halo
        rows = np.repeat(halo.ids[: halo.n_local], np.diff(csr.indptr))
        A = matrix_of_entries(halo.comm, self.ops.offsets, halo.ids[csr.indices], rows, csr.data)
        ops, smoother = RankVectorOps(A), cast(DiagonalSmoother, self.smoother)
        weights = A.halo.with_ghosts(smoother.weights[: csr.n])
        transfer = None if self.transfer is None else self.transfer.conjugated()
        return replace(
            self, csr=csr_of_rows(A), smoother=replace(smoother, weights=weights), transfer=transfer, ops=ops
        )


def smoother_with_ghosts(matrix: RankLevelMatrix, stored: DType, kind: str) -> DiagonalSmoother:
    """The smoother of the own rows; its weights are those of the ghosts, too."""
    smoother = DiagonalSmoother.of(matrix, stored, kind)
    return replace(smoother, weights=matrix.A.halo.with_ghosts(smoother.weights))
