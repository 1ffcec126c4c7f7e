"""Elimination with pivoting over ranks with the bits of one rank: paths that cross cuts are moved to a rank.

The rank that has the first row of a path gets the bands of its other rows in the setup, and their right-hand
sides in each solve. So the largest number of rows of a rank is that of the stretches that a path links: this
is for paths that link few of them; `pivoted_stretch` is for others.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from linforest_precond.annotations import Array
from linforest_precond.backends.cpu.tridiagonal.pivoting import Pivoted, PivotedBlocks
from linforest_precond.distributed.tridiagonal.band_partition import Stretch
from linforest_precond.precond.tridiagonal.segments import Triple


class MovedPaths:
    """A system that is solved with pivoting, each path on one rank; `solve` is collective.

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

    coupling = "crossing paths moved to the ranks of their first rows"
    unknowns = 0

    def __init__(self, stretch: Stretch, perturbed: int) -> None:
        self.stretch, self.comm, piece = stretch, stretch.comm, stretch.piece
        size = stretch.diagonal.shape[1] if stretch.diagonal.ndim == 3 else 1
        starts_path = piece.right and not (piece.left and piece.spanned)
        followers = stretch.linked[stretch.linked.index(stretch.own) + 1 :] if starts_path else ()
        # (Scalar) rows that are sent to the owner of their path, and rows of others that are received.
        self.sent = {stretch.pieces[stretch.linked[0]].rank: piece.head * size} if piece.left else {}
        self.received = {stretch.pieces[i].rank: stretch.pieces[i].head * size for i in followers}
        lower, diagonal, upper = (self._moved_blocks(band, size) for band in stretch.bands)
        self.rows = lu_with_pivoting((lower, diagonal, upper))
        own = 0 if self.rows is None else int(self.rows.perturbed)
        self.perturbed = perturbed + int(self.comm.allreduce(np.array(own)))

    @property
    def numbers_sent(self) -> int:
        """Numbers that this rank sends for one right-hand side."""
        return sum(self.sent.values()) + sum(self.received.values())

    @property
    def nbytes_extra(self) -> int:
        """Bytes of the factors."""
        return 0 if self.rows is None else int(self.rows.nbytes_extra)

    def solve(self, b: Array, x: Array, order: Array | None, transpose: bool) -> None:
        """Solve for the columns of b into x, of this rank's rows; `order` is None."""
        right = self._moved(b)
        solution = np.empty(right.shape, x.dtype)
        if self.rows is not None:
            self.rows.solve(right, solution, None, transpose)
        x[...] = self._moved_back(solution)

    def _moved_blocks(self, band: Array, size: int) -> Array:
        """The (block) rows of a band of the paths that start here."""
        rows = self._moved(band.reshape(band.shape[0] * size, *band.shape[2:]))
        return rows.reshape(rows.shape[0] // size, *band.shape[1:])

    def _moved(self, values: Array) -> Array:
        """Values of the rows of the paths that start on this rank, from those of its own rows."""
        if not self.stretch.cuts:
            return values
        first = sum(self.sent.values())
        found = self.comm.exchange_known({r: values[:first] for r in self.sent}, self.received, values)
        return np.concatenate([values[first:], *(found[r] for r in self.received)])

    def _moved_back(self, values: Array) -> Array:
        """The reverse."""
        if not self.stretch.cuts:
            return values
        ends = np.cumsum([values.shape[0] - sum(self.received.values()), *self.received.values()])
        parts = {r: values[start:end] for r, start, end in zip(self.received, ends, ends[1:])}
        found = self.comm.exchange_known(parts, self.sent, values)
        return np.concatenate([*found.values(), values[: ends[0]]])


def lu_with_pivoting(bands: Triple) -> Any | None:
    """The LU factors of rows that are not coupled to others; None without rows."""
    lower, diagonal, upper = bands
    if not diagonal.shape[0]:
        return None
    if diagonal.ndim == 3:
        return PivotedBlocks(lower, diagonal, upper, None, 0)
    return Pivoted(lower, diagonal, upper, 0)
