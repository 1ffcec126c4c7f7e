"""Sweeps over ranks: the LU factors of one rank, each rank with its rows of them.

Forward and backward substitution are linear recurrences. Each rank sweeps its rows as if nothing entered
them, and adds its responses to what enters, the *spikes* (Polizzi & Sameh, "A parallel hybrid banded system
solver: the SPIKE algorithm", 2006, doi:10.1016/j.parco.2005.07.005): one for the last forward value of the
rank before, one for the first solution of the rank after. As the pivots are those of the whole system, a
stretch is never singular, and no accuracy is lost where one rank loses none.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from linforest_precond.annotations import Array
from linforest_precond.backends.cpu.tridiagonal.sweeps import Sweeps
from linforest_precond.distributed.tridiagonal.band_partition import Stretch
from linforest_precond.distributed.tridiagonal.reduced_system import BandedLU, entries_of_blocks


class Spikes(NamedTuple):
    """Responses of a stretch to what enters it, and the reduced system of all stretches."""

    left: Array  # (rows of the first segment, b): to the forward value before it; empty where none enters
    right: Array  # (rows of the last segment, b): to the solution after it
    reduced: BandedLU  # both unknowns at each cut


class SweptStretch:
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

    def __init__(self, stretch: Stretch, inverse: Array, symmetric: bool) -> None:
        self.stretch, self.inverse, self.comm = stretch, inverse, stretch.comm
        self.block_size = inverse.shape[1] if inverse.ndim == 3 else 1
        lower, _, upper = stretch.bands
        self.rows = Sweeps(lower, inverse, upper, symmetric)
        # Of each linked piece but the first: the number of the cut before it.
        self.cuts = {i: cut for cut, i in enumerate(stretch.linked[1:])}
        self.spikes = {False: self._spikes(False)}
        if symmetric:
            self.spikes[True] = self.spikes[False]

    @property
    def unknowns(self) -> int:
        """Rows of the reduced systems of all ranks."""
        return 2 * self.stretch.cuts * self.block_size

    @property
    def coupling(self) -> str:
        """How crossing paths are solved, for print."""
        return f"{self.unknowns} unknowns in a reduced system"

    @property
    def numbers_sent(self) -> int:
        """Numbers that this rank sends for one right-hand side."""
        return 2 * self.block_size * self.stretch.receivers

    @property
    def nbytes_extra(self) -> int:
        """Bytes of the spikes and of the reduced system."""
        found = {id(spikes): spikes for spikes in self.spikes.values()}.values()
        return sum(s.left.nbytes + s.right.nbytes + s.reduced.nbytes for s in found)

    def solve(self, b: Array, x: Array, order: Array | None, transpose: bool) -> None:
        """Solve for the columns of b into x, of this rank's rows; `order` is None."""
        if b.shape[0]:
            self.rows.solve(b, x, order, transpose)
        if not self.stretch.cuts:
            return
        if transpose not in self.spikes:
            self.spikes[transpose] = self._spikes(transpose)
        spikes, size, own = self.spikes[transpose], self.block_size, self.stretch.own
        ends = np.concatenate([x[:size], x[x.shape[0] - size :]]).astype(self.inverse.dtype, copy=False)
        gathered = self.stretch.gathered(ends, dict.fromkeys(range(self.comm.size), 2 * size))
        if not self.cuts:
            return
        found = spikes.reduced.solve(self._right_sides(gathered))
        if own in self.cuts:
            x[: spikes.left.shape[0]] += spikes.left @ _block(found, 2 * self.cuts[own], size)
        if own + 1 in self.cuts:
            after = _block(found, 2 * self.cuts[own + 1] + 1, size)
            x[x.shape[0] - spikes.right.shape[0] :] += spikes.right @ after

    def _right_sides(self, ends: dict[int, Array]) -> Array:
        """At each cut: the last value of the piece before it, the first value of the piece after it."""
        pieces, size = self.stretch.pieces, self.block_size
        sides = [
            side for i in self.cuts for side in (ends[pieces[i - 1].rank][size:], ends[pieces[i].rank][:size])
        ]
        return np.concatenate(sides)

    def _spikes(self, transpose: bool) -> Spikes:
        left, right = self._own_spikes(transpose)
        size, spanned = self.block_size, self.stretch.piece.spanned
        zero = np.zeros((size, size), left.dtype)
        response = np.stack(
            [
                left[:size] if left.size else zero,
                left[-size:] if left.size and spanned else zero,
                right[:size] if right.size and spanned else zero,
            ]
        )
        return Spikes(left, right, self._reduced(self.comm.allgather(response)))

    def _own_spikes(self, transpose: bool) -> tuple[Array, Array]:
        """The responses to a unit before the first row, and to a unit after the last one."""
        stretch, piece = self.stretch, self.stretch.piece
        before, after = (
            (stretch.upper[0], stretch.lower[-1]) if transpose else (stretch.lower[1], stretch.upper[-2])
        )
        sizes = piece.head if piece.left else 0, piece.tail if piece.right else 0
        left = self._response(slice(0, sizes[0]), 0, before, transpose)
        return left, self._response(slice(piece.rows - sizes[1], piece.rows), -1, after, transpose)

    def _response(self, rows: slice, place: int, coupling: Array, transpose: bool) -> Array:
        """The solution of some rows for minus a coupling in their first (0) or last (-1) row."""
        size, (lower, _, upper) = self.block_size, self.stretch.bands
        count = rows.stop - rows.start
        right = np.zeros((count, size, size), self.inverse.dtype)
        if not count:
            return right.reshape(0, size)
        block = coupling.reshape(size, size)
        right[place] = -(block.T if transpose else block)
        x = np.empty((count * size, size), self.inverse.dtype)
        Sweeps(lower[rows], self.inverse[rows], upper[rows], False).solve(
            right.reshape(x.shape), x, None, transpose
        )
        return x

    def _reduced(self, responses: list[Array]) -> BandedLU:
        """The recurrences between the forward values before the cuts, and the solutions after them."""
        size, pieces = self.block_size, self.stretch.pieces
        blocks: list[tuple[int, int, Array]] = []
        for i, cut in self.cuts.items():
            first, _, through = responses[pieces[i].rank]
            blocks += [(2 * cut + k, 2 * cut + k, np.eye(size)) for k in range(2)]
            blocks.append((2 * cut + 1, 2 * cut, -first))
            if i - 1 in self.cuts:
                blocks.append((2 * cut, 2 * self.cuts[i - 1], -responses[pieces[i - 1].rank][1]))
            if i + 1 in self.cuts:
                blocks.append((2 * cut + 1, 2 * self.cuts[i + 1] + 1, -through))
        width = 3 * size - 1
        places = np.array([block[:2] for block in blocks], np.int64).reshape(-1, 2).T * size
        values = np.array([block[2] for block in blocks], self.inverse.dtype).reshape(-1, size, size)
        entries = entries_of_blocks(places, values)
        return BandedLU(entries, 2 * len(self.cuts) * size, width, width, self.inverse.dtype)


def _block(values: Array, i: int, size: int) -> Array:
    return values[i * size : (i + 1) * size]
