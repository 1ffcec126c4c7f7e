"""Elimination with pivoting over ranks.

A stretch of a nonsingular path may be singular. So the unknowns at the cuts, a path's last one before and its
first one after each cut, are eliminated last, and all rows of a stretch are candidates for the pivots of its
other unknowns: their columns have entries in these rows only, and are linearly independent where those of the
whole matrix are. This is Gaussian elimination with partial pivoting of the whole matrix, with its columns in
another order: each rank eliminates its own ones, and one or two equations are left, in unknowns at the cuts.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from linforest_precond.annotations import Array
from linforest_precond.backends.cpu.tridiagonal.pivoting import Pivoted, PivotedBlocks
from linforest_precond.distributed.band_stretch import Stretch
from linforest_precond.distributed.open_segment import OpenSegment
from linforest_precond.distributed.reduced_system import BandedLU, entries_of_blocks, joined
from linforest_precond.precond.tridiagonal.segments import Triple


class PivotedStretch:
    """A rank's rows of a system that is solved with pivoting; `solve` is collective.

    Parameters
    ----------
    stretch : Stretch
        The bands.
    perturbed : int
        Number of diagonal entries of all ranks that have been perturbed.

    Attributes
    ----------
    perturbed : int
        The same, with the pivots of all ranks that vanished.
    """

    def __init__(self, stretch: Stretch, perturbed: int) -> None:
        self.comm, self.dtype, piece = stretch.comm, stretch.diagonal.dtype, stretch.piece
        self.block_size = stretch.diagonal.shape[1] if stretch.diagonal.ndim == 3 else 1
        first = piece.head if piece.left else 0
        end = piece.rows - (piece.tail if piece.right else 0)
        # Of each open segment: its rows, and whether it is coupled to the left and to the right.
        places = [(0, first, True, piece.right and piece.spanned)] if piece.left else []
        if piece.right and not (piece.left and piece.spanned):
            places.append((end, piece.rows, False, True))
        self.segments = [
            (self._rows(start, stop), OpenSegment(_cut(stretch.bands, start, stop), left, right))
            for start, stop, left, right in places
        ]
        self.inside, self.closed = self._rows(first, end), _closed(_cut(stretch.bands, first, end))
        self._reduce(perturbed)

    def _rows(self, start: int, stop: int) -> slice:
        """The scalar rows of block rows."""
        return slice(start * self.block_size, max(start, stop) * self.block_size)

    def _reduce(self, perturbed: int) -> None:
        """Set up the reduced system of the open segments of all ranks."""
        left_over = [(segment.left, segment.equations) for _, segment in self.segments]
        found, entries, position = self.comm.allgather(left_over), [], 0
        self.places: list[slice] = []  # the unknowns of each open segment, those before and after included
        self.equations: list[slice] = []  # its equations, and its own unknowns
        self.first = sum(
            len(part) for part in found[: self.comm.rank]
        )  # own segments among those of all ranks
        for left, equations in (segment for part in found for segment in part):
            start = position - (self.block_size if left else 0)
            entries.append(entries_of_blocks(np.array([position, start]), equations[None]))
            self.places.append(slice(start, start + equations.shape[1]))
            self.equations.append(slice(position, position + equations.shape[0]))
            position += equations.shape[0]
        width = 3 * self.block_size - 1
        self.reduced = BandedLU(joined(entries), position, width, width, self.dtype) if position else None
        own = sum(segment.lu.perturbed for _, segment in self.segments)
        own += 0 if self.closed is None else int(self.closed.perturbed)
        once = 0 if self.reduced is None else self.reduced.perturbed
        self.perturbed = perturbed + once + int(self.comm.allreduce(np.array(own)))

    @property
    def unknowns(self) -> int:
        """Rows of the reduced system."""
        return 0 if self.reduced is None else int(self.reduced.exchanges.size)

    @property
    def nbytes_extra(self) -> int:
        """Bytes of the factors and of the columns at the cuts."""
        held = sum(segment.nbytes for _, segment in self.segments)
        held += 0 if self.closed is None else self.closed.nbytes_extra
        return held + (0 if self.reduced is None else self.reduced.nbytes)

    def solve(self, b: Array, x: Array, order: Array | None, transpose: bool) -> None:
        """Solve for the columns of b into x, of this rank's rows; `order` is None."""
        if self.closed is not None:
            self.closed.solve(b[self.inside], x[self.inside], None, transpose)
        if self.reduced is None:
            return
        right = [b[rows].astype(self.dtype, copy=False) for rows, _ in self.segments]
        one_way = self._transposed if transpose else self._plain
        for (rows, _), solution in zip(self.segments, one_way(right, b.shape[1])):
            x[rows] = solution

    def _plain(self, right: list[Array], columns: int) -> list[Array]:
        partial = [segment.lu.solve(part) for (_, segment), part in zip(self.segments, right)]
        left_over = [
            part[part.shape[0] - s.equations.shape[0] :] for part, (_, s) in zip(partial, self.segments)
        ]
        gathered = [part for parts in self.comm.allgather(left_over) for part in parts]
        assert self.reduced is not None
        unknowns = self.reduced.solve(np.concatenate(gathered))
        return [
            segment.completed(part, unknowns[self.places[self.first + i]])
            for i, (part, (_, segment)) in enumerate(zip(partial, self.segments))
        ]

    def _transposed(self, right: list[Array], columns: int) -> list[Array]:
        """A = diag(M) [I W; 0 R] in the order of elimination, so A^T x = b is solved from the right."""
        sides = [segment.reduced_transposed(part) for (_, segment), part in zip(self.segments, right)]
        gathered = [part for parts in self.comm.allgather(sides) for part in parts]
        assert self.reduced is not None
        total = np.zeros((self.reduced.exchanges.size, columns), self.dtype)
        for place, part in zip(self.places, gathered):
            total[place] += part
        found = self.reduced.solve(total, transpose=True)
        return [
            segment.completed_transposed(part, found[self.equations[self.first + i]])
            for i, (part, (_, segment)) in enumerate(zip(right, self.segments))
        ]


def _cut(bands: Triple, start: int, stop: int) -> Triple:
    lower, diagonal, upper = bands
    return lower[start:stop], diagonal[start:stop], upper[start:stop]


def _closed(bands: Triple) -> Any | None:
    """The LU factors of the rows of paths that cross no cut."""
    lower, diagonal, upper = bands
    if not diagonal.shape[0]:
        return None
    if diagonal.ndim == 3:
        return PivotedBlocks(lower, diagonal, upper, None, 0)
    return Pivoted(lower, diagonal, upper, 0)
