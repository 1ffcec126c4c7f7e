"""One level of a hierarchy over ranks."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np

from linforest_precond.backends.annotations import DType
from linforest_precond.distributed.multigrid.level_matrix import RankLevelMatrix
from linforest_precond.distributed.multigrid.line_smoother import line_smoother
from linforest_precond.distributed.multigrid.vector_ops import RankVectorOps
from linforest_precond.distributed.partition.entries import matrix_of_entries
from linforest_precond.distributed.partition.matrix import csr_of_rows
from linforest_precond.precond.multigrid.hierarchy_level import Level
from linforest_precond.precond.multigrid.level_vectors import LevelVectors
from linforest_precond.precond.multigrid.multilevel_options import MultilevelOptions
from linforest_precond.precond.multigrid.smoothers import LINES, DiagonalSmoother


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
    def of(
        cls, matrix: RankLevelMatrix, stored: DType, options: MultilevelOptions, transfer: Any
    ) -> RankLevel:
        """All ranks call it together."""
        made = smoother_of(matrix, stored, options.smoother, options.seed)
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
        ops, smoother = RankVectorOps(A), self.smoother
        if isinstance(smoother, DiagonalSmoother):
            weights = A.halo.with_ghosts(smoother.weights[: csr.n])
            smoother = replace(smoother, weights=weights)
        transfer = None if self.transfer is None else self.transfer.conjugated()
        return replace(self, csr=csr_of_rows(A), smoother=smoother, transfer=transfer, ops=ops)


def smoother_of(matrix: RankLevelMatrix, stored: DType, kind: str, seed: int) -> Any:
    """The smoother of the own rows; the weights of diagonal ones are those of the ghosts, too."""
    if kind in LINES:
        lines = line_smoother(matrix, stored, kind, seed)
        if lines is not None:
            return lines
        kind = "jacobi"
    smoother = DiagonalSmoother.of(matrix, stored, kind)
    return replace(smoother, weights=matrix.A.halo.with_ghosts(smoother.weights))
