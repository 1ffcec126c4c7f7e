"""A (block) tridiagonal system along an order that is cut into stretches, one for each rank.

Two stretches are coupled where a path crosses the cut between them. Ranks without rows are skipped: the rank
before is the nearest lower one with rows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from linforest_precond.annotations import Array
from linforest_precond.distributed.partition.communicator import Communicator
from linforest_precond.precond.tridiagonal.segments import (
    Triple,
    entries_of_rows,
    segments_of,
    sums_of_segments,
)

# Where paths link at most so many ranks, these exchange messages, and values have the bits of one rank; else
# all ranks make an allgather, and solve a reduced system.
MOST_LINKED = 8


@dataclass(frozen=True)
class Piece:
    """A rank's stretch, as all ranks know it; rows are (block) rows."""

    rank: int
    rows: int
    head: int  # rows of its first segment
    tail: int  # rows of its last segment
    left: bool = False  # whether its first row is coupled to the stretch before it
    right: bool = False  # whether its last row is coupled to the stretch after it

    @property
    def spanned(self) -> bool:
        """Whether one segment has all its rows."""
        return self.head == self.rows


class Crossing(NamedTuple):
    """A rank's rows of a path that crosses the cut before them (`left`), the one after them, or both."""

    start: int
    stop: int
    left: bool
    right: bool


class Stretch:
    """A rank's rows of the bands, with one ghost row before and one after them: a collective object.

    Parameters
    ----------
    comm : Communicator
        The ranks.
    bands : lower, diagonal and upper band
        This rank's rows, as in `linforest_precond.records.Bands`: ``lower[0]`` couples to the last row of the
        rank before, ``upper[-1]`` to the first row of the rank after.

    Attributes
    ----------
    piece : Piece
        This rank's stretch.
    pieces : list of Piece
        Those of all ranks that have rows.
    linked : range
        Which of them this rank has to exchange values with, itself included: paths link them. They are
        those between the next stretches to both sides that no segment spans.
    crossing : list of Crossing
        The rows of paths that cross cuts: the first segment, the last one, both, or one that is both.
    lower, diagonal, upper : arrays
        The bands with ghost rows: copies of the neighbours' rows, at the ends rows of the identity.
    """

    def __init__(self, comm: Communicator, bands: Triple) -> None:
        self.comm = comm
        rows, starts = bands[1].shape[0], segments_of(bands)[1]
        head, last = (int(starts[1]), int(starts[-1])) if starts.size > 1 else (rows, 0)
        lengths = comm.allgather(np.array([rows, head, rows - last]))
        ranks = [r for r in range(comm.size) if lengths[r][0]]
        ends = comm.allgather(_end_rows(bands))
        # The lower band of a first row, or the upper one of the last row before it.
        coupled = [bool(ends[r][0, 0].any() or ends[q][2, 1].any()) for q, r in zip(ranks, ranks[1:])]
        around = zip(ranks, [False, *coupled], [*coupled, False])
        self.pieces = [
            Piece(r, int(lengths[r][0]), int(lengths[r][1]), int(lengths[r][2]), left, right)
            for r, left, right in around
        ]
        self.piece = next(
            (piece for piece in self.pieces if piece.rank == comm.rank), Piece(comm.rank, 0, 0, 0)
        )
        self._link()
        self.crossing = _crossing(self.piece)
        before, after = self._neighbor(-1), self._neighbor(1)
        nobody = _decoupled_row(bands[1])
        ghosts = (
            (nobody if before is None else ends[before][:, 1]),
            (nobody if after is None else ends[after][:, 0]),
        )
        self.lower, self.diagonal, self.upper = (
            np.concatenate(
                [ghosts[0][i].reshape(1, *band.shape[1:]), band, ghosts[1][i].reshape(1, *band.shape[1:])]
            )
            for i, band in enumerate(bands)
        )

    def _link(self) -> None:
        """Find the pieces that are linked to this one, and whether all ranks have few of them."""
        to_left = _runs([piece.left for piece in self.pieces], [piece.spanned for piece in self.pieces])
        backward = self.pieces[::-1]
        to_right = _runs([piece.right for piece in backward], [piece.spanned for piece in backward])[::-1]
        self.own = next((i for i, piece in enumerate(self.pieces) if piece is self.piece), 0)
        here = (to_left[self.own], to_right[self.own]) if self.piece.rows else (0, 0)
        self.linked = range(self.own - here[0], self.own + here[1] + 1)
        most = max((left + right + 1 for left, right in zip(to_left, to_right)), default=1)
        self.by_messages = most <= MOST_LINKED

    def gathered(self, values: Array, lengths: dict[int, int]) -> dict[int, Array]:
        """The values of the linked ranks: of each an array of so many rows. All ranks call it."""
        ranks = [self.pieces[i].rank for i in self.linked] if self.piece.rows else []
        if not self.by_messages:
            found = self.comm.allgather(values)
            return {r: found[r] for r in ranks}
        others = [r for r in ranks if r != self.comm.rank]
        parts = {r: values for r in others}
        return self.comm.exchange_known(parts, {r: lengths[r] for r in others}, values) | {
            self.comm.rank: values
        }

    @property
    def receivers(self) -> int:
        """How many ranks get the values that this one gives to `gathered`."""
        if not self.by_messages:
            return self.comm.size - 1
        return len(self.linked) - 1 if self.piece.rows else 0

    def _neighbor(self, step: int) -> int | None:
        """The rank whose stretch comes before (-1) or after (1) this one; None at the ends."""
        own = [i for i, piece in enumerate(self.pieces) if piece is self.piece]
        inside = own and 0 <= own[0] + step < len(self.pieces)
        return self.pieces[own[0] + step].rank if inside else None

    @property
    def cuts(self) -> int:
        """Cuts that a path crosses."""
        return sum(piece.left for piece in self.pieces)

    @property
    def bands(self) -> Triple:
        """This rank's rows, without the ghost rows."""
        return self.lower[1:-1], self.diagonal[1:-1], self.upper[1:-1]

    def carried(self, leaving: Callable[[Array], Array], initial: Array, backward: bool = False) -> Array:
        """The state that a recurrence along the order has where it enters this stretch.

        It is `initial` at the start of a path. ``leaving(state)`` is the state after this rank's last segment
        (its first one where the recurrence runs backward) for the state before that. Only a stretch that one
        segment spans has to wait for the state that enters it.
        """
        pieces = self.pieces[::-1] if backward else self.pieces
        rounds, sending = 0, []
        for piece in pieces:
            entered, left = (piece.right, piece.left) if backward else (piece.left, piece.right)
            rounds = rounds + 1 if entered and piece.spanned else 0
            sending.append(rounds if left else None)
        own = next((i for i, piece in enumerate(pieces) if piece is self.piece), None)
        return self._passed(pieces, sending, own, leaving, initial)

    def _passed(
        self,
        pieces: list[Piece],
        sending: list[int | None],
        own: int | None,
        leaving: Callable[[Array], Array],
        initial: Array,
    ) -> Array:
        """Pass states from piece to piece, each in the round in which it is known."""
        state = initial
        before = None if own in (None, 0) else own - 1
        for round_ in range(1 + max((known for known in sending if known is not None), default=-1)):
            parts, expected = {}, {}
            if own is not None and sending[own] == round_:
                parts[pieces[own + 1].rank] = leaving(state)
            if before is not None and sending[before] == round_:
                expected[pieces[before].rank] = initial.shape[0]
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
            own = next(i for i, piece in enumerate(self.pieces) if piece is self.piece)
            sums[:, 0], sums[:, -1] = totals[labels[own][0]], totals[labels[own][1]]
        return segments, list(sums)

    def _joined(self, ends: list[Array]) -> tuple[list[Array], list[tuple[int, int]]]:
        """Sums over the segments at the ends of the stretches, and which two of them each stretch has."""
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


def _crossing(piece: Piece) -> list[Crossing]:
    found = []
    if piece.left:
        found.append(Crossing(0, piece.head, True, piece.right and piece.spanned))
    if piece.right and not (piece.left and piece.spanned):
        found.append(Crossing(piece.rows - piece.tail, piece.rows, False, True))
    return found


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


def _decoupled_row(diagonal: Array) -> Array:
    """A row of the identity: no couplings."""
    size = diagonal.shape[1] if diagonal.ndim == 3 else 1
    zero = np.zeros((size, size), diagonal.dtype)
    return np.stack([zero, np.eye(size, dtype=diagonal.dtype), zero]).reshape(3, -1)
