"""Elimination without pivoting over ranks: each rank has its rows of the LU factors.

Forward and backward substitution are linear recurrences along the paths. As the pivots are those of the whole
system, a rank's rows are never singular, and no accuracy is lost where one rank loses none.
"""

from __future__ import annotations

import copy
from typing import Any, NamedTuple

import numpy as np

from linforest_precond.backends import Backend
from linforest_precond.backends.annotations import Array
from linforest_precond.backends.array_libraries import on_host, xp_of
from linforest_precond.distributed.partition import host
from linforest_precond.distributed.tridiagonal.band_partition import BandPartition, Crossing
from linforest_precond.distributed.tridiagonal.gathered_paths import GatheredPaths
from linforest_precond.distributed.tridiagonal.reduced_system import BandedLU, entries_of_blocks

Sweeps = host.tridiagonal.sweeps.Sweeps


class PartitionedSweeps:
    """A rank's rows of a factored system that is solved without pivoting; `solve` is collective.

    `inverse` has the inverses of the pivots of this rank's rows.
    """

    def __init__(self, partition: BandPartition, inverse: Array, symmetric: bool) -> None:
        self.partition, self.inverse, self.block_size = partition, inverse, partition.block_size
        lower, _, upper = partition.bands
        self.symmetric, self.rows = symmetric, Sweeps(lower, inverse, upper, symmetric)

    @property
    def takes_order(self) -> bool:
        """Whether `solve` takes the order of the rows of both vectors: on one rank, as without ranks."""
        return self.partition.comm.size == 1

    def solve(self, b: Array, x: Array, order: Array | None, transpose: bool) -> None:
        """Solve for the columns of b into x, of this rank's rows."""
        if b.shape[0]:
            self.rows.solve(b, x, order, transpose)
        if self.partition.cuts:
            self._couple(b, x, transpose)

    def on(self, backend: Backend) -> SpikeSweeps | GatheredPaths:
        """The system on another backend: by SPIKE, or with pivoting if rounding errors grow. Collective."""
        spikes = SpikeSweeps(self.partition, self.inverse, self.symmetric)
        return spikes.with_rows_on(backend) or GatheredPaths(self.partition, 0).on(backend)

    def _couple(self, b: Array, x: Array, transpose: bool) -> None:
        """Correct the solution of the rows of paths that cross cuts."""
        raise NotImplementedError


class PipelinedSweeps(PartitionedSweeps):
    """The pipelined Thomas algorithm, with the bits of one rank.

    The last forward value of a rank is sent to the rank after it, which continues the path with it, and sends
    its first solution back. Ranks that one path spans follow one another, so this is for paths that span few
    of them.
    """

    coupling = "values carried across them"
    unknowns = 0

    def __init__(self, partition: BandPartition, inverse: Array, symmetric: bool) -> None:
        super().__init__(partition, inverse, symmetric)
        self.crossing = {
            transpose: [self._with_ghosts(each, transpose) for each in partition.piece.crossing]
            for transpose in (False, True)
        }

    def _with_ghosts(self, rows: Crossing, transpose: bool) -> Any:
        """The sweeps of some rows with ghost rows around them, whose solutions are their right-hand sides.

        A ghost row has the pivot 1; the one after the rows is not coupled to them in the forward sweep.
        """
        outer = slice(rows.start, rows.stop + 2)
        lower, upper = self.partition.lower[outer].copy(), self.partition.upper[outer].copy()
        pivots = np.zeros_like(lower)
        pivots[[0, -1]] = np.eye(self.block_size) if lower.ndim == 3 else 1
        pivots[1:-1] = self.inverse[rows.start : rows.stop]
        (upper if transpose else lower)[-2 if transpose else -1] = 0
        return Sweeps(lower, pivots, upper, False)

    @property
    def numbers_sent(self) -> int:
        """Numbers that this rank sends for one right-hand side."""
        return (self.partition.piece.left + self.partition.piece.right) * self.block_size

    @property
    def nbytes_extra(self) -> int:
        """Bytes of the bands of crossing paths, with ghost rows."""
        found = [sweeps for pair in self.crossing.values() for sweeps in pair]
        return sum(s.lower.nbytes + s.inverse.nbytes + s.upper.nbytes for s in found)

    def _couple(self, b: Array, x: Array, transpose: bool) -> None:
        size, zero = self.block_size, np.zeros((self.block_size, b.shape[1]), b.dtype)

        def last_forward(value: Array) -> Array:
            return self._swept(-1, b, transpose, value, zero)[-size:]

        def first_solution(value: Array) -> Array:
            return self._swept(0, b, transpose, before, value)[:size]

        before = self.partition.entering_state(last_forward, zero)
        after = self.partition.entering_state(first_solution, zero, backward=True)
        for i, rows in enumerate(self.partition.piece.crossing):
            x[rows.start * size : rows.stop * size] = self._swept(i, b, transpose, before, after)

    def _swept(self, i: int, b: Array, transpose: bool, before: Array, after: Array) -> Array:
        """The solution of the rows of a crossing path, for the values before and after them."""
        rows, size = self.partition.piece.crossing[i], self.block_size
        own = b[rows.start * size : rows.stop * size]
        right = np.concatenate([before * rows.left, own, after * rows.right])
        x = np.empty_like(right)
        self.crossing[transpose][i].solve(right, x, None, transpose)
        return x[size:-size]


class Spikes(NamedTuple):
    """Responses of a rank's rows to the values of its neighbours, and the reduced system of all ranks."""

    left: Array  # (rows of the first segment, b): to the forward value before it; empty where none enters
    right: Array  # (rows of the last segment, b): to the solution after it
    reduced: BandedLU  # both unknowns at each cut


class SpikeSweeps(PartitionedSweeps):
    """The SPIKE algorithm, with a reduced system that every rank solves on the host.

    Each rank sweeps its rows as if no values entered them, and adds its responses to these values, the
    spikes: one to the last forward value of the rank before, one to the first solution of the rank after.
    Polizzi & Sameh, "A parallel hybrid banded system solver: the SPIKE algorithm" (2006),
    doi:10.1016/j.parco.2005.07.005.
    """

    def __init__(self, partition: BandPartition, inverse: Array, symmetric: bool) -> None:
        super().__init__(partition, inverse, symmetric)
        # Of each linked piece but the first: the number of the cut before it.
        self.cuts = {i: cut for cut, i in enumerate(partition.linked[1:])}
        self.spikes = {False: self._spikes(False)}
        if symmetric:
            self.spikes[True] = self.spikes[False]

    def with_rows_on(self, backend: Backend) -> SpikeSweeps | None:
        """The same with the rows and the spikes on a backend; None where rounding errors grow on a rank.

        Collective.
        """
        xp, found = backend.xp, copy.copy(self)
        lower, diagonal, upper = (xp.asarray(band) for band in self.partition.bands)
        inverse = xp.asarray(self.inverse)
        found.rows = backend.tridiagonal.sweeps.Sweeps(lower, inverse, upper, self.symmetric)
        if not self.partition.comm.all(found.rows.keep_digits(diagonal)):
            return None
        found.spikes = {
            transpose: Spikes(xp.asarray(each.left), xp.asarray(each.right), each.reduced)
            for transpose, each in ((False, self.spikes[False]), (True, self._transposed()))
        }
        return found

    def _transposed(self) -> Spikes:
        """The spikes of the transpose, computed when it is first solved with: collective."""
        if True not in self.spikes:
            self.spikes[True] = self._spikes(True)
        return self.spikes[True]

    @property
    def unknowns(self) -> int:
        """Rows of the reduced systems of all ranks."""
        return 2 * self.partition.cuts * self.block_size

    @property
    def coupling(self) -> str:
        """How crossing paths are solved, for print."""
        return f"{self.unknowns} unknowns in a reduced system"

    @property
    def numbers_sent(self) -> int:
        """Numbers that this rank sends for one right-hand side."""
        return 2 * self.block_size * (self.partition.comm.size - 1)

    @property
    def nbytes_extra(self) -> int:
        """Bytes of the spikes and of the reduced system."""
        found = {id(spikes): spikes for spikes in self.spikes.values()}.values()
        return sum(s.left.nbytes + s.right.nbytes + s.reduced.nbytes for s in found)

    def _couple(self, b: Array, x: Array, transpose: bool) -> None:
        spikes = self._transposed() if transpose else self.spikes[False]
        xp, size, own = xp_of(x), self.block_size, self.partition.own
        ends = xp.concatenate([x[:size], x[x.shape[0] - size :]]).astype(self.inverse.dtype, copy=False)
        ends = on_host(ends)  # stall: the reduced system is solved on the host
        comm, linked = self.partition.comm, self.partition.linked
        has_rows = np.bincount([piece.rank for piece in self.partition.pieces], minlength=comm.size)
        gathered = comm.allgather_known(ends, 2 * size * has_rows)
        if not self.cuts:
            return
        # At each cut: the last value of the piece before it, then the first value of the piece after it.
        found = spikes.reduced.solve(gathered[(2 * linked.start + 1) * size : (2 * linked.stop - 1) * size])
        if own in self.cuts:
            before = 2 * self.cuts[own] * size
            x[: spikes.left.shape[0]] += spikes.left @ xp.asarray(found[before : before + size])
        if own + 1 in self.cuts:
            after = (2 * self.cuts[own + 1] + 1) * size
            x[x.shape[0] - spikes.right.shape[0] :] += spikes.right @ xp.asarray(found[after : after + size])

    def _spikes(self, transpose: bool) -> Spikes:
        left, right = self._own_spikes(transpose)
        size, spanned = self.block_size, self.partition.piece.spanned
        zero = np.zeros((size, size), left.dtype)
        response = np.stack(
            [
                left[:size] if left.size else zero,
                left[-size:] if left.size and spanned else zero,
                right[:size] if right.size and spanned else zero,
            ]
        )
        return Spikes(left, right, self._reduced(self.partition.comm.allgather(response)))

    def _own_spikes(self, transpose: bool) -> tuple[Array, Array]:
        """The responses to a unit before the first row, and to a unit after the last one."""
        bands, piece = self.partition, self.partition.piece
        before, after = (bands.upper[0], bands.lower[-1]) if transpose else (bands.lower[1], bands.upper[-2])
        head, tail = piece.head if piece.left else 0, piece.tail if piece.right else 0
        left = self._response(slice(0, head), 0, before, transpose)
        return left, self._response(slice(piece.rows - tail, piece.rows), -1, after, transpose)

    def _response(self, rows: slice, place: int, coupling: Array, transpose: bool) -> Array:
        """The solution of some rows for minus a coupling in their first (0) or last (-1) row."""
        size, (lower, _, upper) = self.block_size, self.partition.bands
        count = rows.stop - rows.start
        right = np.zeros((count, size, size), self.inverse.dtype)
        if not count:
            return right.reshape(0, size)
        block = coupling.reshape(size, size)
        right[place] = -(block.T if transpose else block)
        x = np.empty((count * size, size), self.inverse.dtype)
        sweeps = Sweeps(lower[rows], self.inverse[rows], upper[rows], False)
        sweeps.solve(right.reshape(x.shape), x, None, transpose)
        return x

    def _reduced(self, responses: list[Array]) -> BandedLU:
        """The recurrences between the forward values before the cuts, and the solutions after them."""
        size, pieces = self.block_size, self.partition.pieces
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
