"""The levels of a hierarchy from the finest matrix and a way to coarsen."""

from __future__ import annotations

from collections.abc import Callable

from linforest_precond.backends.annotations import DType
from linforest_precond.graph.matching.repeated_coarsening import coarsen_until_small
from linforest_precond.precond.multigrid.grid_transfer import GridTransfer
from linforest_precond.precond.multigrid.hierarchy_level import Level
from linforest_precond.precond.multigrid.level_matrix import LevelMatrix
from linforest_precond.precond.multigrid.multilevel_options import MultilevelOptions
from linforest_precond.precond.multigrid.multilevel_part import MultilevelPart, with_coarsest_level
from linforest_precond.precond.multigrid.smoothers import smoother_of

# Gives the transfer to the next level and that level's matrix; None and the matrix itself for a stall.
Coarsen = Callable[[LevelMatrix], tuple[GridTransfer | None, LevelMatrix]]


def part_of_levels(
    finest: LevelMatrix, stored: DType, options: MultilevelOptions, coarsen: Coarsen, stall_cause: str
) -> tuple[MultilevelPart, str]:
    """The part of a hierarchy, and the warning where coarsening stalled, else empty."""
    fine_levels, last, stall = coarsen_until_small(
        finest, coarsen, options.max_coarse, options.max_levels, stall_cause
    )
    smoothers = [smoother_of(matrix, stored, options.smoother, options.seed) for matrix, _ in fine_levels]
    levels = [
        Level(matrix.csr, smoother, transfer).stored_in(stored)
        for (matrix, transfer), smoother in zip(fine_levels, smoothers)
    ]
    part = with_coarsest_level(levels, last, stored, options, bool(stall), finest.csr)
    return part, stall
