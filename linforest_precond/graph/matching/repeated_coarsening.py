"""Coarsening loops: several steps within a level, and level by level until the matrix is small."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, TypeVar

# Coarsening stalls where a level keeps more than this share of the unknowns of the level above.
STALLED_SHARE = 0.9


class SquareMatrix(Protocol):
    @property
    def n(self) -> int: ...


Matrix = TypeVar("Matrix", bound=SquareMatrix)
Transfer = TypeVar("Transfer")


def coarsen_repeatedly(
    fine: Matrix,
    steps: int,
    coarsen: Callable[[Matrix, bool], tuple[Transfer, Any]],
    compose: Callable[[Transfer, Transfer], Transfer],
) -> tuple[Transfer, Any]:
    """Coarsen a matrix `steps` times; the composed prolongator, and the coarse matrix of the last step.

    ``coarsen(matrix, last)`` gives a prolongator and the coarse matrix, which the last step may leave out.
    """
    composed, coarse = coarsen(fine, steps == 1)
    for left in reversed(range(steps - 1)):
        prolongator, coarse = coarsen(coarse, left == 0)
        composed = compose(composed, prolongator)
    return composed, coarse


def coarsen_until_small(
    finest: Matrix,
    coarsen: Callable[[Matrix], tuple[Transfer, Matrix]],
    max_coarse: int,
    max_levels: int,
    cause: str,
    stop_below: int = 0,
) -> tuple[list[tuple[Matrix, Transfer]], Matrix, str]:
    """(matrix, transfer) of all levels but the coarsest, its matrix, and a warning where coarsening stalled.

    In `cause`, the end of the warning, ``{left}`` stands for the unknowns that would be left. A coarse level
    with at most `stop_below` unknowns is the last one, too.
    """
    levels: list[tuple[Matrix, Transfer]] = []
    fine = finest
    while fine.n > max_coarse and len(levels) + 1 < max_levels and not (levels and fine.n <= stop_below):
        transfer, coarse = coarsen(fine)
        if is_stalled(fine.n, coarse.n):
            return levels, fine, stall_message(fine.n, coarse.n, max_coarse, cause)
        levels.append((fine, transfer))
        fine = coarse
    return levels, fine, ""


def is_stalled(unknowns: int, left: int) -> bool:
    """Whether coarsening leaves too many of the unknowns."""
    return left > STALLED_SHARE * unknowns


def stall_message(unknowns: int, left: int, max_coarse: int, cause: str) -> str:
    """The warning where coarsening would leave too many of the unknowns."""
    reason = cause.format(left=left)
    return f"coarsening stalled at {unknowns} unknowns, above max_coarse={max_coarse}: {reason}"
