"""One level of a hierarchy over ranks, and its smoother: diagonal, or line relaxation along one forest."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np

from linforest_precond.backends import Backend
from linforest_precond.backends.annotations import Array, DType
from linforest_precond.distributed.forest.block_forest import best_block_forest
from linforest_precond.distributed.forest.factor import propose_factor
from linforest_precond.distributed.forest.graph import graph_of
from linforest_precond.distributed.forest.linear_forest import forest_of
from linforest_precond.distributed.multigrid.level_matrix import RankLevelMatrix
from linforest_precond.distributed.multigrid.vector_ops import RankVectorOps
from linforest_precond.distributed.partition.entries import matrix_of_entries
from linforest_precond.distributed.partition.matrix import csr_of_rows
from linforest_precond.distributed.tridiagonal.preconditioner_parts import RankTridiagonalPart
from linforest_precond.graph.forest.factor import check_options
from linforest_precond.graph.forest.pairs import check_block_options
from linforest_precond.precond.multigrid.hierarchy_level import Level
from linforest_precond.precond.multigrid.level_matrix import DAMPING
from linforest_precond.precond.multigrid.level_vectors import LevelVectors
from linforest_precond.precond.multigrid.multilevel_options import MultilevelOptions
from linforest_precond.precond.multigrid.smoothers import (
    LARGEST_LINE_EIGENVALUE,
    LINES,
    DiagonalSmoother,
    PartSmoother,
)


@dataclass(frozen=True, eq=False)
class RankLevel(Level):
    """The own rows of a level's matrix, their smoother, and the grid transfer to the next level."""

    ops: RankVectorOps | None = None
    unknowns: int = 0  # of all ranks
    entries: int = 0  # of all ranks
    host: RankLevel | None = None  # the level on the host, of one that is elsewhere

    @classmethod
    def of(
        cls, matrix: RankLevelMatrix, stored: DType, options: MultilevelOptions, transfer: Any
    ) -> RankLevel:
        """All ranks call it together."""
        made = smoother_of(matrix, stored, options.smoother, options.seed)
        level = cls(matrix.csr, made, transfer, matrix.ops, matrix.n, matrix.entries)
        with matrix.comm.checking():  # numbers may overflow the stored type
            return cast(RankLevel, level.stored_in(stored))

    def on(self, backend: Backend) -> RankLevel:
        """The level for vectors on another backend: collective."""
        assert self.ops is not None
        xp, csr = backend.xp, self.csr
        smoother: Any = self.smoother
        arrays = {name: xp.asarray(getattr(csr, name)) for name in ("indptr", "indices", "data", "diagonal")}
        if isinstance(smoother, DiagonalSmoother):
            smoother = replace(smoother, weights=xp.asarray(smoother.weights))
        elif isinstance(smoother, RankLineSmoother):
            smoother = replace(smoother, part=smoother.part.on(backend))
        transfer: Any = self.transfer
        return replace(
            self, csr=replace(csr, **arrays), smoother=smoother, host=self,
            transfer=None if transfer is None else transfer.on(backend),
            ops=RankVectorOps(self.ops.halo, self.ops.offsets, backend),
        )  # fmt: skip

    def vectors(self, columns: int, dtype: DType, *, transpose: bool, further: int) -> LevelVectors:
        made = super().vectors(columns, dtype, transpose=transpose, further=further)
        made.ops = cast(Any, self.ops)
        return made

    def transposed(self) -> RankLevel:
        """The level of the transposed hierarchy, whose rows are partitioned in the same way: collective."""
        assert self.ops is not None
        if self.host is not None:
            return self.host.transposed().on(self.ops.backend)
        csr, halo = self.csr, self.ops.halo
        rows = np.repeat(halo.ids[: halo.n_local], np.diff(csr.indptr))
        A = matrix_of_entries(halo.comm, self.ops.offsets, halo.ids[csr.indices], rows, csr.data)
        ops, smoother = RankVectorOps(A.halo, A.offsets, A.backend), self.smoother
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


@dataclass(frozen=True, eq=False)
class DampedPart:
    """The part of a preconditioner times a factor."""

    part: RankTridiagonalPart
    factor: float

    def on(self, backend: Backend) -> DampedPart:
        """The part for vectors on a backend: collective."""
        return replace(self, part=self.part.on(backend))

    def solve_into(self, b: Array, x: Array, transpose: bool) -> None:
        self.part.solve_into(b, x, transpose)
        x *= x.dtype.type(self.factor)


@dataclass(frozen=True, eq=False)
class RankLineSmoother(PartSmoother):
    """Each sweep solves a (block) tridiagonal system along the paths of a linear forest over ranks."""

    kind: str
    part: Any


def line_smoother(matrix: RankLevelMatrix, stored: DType, kind: str, seed: int) -> RankLineSmoother | None:
    """The smoother of a level, damped as on one rank; None where it would be damped too much: collective."""
    graph = graph_of(matrix.A)
    if kind == "tridiagonal":
        forest: Any = forest_of(graph, propose_factor(graph, check_options(2, seed=seed)))
    else:
        forest = best_block_forest(graph, check_block_options(2, seed=seed))
    part, exponent = RankTridiagonalPart.of(matrix.A, kind, forest, stored, "auto")
    if exponent:
        return None
    definite = matrix.definite and part.positive_definite
    largest = matrix.estimated_eigenvalue(lambda r, z: part.solve_into(r, z, False), definite, stored)
    if largest > LARGEST_LINE_EIGENVALUE:
        return None
    return RankLineSmoother(kind, DampedPart(part, min(1.0, DAMPING / largest)))
