"""Line relaxation over ranks, along the paths of one forest for all ranks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from linforest_precond.backends.annotations import Array, DType
from linforest_precond.distributed.forest.block_forest import best_block_forest
from linforest_precond.distributed.forest.factor import propose_factor
from linforest_precond.distributed.forest.graph import graph_of
from linforest_precond.distributed.forest.linear_forest import forest_of
from linforest_precond.distributed.multigrid.level_matrix import RankLevelMatrix
from linforest_precond.distributed.tridiagonal.preconditioner_parts import RankTridiagonalPart
from linforest_precond.graph.forest.factor import check_options
from linforest_precond.graph.forest.pairs import check_block_options
from linforest_precond.precond.multigrid.level_matrix import DAMPING
from linforest_precond.precond.multigrid.smoothers import LARGEST_LINE_EIGENVALUE, PartSmoother


@dataclass(frozen=True, eq=False)
class DampedPart:
    """The part of a preconditioner times a factor."""

    part: RankTridiagonalPart
    factor: float

    def solve_into(self, b: Array, x: Array, transpose: bool) -> None:
        self.part.solve_into(b, x, transpose)
        np.multiply(x, x.dtype.type(self.factor), out=x)


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
