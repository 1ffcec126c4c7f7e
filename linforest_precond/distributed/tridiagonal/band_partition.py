"""The partition of a (block) tridiagonal system by consecutive rows, and recurrences along the order.

Neighbouring ranks are coupled where a path crosses the cut between them. Ranks without rows are skipped: the
rank before is the nearest lower one with rows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from linforest_precond.backends.annotations import Array
from linforest_precond.distributed.partition.communicator import Communicator
from linforest_precond.precond.tridiagonal.segments import (
    Triple,
    entries_of_rows,
    segments_of,
    sums_of_segments,
)

# Paths that link at most this many ranks are solved by messages between these, with the bits of one rank;
# longer chains by an allgather and a reduced system.
MOST_LINKED = 8


@dataclass(frozen=True)
class Piece:
    """A rank's range of (block) rows, as all ranks know it."""

    rank: int
    rows: int
    head: int  # rows of its first segment
    tail: int  # rows of its last segment
    left: bool = False  # whether its first row is coupled to the piece before it
    right: bool = False  # whether its last row is coupled to the piece after it

    @property
    def spanned(self) -> bool:
        """Whether one segment has all its rows."""
        return self.head == self.rows

    @property
    def crossing(self) -> list[Crossing]:
        """The first and the last segment, where they cross a cut; once where they are the same."""
        if self.spanned:
            return [Crossing(0, self.rows, self.left, self.right)] if self.left or self.right else []
        first = [Crossing(0, self.head, True, False)] if self.left else []
        last = [Crossing(self.rows - self.tail, self.rows, False, True)] if self.right else []
        return first + last


class Crossing(NamedTuple):
    """A rank's rows of a path that crosses the cut before them (`left`), the one after them, or both."""

    start: int
    stop: int
    left: bool
    right: bool


class BandPartition:
    """A rank's rows of the bands, with one ghost row before and one after them: a collective object.

    ``lower[0]`` of the bands couples to the last row of the rank before, ``upper[-1]`` to the first row of
    the rank after.
    """

    def __init__(self, comm: Communicator, bands: Triple) -> None:
        self.comm = comm
        rows, starts = bands[1].shape[0], segments_of(bands)[1]
        head, last = (int(starts[1]), int(starts[-1])) if starts.size > 1 else (rows, 0)
        lengths = comm.allgather(np.array([rows, head, rows - last]))
        ranks = [r for r in range(comm.size) if lengths[r][0]]
        ends = comm.allgather(_end_rows(bands))
        # Pieces are coupled by the lower band of a first row, or the upper band of the last row before it.
        coupled = [bool(ends[r][0, 0].any() or ends[q][2, 1].any()) for q, r in zip(ranks, ranks[1:])]
        # The pieces of all ranks that have rows; the index of the own one is -1 without rows.
        self.pieces = [
            Piece(r, int(lengths[r][0]), int(lengths[r][1]), int(lengths[r][2]), left, right)
            for r, left, right in zip(ranks, [False, *coupled], [*coupled, False])
        ]
        self.own = ranks.index(comm.rank) if rows else -1
        self.piece = self.pieces[self.own] if rows else Piece(comm.rank, 0, 0, 0)
        self._link()
        before = after = _identity_row(bands[1])
        if self.own > 0:
            before = ends[ranks[self.own - 1]][:, 1]
        if rows and self.own + 1 < len(ranks):
            after = ends[ranks[self.own + 1]][:, 0]
        # Ghost rows are copies of the neighbours' rows, at the ends rows of the identity.
        self.lower, self.diagonal, self.upper = (
            np.concatenate([first.reshape(1, *band.shape[1:]), band, last.reshape(1, *band.shape[1:])])
            for first, band, last in zip(before, bands, after)
        )

    def _link(self) -> None:
        """Find the pieces that paths link to this one, and whether paths link at most `MOST_LINKED` ranks.

        They are those between the next pieces on both sides that no segment spans.
        """
        to_left = _runs([piece.left for piece in self.pieces], [piece.spanned for piece in self.pieces])
        backward = self.pieces[::-1]
        to_right = _runs([piece.right for piece in backward], [piece.spanned for piece in backward])[::-1]
        here = (to_left[self.own], to_right[self.own]) if self.piece.rows else (0, 0)
        self.linked = range(self.own - here[0], self.own + here[1] + 1)
        most = max((left + right + 1 for left, right in zip(to_left, to_right)), default=1)
        self.by_messages = most <= MOST_LINKED

    @property
    def cuts(self) -> int:
        """Cuts that a path crosses."""
        return sum(piece.left for piece in self.pieces)

    @property
    def block_size(self) -> int:
        """Rows of a block."""
        return self.diagonal.shape[1] if self.diagonal.ndim == 3 else 1

    @property
    def with_ghosts(self) -> Triple:
        """The three bands with ghost rows."""
        return self.lower, self.diagonal, self.upper

    @property
    def bands(self) -> Triple:
        """This rank's rows, without the ghost rows."""
        return without_ghosts(self.with_ghosts)

    def entering_state(
        self, leaving: Callable[[Array], Array], initial: Array, backward: bool = False
    ) -> Array:
        """The state of a recurrence along the order where it enters this rank's rows: collective.

        It is `initial` at the start of a path. ``leaving(state)`` is the state after this rank's last segment
        (its first one where the recurrence runs backward) for the state before that. Only a rank whose rows
        one segment spans depends on the state that enters it.
        """
        pieces = self.pieces[::-1] if backward else self.pieces
        rounds, sending = 0, []  # the round in which each piece sends its state, -1 if it does not
        for piece in pieces:
            entered, left = (piece.right, piece.left) if backward else (piece.left, piece.right)
            rounds = rounds + 1 if entered and piece.spanned else 0
            sending.append(rounds if left else -1)
        own = next((i for i, piece in enumerate(pieces) if piece is self.piece), -1)
        state = initial
        for round_ in range(1 + max(sending, default=-1)):
            parts, expected = {}, {}
            if own >= 0 and sending[own] == round_:
                parts[pieces[own + 1].rank] = leaving(state)
            if own > 0 and sending[own - 1] == round_:
                expected[pieces[own - 1].rank] = initial.shape[0]
            for found in self.comm.exchange_known(parts, expected, initial).values():
                state = found
        return state

    def totals(self, counts: list[Array]) -> tuple[Array, list[Array]]:
        """The number of each row's segment, and sums of integers over the segments, of all ranks."""
        segments, starts = segments_of(self.bands)
        sums = np.stack([sums_of_segments(each, starts) for each in counts])
        ends = self.comm.allgather(sums[:, [0, -1]] if self.piece.rows else sums[:, :0])
        totals, labels = self._joined([ends[piece.rank] for piece in self.pieces])
        if self.piece.rows:
            first, last = labels[self.own]
            sums[:, 0], sums[:, -1] = totals[first], totals[last]
        return segments, list(sums)

    def _joined(self, ends: list[Array]) -> tuple[list[Array], list[tuple[int, int]]]:
        """Sums over the first and last segments of all pieces, and the indices of both for each piece."""
        totals: list[Array] = []
        labels: list[tuple[int, int]] = []
        for piece, sums in zip(self.pieces, ends):
            if piece.left:
                totals[-1] = totals[-1] + sums[:, 0]
            else:
                totals.append(sums[:, 0])
            first = len(totals) - 1
            if not piece.spanned:
                totals.append(sums[:, 1])
            labels.append((first, len(totals) - 1))
        return totals, labels


def without_ghosts(bands: Triple) -> Triple:
    lower, diagonal, upper = bands
    return lower[1:-1], diagonal[1:-1], upper[1:-1]


def _runs(entered: list[bool], spanned: list[bool]) -> list[int]:
    """How many pieces before each one are linked to it."""
    runs: list[int] = []
    for i, coupled in enumerate(entered):
        runs.append(1 + (runs[i - 1] if spanned[i - 1] else 0) if coupled else 0)
    return runs


def _end_rows(bands: Triple) -> Array:
    """The first and the last row of the three bands, (3, 2, entries); none where there are no rows."""
    places = [0, -1] if bands[1].shape[0] else []
    return np.stack([entries_of_rows(band)[places] for band in bands])


def _identity_row(diagonal: Array) -> Array:
    """A row without couplings, (3, entries)."""
    size = diagonal.shape[1] if diagonal.ndim == 3 else 1
    zero = np.zeros((size, size), diagonal.dtype)
    return np.stack([zero, np.eye(size, dtype=diagonal.dtype), zero]).reshape(3, -1)
