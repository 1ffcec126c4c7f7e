"""Sweeps over ranks with the bits of one rank: recurrences go on from rank to rank.

The last forward value of a stretch is sent to the rank after it, which sweeps the rest of the path with it,
and sends its first solution back: the arithmetic is that of one rank. Stretches that one path spans are swept
one after the other, so this is for paths that span few of them; `swept_stretch` is for others.
"""

from __future__ import annotations

import numpy as np

from linforest_precond.annotations import Array
from linforest_precond.backends.cpu.tridiagonal.sweeps import Sweeps
from linforest_precond.distributed.tridiagonal.band_partition import Crossing, Stretch


class CarriedSweeps:
    """A rank's rows of a factored system that is solved without pivoting; `solve` is collective.

    Parameters
    ----------
    stretch : Stretch
        The bands.
    inverse : array
        The inverses of the pivots of this rank's rows.
    symmetric : bool
        Whether the whole matrix is symmetric.
    """

    coupling = "values carried across them"
    unknowns = 0

    def __init__(self, stretch: Stretch, inverse: Array, symmetric: bool) -> None:
        self.stretch, self.block_size = stretch, inverse.shape[1] if inverse.ndim == 3 else 1
        lower, _, upper = stretch.bands
        self.rows = Sweeps(lower, inverse, upper, symmetric)
        self.crossing = {
            transpose: [self._with_ghosts(each, inverse, transpose) for each in stretch.crossing]
            for transpose in (False, True)
        }

    def _with_ghosts(self, rows: Crossing, inverse: Array, transpose: bool) -> Sweeps:
        """The sweeps of some rows with ghost rows around them, whose solutions are their right-hand sides.

        A ghost row has the pivot 1; the one after the rows is not coupled to them in the forward sweep.
        """
        outer = slice(rows.start, rows.stop + 2)
        lower, upper = self.stretch.lower[outer].copy(), self.stretch.upper[outer].copy()
        pivots = np.zeros_like(lower)
        pivots[[0, -1]] = np.eye(self.block_size) if inverse.ndim == 3 else 1
        pivots[1:-1] = inverse[rows.start : rows.stop]
        (upper if transpose else lower)[-2 if transpose else -1] = 0
        return Sweeps(lower, pivots, upper, False)

    @property
    def numbers_sent(self) -> int:
        """Numbers that this rank sends for one right-hand side."""
        return (self.stretch.piece.left + self.stretch.piece.right) * self.block_size

    @property
    def nbytes_extra(self) -> int:
        """Bytes of the bands of crossing paths, with ghost rows."""
        found = [sweeps for pair in self.crossing.values() for sweeps in pair]
        return sum(s.lower.nbytes + s.inverse.nbytes + s.upper.nbytes for s in found)

    def solve(self, b: Array, x: Array, order: Array | None, transpose: bool) -> None:
        """Solve for the columns of b into x, of this rank's rows; `order` is None."""
        if b.shape[0]:
            self.rows.solve(b, x, order, transpose)
        if not self.stretch.cuts:
            return
        size, nothing = self.block_size, np.zeros((self.block_size, b.shape[1]), b.dtype)

        def last_forward(value: Array) -> Array:
            return self._swept(-1, b, transpose, value, nothing)[-size:]

        def first_solution(value: Array) -> Array:
            return self._swept(0, b, transpose, before, value)[:size]

        before = self.stretch.carried(last_forward, nothing)
        after = self.stretch.carried(first_solution, nothing, backward=True)
        for i, rows in enumerate(self.stretch.crossing):
            x[rows.start * size : rows.stop * size] = self._swept(i, b, transpose, before, after)

    def _swept(self, i: int, b: Array, transpose: bool, before: Array, after: Array) -> Array:
        """The solution of the rows of a crossing path, for the values before and after them."""
        rows, size = self.stretch.crossing[i], self.block_size
        own = b[rows.start * size : rows.stop * size]
        right = np.concatenate([before * rows.left, own, after * rows.right])
        x = np.empty_like(right)
        self.crossing[transpose][i].solve(right, x, None, transpose)
        return x[size:-size]
