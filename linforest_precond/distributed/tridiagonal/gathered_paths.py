"""Elimination with pivoting over ranks, bit for bit as on one: each path is gathered on one rank.

The rank of a path's first row gets the bands of its other rows in the setup, and their right-hand sides in
each solve. A rank may so have the rows of all linked ranks: this is for paths that link few of them.
"""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

from linforest_precond.backends import Backend
from linforest_precond.backends.annotations import Array
from linforest_precond.backends.array_libraries import xp_of
from linforest_precond.backends.returns import PivotFinding
from linforest_precond.distributed.tridiagonal.band_partition import BandPartition
from linforest_precond.precond.tridiagonal.segments import Triple, backend_of_bands
from linforest_precond.records.printing import numbers_of


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
        self.rows = lu_with_pivoting(self._gathered_bands())
        self.perturbed = perturbed + self.comm.total(0 if self.rows is None else self.rows.perturbed)

    def on(self, backend: Backend) -> GatheredPaths:
        """The same with the rows on a backend: collective."""
        found = copy.copy(self)
        lower, diagonal, upper = (backend.xp.asarray(band) for band in self._gathered_bands())
        found.rows = lu_with_pivoting((lower, diagonal, upper))
        return found

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
        solution = xp_of(x).empty(right.shape, x.dtype)
        if self.rows is not None:
            self.rows.solve(right, solution, None, transpose)
        x[...] = self._scattered(solution)

    def _gathered_bands(self) -> Triple:
        """The bands of the paths that start here."""
        size = self.partition.block_size

        def gathered(band: Array) -> Array:
            rows = self._gathered(band.reshape(band.shape[0] * size, *band.shape[2:]))
            return rows.reshape(rows.shape[0] // size, *band.shape[1:])

        lower, diagonal, upper = map(gathered, self.partition.bands)
        return lower, diagonal, upper

    def _gathered(self, values: Array) -> Array:
        """Values of the rows of the paths that start on this rank, from those of its own rows."""
        if not self.partition.cuts:
            return values
        first = sum(self.sent.values())
        found = self.comm.exchange_known({r: values[:first] for r in self.sent}, self.received, values)
        return xp_of(values).concatenate([values[first:], *(found[r] for r in self.received)])

    def _scattered(self, values: Array) -> Array:
        """Values of own rows, from those of the rows of the paths that start here."""
        if not self.partition.cuts:
            return values
        ends = np.cumsum([values.shape[0] - sum(self.received.values()), *self.received.values()]).tolist()
        parts = {r: values[start:end] for r, start, end in zip(self.received, ends, ends[1:])}
        found = self.comm.exchange_known(parts, self.sent, values)
        return xp_of(values).concatenate([*found.values(), values[: ends[0]]])


def lu_with_pivoting(bands: Triple) -> Any | None:
    """The LU factors of rows that are not coupled to others; None without rows."""
    lower, diagonal, upper = bands
    if not diagonal.shape[0]:
        return None
    rooms = backend_of_bands(bands).tridiagonal
    if diagonal.ndim == 3:
        inverse, report = rooms.pivots.factor(lower, diagonal, upper)
        # stall: part of the setup
        return rooms.pivoting.PivotedBlocks(*bands, inverse, numbers_of(report)[PivotFinding.PERTURBED])
    return rooms.pivoting.Pivoted(lower, diagonal, upper)
