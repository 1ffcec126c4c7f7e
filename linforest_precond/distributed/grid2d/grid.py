"""A process grid of R x C ranks."""

from __future__ import annotations

import math
from typing import Any

from linforest_precond.backends.arguments import as_integer
from linforest_precond.distributed.partition.mpi import communicator_of


class Grid:
    """R x C ranks: R row groups of C ranks, and C column groups of R ranks.

    Collective. Rank r is in row group ``r // C`` and in column group ``r % C``. Messages pass within these
    groups only [1]_.

    Parameters
    ----------
    comm : communicator, optional
        Of mpi4py, petsc4py or `simulate`; all ranks by default.
    shape : (int, int), optional
        R and C, with R C ranks; by default as square as possible, R <= C.

    Attributes
    ----------
    comm : Communicator
        All ranks; its `counters` also count what the groups send.
    shape : (int, int)
    i, j : int
        The row group and the column group of this rank.
    row, column : Communicator
        The ranks of the row group, in the order of j, and of the column group, in the order of i.

    References
    ----------
    .. [1] M. Mandulak, G. Slota, "Scaling Distributed Graph Processing to Hundreds of GPUs", ICPP 2025;
       chapter 6 of M. Mandulak, "Large-Scale Graph Analysis and Matching on Parallel Architectures",
       Rensselaer Polytechnic Institute (2025).

    Examples
    --------
    >>> from linforest_precond.distributed import grid2d, simulate
    >>> def place(comm):
    ...     grid = grid2d.Grid(comm)
    ...     return grid.i, grid.j, grid.row.allgather(comm.rank)
    >>> simulate(4, place)
    [(0, 0, [0, 1]), (0, 1, [0, 1]), (1, 0, [2, 3]), (1, 1, [2, 3])]
    """

    def __init__(self, comm: Any = None, shape: tuple[int, int] | None = None) -> None:
        self.comm = communicator_of(comm)
        with self.comm.checking():
            self.shape = checked_shape(shape, self.comm.size)
        self.comm.same("shape", self.shape)
        self.i, self.j = divmod(self.comm.rank, self.shape[1])
        with self.comm.together():
            if self.shape not in self.comm.groups:
                self.comm.groups[self.shape] = self.comm.split(self.i), self.comm.split(self.j)
            self.row, self.column = self.comm.groups[self.shape]

    def __repr__(self) -> str:
        return f"Grid of {self.shape[0]} x {self.shape[1]} ranks, this one at ({self.i}, {self.j})"


def checked_shape(shape: Any, size: int) -> tuple[int, int]:
    """R and C, the most square ones where no shape is given."""
    if shape is None:
        rows = next(r for r in range(math.isqrt(size), 0, -1) if size % r == 0)
        return rows, size // rows
    try:
        rows, columns = (as_integer("shape", number) for number in shape)
    except (TypeError, ValueError):
        raise ValueError(f"shape must be two integers, got {shape!r}") from None
    if rows < 1 or columns < 1 or rows * columns != size:
        raise ValueError(f"shape must have the product {size}, the number of ranks, got {shape!r}")
    return rows, columns
