"""The steps by which a (block) tridiagonal system over ranks is factored, with the decisions of one rank.

Pivots are carried from rank to rank along a path that crosses cuts, so they are those of one rank bit for
bit; and with them all that is decided by them. Sums over a path are integers.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from linforest_precond.annotations import Array
from linforest_precond.backends.cpu.tridiagonal import clipping, pivots, sweeps
from linforest_precond.distributed.partition.communicator import Communicator
from linforest_precond.distributed.tridiagonal.band_partition import Stretch
from linforest_precond.distributed.tridiagonal.gathered_paths import MovedPaths
from linforest_precond.distributed.tridiagonal.pipelined_sweeps import CarriedSweeps
from linforest_precond.distributed.tridiagonal.schur_complement import PivotedStretch
from linforest_precond.distributed.tridiagonal.spike_sweeps import SweptStretch
from linforest_precond.precond.tridiagonal.elimination import Elimination, Factorization
from linforest_precond.precond.tridiagonal.growth import overflows
from linforest_precond.precond.tridiagonal.repair import counts_of_rows, needs_repair, scaled_couplings
from linforest_precond.precond.tridiagonal.segments import Triple, segments_of
from linforest_precond.precond.tridiagonal.singular import perturb_singular


class RankElimination(Elimination):
    """`Elimination` over ranks: all methods are collective, and each rank has its rows of the bands.

    Parameters
    ----------
    comm : Communicator
        The ranks.
    """

    collective = True

    def __init__(self, comm: Communicator) -> None:
        self.comm, self.warns = comm, comm.rank == 0
        self._latest: tuple[Triple, Stretch] | None = None

    def stretch(self, bands: Triple) -> Stretch:
        """The rows with those of the neighbours; that of the latest bands is kept."""
        if self._latest is None or self._latest[0] is not bands:
            self._latest = bands, Stretch(self.comm, bands)
        return self._latest[1]

    @property
    def cuts(self) -> int:
        """Cuts that a path crosses, of the latest bands."""
        return 0 if self._latest is None else self._latest[1].cuts

    def factor(self, bands: Triple, perturb: bool) -> tuple[Array, list[int]]:
        stretch = self.stretch(bands)
        system = stretch.lower, stretch.diagonal, stretch.upper
        inverse, end, tail = np.zeros_like(stretch.diagonal), bands[1].shape[0] + 1, stretch.piece.tail

        def leaving(state: Array) -> Array:
            inverse[end - tail - 1] = state[0]
            pivots.factor_rows(*system, inverse, end - tail, end, perturb)
            return inverse[end - 1 : end].copy()

        inverse[0] = stretch.carried(leaving, np.zeros_like(inverse[:1]))[0]
        counts = pivots.factor_rows(*system, inverse, 1, end, perturb)
        return inverse[1:-1], [int(count) for count in self.comm.allreduce(counts)]

    def clip(self, bands: Triple) -> Triple:
        stretch = self.stretch(bands)
        return _inside(clipping.clip(stretch.lower, stretch.diagonal, stretch.upper))

    def rows_to_repair(self, bands: Triple, inverse: Array, magnitudes: Array) -> Array | None:
        """A mask of this rank's rows of paths that are to be repaired; None where no rank has any."""
        counts = counts_of_rows(bands, inverse, magnitudes)
        segments, sums = self.stretch(bands).totals(list(counts))
        repaired: Array = needs_repair(*sums)[segments]
        return repaired if self.total(repaired) else None

    def clip_paths(self, bands: Triple, rows: Array) -> tuple[Triple, int, int]:
        stretch = self.stretch(bands)
        around = np.pad(rows, 1, mode="edge") if rows.size else np.zeros(2, bool)
        clipped, clip = scaled_couplings((stretch.lower, stretch.diagonal, stretch.upper), around)
        starts = segments_of(bands)[1][int(stretch.piece.left) :]
        counts = [int(rows[starts].sum()), int(clip[: rows.size].sum())]
        paths, couplings = self.comm.allreduce(np.array(counts))
        return _inside(clipped), int(paths), int(couplings)

    def sweeps(
        self, bands: Triple, inverse: Array, symmetric: bool, started: Factorization | None = None
    ) -> Any | None:
        stretch = self.stretch(bands)
        if inverse.ndim == 1 and self._largest_growth(stretch, inverse) > sweeps.most_growth(inverse.dtype):
            return None
        method = CarriedSweeps if stretch.by_messages else SweptStretch
        return method(stretch, inverse, symmetric)

    def _largest_growth(self, stretch: Stretch, inverse: Array) -> float:
        """The largest growth factor of a rounding error in the sweeps, of all ranks."""
        w, rows, piece = np.pad(inverse, 1), inverse.size, stretch.piece
        forward, backward = (stretch.lower, w, stretch.upper), (stretch.upper, w, stretch.lower)

        def to_the_right(state: Array) -> Array:
            state = state.copy()
            sweeps.largest_growth(*forward, rows - piece.tail + 1, piece.tail, 1, state)
            return state

        def to_the_left(state: Array) -> Array:
            state = state.copy()
            sweeps.largest_growth(*backward, piece.head, piece.head, -1, state)
            return state

        states = stretch.carried(to_the_right, np.ones(2)), stretch.carried(to_the_left, np.ones(2), True)
        own = [
            sweeps.largest_growth(*forward, 1, rows, 1, states[0].copy()),
            sweeps.largest_growth(*backward, rows, rows, -1, states[1].copy()),
        ]
        return float(self.comm.allreduce(np.array(own), "max").max())

    def pivoted_method(self, bands: Triple, inverse: Array, perturbed: int, perturb: bool) -> Any:
        stretch, count = self.stretch(bands), 0
        if perturb and bands[1].ndim == 1:
            diagonal = self._perturbed(stretch, inverse)
            count = self.total(diagonal != bands[1])
            stretch = self.stretch((bands[0], diagonal, bands[2])) if count else stretch
        return MovedPaths(stretch, count) if stretch.by_messages else PivotedStretch(stretch, count)

    def _perturbed(self, stretch: Stretch, inverse: Array) -> Array:
        """This rank's diagonal, with the last entries of singular segments perturbed."""
        last = np.zeros(1, inverse.dtype)
        before = stretch.carried(lambda state: inverse[-1:], last)
        parity = stretch.carried(lambda state: _segment_at_end(stretch, state), np.zeros(2, np.int64))
        rows = _rows_before(stretch, parity)
        extra = rows[1].size
        lower, diagonal, upper = (
            np.concatenate(pair) for pair in zip(rows, (stretch.lower, stretch.diagonal, stretch.upper))
        )
        w = np.concatenate([np.zeros(extra, inverse.dtype), before, inverse, last])
        return perturb_singular(lower, diagonal, upper, w)[0][extra + 1 : -1]

    def overflowing_rows(self, method: Any, bands: Triple) -> Array | None:
        rows = bands[1].shape[0] * (bands[1].shape[1] if bands[1].ndim == 3 else 1)
        bad = overflows(method, bands, int(self.comm.offsets(rows)[self.comm.rank]))
        segments, (found,) = self.stretch(bands).totals([bad])
        return found[segments] > 0 if self.total(bad) else None

    def total(self, rows: Array) -> int:
        return int(self.comm.allreduce(np.array(np.count_nonzero(rows))))


def _inside(bands: Triple) -> Triple:
    lower, diagonal, upper = bands
    return lower[1:-1], diagonal[1:-1], upper[1:-1]


def _segment_at_end(stretch: Stretch, state: Array) -> Array:
    """Of the segment that ends this stretch: its rows so far, and whether it has a nonzero diagonal entry.

    Only the first, third, fifth ... rows of a segment count, as for `perturb_singular`. A segment ends where
    one of both couplings vanishes. `state` is the same for the row before this stretch.
    """
    lower, diagonal, upper = stretch.bands
    starts = np.flatnonzero((lower == 0) | (stretch.upper[:-2] == 0))
    if starts.size:
        rows = diagonal[starts[-1] :]
        return np.array([rows.size, np.any(rows[::2] != 0)])
    useful = state[1] or np.any(diagonal[int(state[0]) % 2 :: 2] != 0)
    return np.array([state[0] + diagonal.size, useful])


def _rows_before(stretch: Stretch, state: Array) -> Triple:
    """One or two rows that represent those of a segment before the ghost row: the same parity, and as useful.

    None where the segment starts with the ghost row or after it.
    """
    length, useful = (int(number) for number in state)
    diagonal = np.zeros(0 if length < 2 else 1 + length % 2, stretch.diagonal.dtype)
    diagonal[:1] = useful
    return np.ones_like(diagonal), diagonal, np.ones_like(diagonal)
