"""Elimination with pivoting over ranks, bit for bit as on one: each path is gathered on one rank.

The rank of a path's first row gets the bands of its other rows in the setup, and their right-hand sides in
each solve. A rank may so have the rows of all linked ranks: this is for paths that link few of them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from linforest_precond.backends.annotations import Array
from linforest_precond.backends.cpu.tridiagonal.pivoting import Pivoted, PivotedBlocks
from linforest_precond.distributed.tridiagonal.band_partition import BandPartition
from linforest_precond.precond.tridiagonal.segments import Triple


class GatheredPaths:
    """A system that is solved with pivoting, each path on one rank; `solve` is collective.

    `perturbed` counts the perturbed diagonal entries of all ranks, and then the pivots that vanished, too.
    """

    coupling = "crossing paths moved to the ranks of their first rows"
    unknowns = 0

    def __init__(self, partition: BandPartition, perturbed: int) -> None:
        self.partition, self.comm, piece = partition, partition.comm, partition.piece
        pieces, linked, size = partition.pieces, partition.linked, partition.block_size
        starts_path = piece.right and not (piece.left and piece.spanned)
        followers = range(partition.own + 1, linked.stop) if starts_path else ()
        # Numbers of (scalar) rows sent to the owner of their path, and received from other ranks.
        self.sent = {pieces[linked[0]].rank: piece.head * size} if piece.left else {}
        self.received = {pieces[i].rank: pieces[i].head * size for i in followers}
        lower, diagonal, upper = (self._gathered_blocks(band, size) for band in partition.bands)
        self.rows = lu_with_pivoting((lower, diagonal, upper))
        self.perturbed = perturbed + self.comm.total(0 if self.rows is None else self.rows.perturbed)

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
        right = self._gathered(b)
        solution = np.empty(right.shape, x.dtype)
        if self.rows is not None:
            self.rows.solve(right, solution, None, transpose)
        x[...] = self._scattered(solution)

    def _gathered_blocks(self, band: Array, size: int) -> Array:
        """The (block) rows of a band of the paths that start here."""
        rows = self._gathered(band.reshape(band.shape[0] * size, *band.shape[2:]))
        return rows.reshape(rows.shape[0] // size, *band.shape[1:])

    def _gathered(self, values: Array) -> Array:
        """Values of the rows of the paths that start on this rank, from those of its own rows."""
        if not self.partition.cuts:
            return values
        first = sum(self.sent.values())
        found = self.comm.exchange_known({r: values[:first] for r in self.sent}, self.received, values)
        return np.concatenate([values[first:], *(found[r] for r in self.received)])

    def _scattered(self, values: Array) -> Array:
        """Values of own rows, from those of the rows of the paths that start here."""
        if not self.partition.cuts:
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
    return Pivoted(lower, diagonal, upper)
