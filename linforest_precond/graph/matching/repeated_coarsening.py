"""The two loops of coarsening: several times within a level, and level by level until the matrix is small."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, TypeVar

# A level with more than this share of the unknowns of the level above is not worth its cost.
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
    """Coarsen a matrix several times, at least once, and compose the prolongators.

    Parameters
    ----------
    coarsen : function
        ``coarsen(matrix, last)`` gives a prolongator and the coarse matrix, None if not needed after the last
        step.
    compose : function
        The product of two prolongators, the finer one first.

    Returns
    -------
    The composed prolongator, and the coarse matrix of the last step.
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
) -> tuple[list[tuple[Matrix, Transfer]], Matrix, str]:
    """Coarsen level by level until a matrix has at most `max_coarse` unknowns or coarsening stalls.

    Parameters
    ----------
    coarsen : function
        ``coarsen(matrix)`` gives the transfer to the next level and that level's matrix.
    cause : str
        Ends the message of a stall; ``{left}`` stands for the unknowns that would be left.

    Returns
    -------
    levels : list of (matrix, transfer)
        All levels but the coarsest.
    coarsest : matrix
    stall : str
        The warning where coarsening stalled, else empty.
    """
    levels: list[tuple[Matrix, Transfer]] = []
    fine = finest
    while fine.n > max_coarse and len(levels) + 1 < max_levels:
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
