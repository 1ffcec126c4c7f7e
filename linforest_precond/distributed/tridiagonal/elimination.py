"""The factorization of a (block) tridiagonal system over ranks, with the decisions of one rank.

Along a path that crosses cuts, the recurrence of the pivots continues from rank to rank. So pivots are those
of one rank bit for bit, and so are all decisions that depend on them. Sums over a path are integers.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from linforest_precond.backends.annotations import Array
from linforest_precond.distributed.partition import host
from linforest_precond.distributed.partition.communicator import Communicator
from linforest_precond.distributed.tridiagonal.band_partition import BandPartition, without_ghosts
from linforest_precond.distributed.tridiagonal.gathered_paths import GatheredPaths
from linforest_precond.distributed.tridiagonal.schur_complement import SchurComplement
from linforest_precond.distributed.tridiagonal.sweeps import PipelinedSweeps, SpikeSweeps
from linforest_precond.precond.tridiagonal.elimination import Elimination, StartedFactorization
from linforest_precond.precond.tridiagonal.growth import overflows
from linforest_precond.precond.tridiagonal.segments import Triple, segments_of

pivots, repairs, sweeps = host.tridiagonal.pivots, host.tridiagonal.repairs, host.tridiagonal.sweeps


class RankElimination(Elimination):
    """`Elimination` over ranks: all methods are collective, and each rank has its rows of the bands."""

    collective = True

    def __init__(self, comm: Communicator) -> None:
        self.comm, self.warns = comm, comm.rank == 0
        self._latest: tuple[Triple, BandPartition] | None = None

    def partition(self, bands: Triple) -> BandPartition:
        """The partition of the bands; that of the latest bands is kept."""
        if self._latest is None or self._latest[0] is not bands:
            self._latest = bands, BandPartition(self.comm, bands)
        return self._latest[1]

    @property
    def cuts(self) -> int:
        """Cuts that a path crosses, of the latest bands."""
        return 0 if self._latest is None else self._latest[1].cuts

    def factor(self, bands: Triple, perturb: bool) -> tuple[Array, list[int]]:
        partition = self.partition(bands)
        inverse, end, tail = np.zeros_like(partition.diagonal), bands[1].shape[0] + 1, partition.piece.tail

        def leaving(state: Array) -> Array:
            inverse[end - tail - 1] = state[0]
            pivots.factor_rows(*partition.with_ghosts, inverse, end - tail, end, perturb)
            return inverse[end - 1 : end].copy()

        inverse[0] = partition.entering_state(leaving, np.zeros_like(inverse[:1]))[0]
        counts = pivots.factor_rows(*partition.with_ghosts, inverse, 1, end, perturb)
        return inverse[1:-1], self.comm.totals(*counts)

    def clip(self, bands: Triple) -> Triple:
        return without_ghosts(repairs.clip(*self.partition(bands).with_ghosts))

    def rows_to_repair(self, bands: Triple, inverse: Array, magnitudes: Array) -> Array | None:
        """A mask of this rank's rows of paths that are to be repaired; None where no rank has any."""
        counts = repairs.count_rows(*bands, inverse, magnitudes)
        segments, sums = self.partition(bands).totals(list(counts))
        repaired: Array = repairs.needs_repair(*sums)[segments]
        return repaired if self.total(repaired) else None

    def clip_paths(self, bands: Triple, rows: Array) -> tuple[Triple, int, int]:
        partition = self.partition(bands)
        around = np.pad(rows, 1, mode="edge") if rows.size else np.zeros(2, bool)
        lower, diagonal, upper = partition.with_ghosts
        lower, upper, clip, _ = repairs.clip_couplings(lower, diagonal, upper, around)
        starts = segments_of(bands)[1][int(partition.piece.left) :]
        paths, couplings = self.comm.totals(rows[starts].sum(), clip[: rows.size].sum())
        return without_ghosts((lower, diagonal, upper)), paths, couplings

    def sweeps(
        self, bands: Triple, inverse: Array, symmetric: bool, started: StartedFactorization | None = None
    ) -> Any | None:
        partition = self.partition(bands)
        if inverse.ndim == 1 and self._largest_growth(partition, inverse) > sweeps.most_growth(inverse.dtype):
            return None
        method = PipelinedSweeps if partition.by_messages else SpikeSweeps
        return method(partition, inverse, symmetric)

    def _largest_growth(self, partition: BandPartition, inverse: Array) -> float:
        """The largest growth factor of a rounding error in the sweeps, of all ranks."""
        w, rows, piece = np.pad(inverse, 1), inverse.size, partition.piece

        def growth(bands: Triple, last_segment: tuple[int, int], first: int, step: int) -> float:
            def leaving(state: Array) -> Array:
                state = state.copy()
                sweeps.largest_growth(*bands, *last_segment, step, state)
                return state

            entering = partition.entering_state(leaving, np.ones(2), backward=step < 0)
            return sweeps.largest_growth(*bands, first, rows, step, entering.copy())

        own = [
            growth((partition.lower, w, partition.upper), (rows - piece.tail + 1, piece.tail), 1, 1),
            growth((partition.upper, w, partition.lower), (piece.head, piece.head), rows, -1),
        ]
        return float(self.comm.largest(np.max(own)))

    def pivoted_method(self, bands: Triple, inverse: Array, perturbed: int, perturb: bool) -> Any:
        partition, count = self.partition(bands), 0
        if perturb and bands[1].ndim == 1:
            diagonal = self._perturbed(partition, inverse)
            count = self.total(diagonal != bands[1])
            partition = self.partition((bands[0], diagonal, bands[2])) if count else partition
        return GatheredPaths(partition, count) if partition.by_messages else SchurComplement(partition, count)

    def _perturbed(self, partition: BandPartition, inverse: Array) -> Array:
        """This rank's diagonal, with the last entries of singular segments perturbed."""
        last = np.zeros(1, inverse.dtype)
        before = partition.entering_state(lambda state: inverse[-1:], last)
        segment = np.zeros(2, np.int64)
        segment = partition.entering_state(lambda state: _segment_at_end(partition, state), segment)
        rows = _rows_before(partition, segment)
        extra = rows[1].size
        lower, diagonal, upper = (np.concatenate(pair) for pair in zip(rows, partition.with_ghosts))
        w = np.concatenate([np.zeros(extra, inverse.dtype), before, inverse, last])
        return repairs.perturb_singular(lower, diagonal, upper, w)[0][extra + 1 : -1]

    def overflowing_rows(self, method: Any, bands: Triple) -> Array | None:
        rows = bands[1].shape[0] * (bands[1].shape[1] if bands[1].ndim == 3 else 1)
        bad = overflows(method, bands, int(self.comm.offsets(rows)[self.comm.rank]))
        segments, (found,) = self.partition(bands).totals([bad])
        return found[segments] > 0 if self.total(bad) else None

    def total(self, rows: Array) -> int:
        return self.comm.total(np.count_nonzero(rows))


def _segment_at_end(partition: BandPartition, state: Array) -> Array:
    """Of the last segment: its rows so far, and whether one of its odd rows has a nonzero diagonal entry.

    Rows of a segment are counted from 1, as for `perturb_singular`. A segment ends where one of both
    couplings vanishes. `state` is the same for the row before this rank's rows.
    """
    lower, diagonal, upper = partition.bands
    starts = np.flatnonzero((lower == 0) | (partition.upper[:-2] == 0))
    if starts.size:
        rows = diagonal[starts[-1] :]
        return np.array([rows.size, np.any(rows[::2] != 0)])
    useful = state[1] or np.any(diagonal[int(state[0]) % 2 :: 2] != 0)
    return np.array([state[0] + diagonal.size, useful])


def _rows_before(partition: BandPartition, state: Array) -> Triple:
    """One or two rows in place of a segment's rows before the ghost row: same parity, same flag of `state`.

    None where the segment starts with the ghost row or after it.
    """
    length, useful = (int(number) for number in state)
    diagonal = np.zeros(0 if length < 2 else 1 + length % 2, partition.diagonal.dtype)
    diagonal[:1] = useful
    return np.ones_like(diagonal), diagonal, np.ones_like(diagonal)
