"""Elimination with pivoting over ranks: interior unknowns first, then the Schur complement at the cuts.

A rank's rows of a nonsingular path may be singular. So the interface unknowns, a path's last one before and
its first one after each cut, are eliminated last, and all rows of a rank are candidates for the pivots of its
interior unknowns: their columns have entries in these rows only, and are linearly independent where those of
the whole matrix are. This is Gaussian elimination with partial pivoting of the whole matrix, with its columns
in another order: each rank eliminates its interior unknowns, and one or two equations in interface unknowns
are left for each cut.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from linforest_precond.backends import Backend
from linforest_precond.backends.annotations import Array
from linforest_precond.distributed.tridiagonal.band_partition import BandPartition
from linforest_precond.distributed.tridiagonal.gathered_paths import GatheredPaths, lu_with_pivoting
from linforest_precond.distributed.tridiagonal.reduced_system import BandedLU, entries_of_blocks, joined
from linforest_precond.precond.tridiagonal.segments import Triple, as_blocks


class InteriorElimination:
    """Rows of a path that crosses the cut before them (`left`), the one after them (`right`), or both."""

    def __init__(self, bands: Triple, left: bool, right: bool) -> None:
        lower, diagonal, upper = (as_blocks(band) for band in bands)
        rows, b = diagonal.shape[:2]
        self.left, self.right, self.block_size = left, right, b
        first, last = int(left), rows - int(right)  # a single row that crosses both cuts has one unknown
        last = max(first, last)
        self.inner = slice(first * b, last * b)  # the (scalar) rows numbered as the interior unknowns
        count = (last - first) * b
        below, above = (2 + first) * b - 1, (2 - first) * b - 1
        entries = _columns(lower, diagonal, upper, first, last)
        # M: the columns of the interior unknowns, completed to a square matrix.
        self.lu = BandedLU(entries, rows * b, below, above, diagonal.dtype, free=rows * b - count)
        # W: M^-1 times the columns of the interface unknowns; the last rows are the Schur complement's.
        columns = self.lu.solve(self._interface_columns(lower, diagonal, upper, first, last))
        self.columns, self.equations = columns[:count], columns[count:]

    @property
    def nbytes(self) -> int:
        return self.lu.nbytes + self.columns.nbytes + self.equations.nbytes

    def _interface_columns(self, lower: Array, diagonal: Array, upper: Array, first: int, last: int) -> Array:
        """Of the unknown before the rows, of own interface unknowns, and of the unknown after the rows."""
        rows, b = diagonal.shape[:2]
        unknowns = [-1] * self.left + [*range(first), *range(last, rows)] + [rows] * self.right
        columns = np.zeros((rows * b, len(unknowns) * b), diagonal.dtype)
        for k, j in enumerate(unknowns):
            for i, band in ((j + 1, lower), (j, diagonal), (j - 1, upper)):
                if 0 <= i < rows:
                    columns[i * b : (i + 1) * b, k * b : (k + 1) * b] = band[i]
        return columns

    def completed(self, partial: Array, unknowns: Array) -> Array:
        """The solution, from M^-1 b and the interface unknowns."""
        x = np.empty_like(partial)
        x[self.inner] = partial[: self.columns.shape[0]] - self.columns @ unknowns
        own = unknowns[self._own_unknowns(unknowns)]
        x[: self.inner.start] = own[: self.inner.start]
        x[self.inner.stop :] = own[self.inner.start :]
        return x

    def reduced_transposed(self, right: Array) -> Array:
        """This segment's part of the right-hand side of the transposed reduced system."""
        side = -(self.columns.T @ right[self.inner])
        own = np.concatenate([right[: self.inner.start], right[self.inner.stop :]])
        side[self._own_unknowns(side)] += own
        return side

    def completed_transposed(self, right: Array, unknowns: Array) -> Array:
        """The solution of the transposed system."""
        return self.lu.solve(np.concatenate([right[self.inner], unknowns]), transpose=True)

    def _own_unknowns(self, unknowns: Array) -> slice:
        """The own ones of the interface unknowns, without the neighbours'."""
        return slice(self.block_size * self.left, unknowns.shape[0] - self.block_size * self.right)


class LinkedSegment(NamedTuple):
    """A segment that crosses cuts, in the reduced system."""

    rank: int
    unknowns: slice  # its own ones, and its equations
    columns: slice  # the unknowns in its equations: own ones, and those before and after it
    rows: slice  # of its right-hand sides among those of all ranks
    places: slice  # the same for the transposed system
    equations: Array


class SchurComplement:
    """A rank's rows of a system that is solved with pivoting; `solve` is collective.

    `perturbed` is that of `GatheredPaths`, `unknowns` the number of rows of the reduced systems of all ranks.
    """

    def __init__(self, partition: BandPartition, perturbed: int) -> None:
        self.partition, self.comm, piece = partition, partition.comm, partition.piece
        self.dtype, self.block_size = partition.diagonal.dtype, partition.block_size
        first = piece.head if piece.left else 0
        end = piece.rows - (piece.tail if piece.right else 0)
        bands = partition.bands
        self.segments = [
            (self._rows(start, stop), InteriorElimination(_cut(bands, start, stop), left, right))
            for start, stop, left, right in piece.crossing
        ]
        # The segments that cross no cut.
        self.inside, self.closed = self._rows(first, end), lu_with_pivoting(_cut(bands, first, end))
        self._reduce(perturbed)

    def on(self, backend: Backend) -> GatheredPaths:
        """The system on another backend, where paths are gathered, whatever their lengths: collective."""
        return GatheredPaths(self.partition, self.perturbed).on(backend)

    def _rows(self, start: int, stop: int) -> slice:
        """The scalar rows of block rows."""
        return slice(start * self.block_size, max(start, stop) * self.block_size)

    def _reduce(self, perturbed: int) -> None:
        """Set up the reduced system of the segments that are linked to this rank's."""
        left_over = [(segment.left, segment.right, segment.equations) for _, segment in self.segments]
        self._take(self.comm.allgather(left_over))
        width, size = 3 * self.block_size - 1, self.linked[-1].unknowns.stop if self.linked else 0
        entries = [
            entries_of_blocks(np.array([each.unknowns.start, each.columns.start]), each.equations[None])
            for each in self.linked
        ]
        self.reduced = BandedLU(joined(entries), size, width, width, self.dtype) if size else None
        counts = [int(segment.lu.vanished.sum()) for _, segment in self.segments]
        counts += [] if self.closed is None else [int(self.closed.perturbed)]
        if self.reduced is not None:
            counts += [int(self.reduced.vanished[each.unknowns].sum()) for each in self._own()]
        rows = sum(equations.shape[0] for _, _, equations in left_over)
        vanished, self.unknowns = self.comm.totals(sum(counts), rows)
        self.perturbed = perturbed + vanished

    def _take(self, found: list[list[tuple[bool, bool, Array]]]) -> None:
        """Number the unknowns of the linked segments, in their order."""
        self.linked: list[LinkedSegment] = []
        # Rows of the right-hand sides of each rank, for the system and for the transposed one.
        self.lengths = [
            [sum(equations.shape[axis] for *_, equations in each) for each in found] for axis in range(2)
        ]
        linked, position, row, place = self.partition.linked, 0, 0, 0
        for i, piece in enumerate(self.partition.pieces):
            for left, right, equations in found[piece.rank]:
                rows, columns = equations.shape
                # Segments that cross the outer cuts of the linked pieces belong to other paths.
                if i in linked and (i > linked[0] or not left) and (i < linked[-1] or not right):
                    first = position - (self.block_size if left else 0)
                    ranges = (position, rows), (first, columns), (row, rows), (place, columns)
                    own, adjacent, sides, transposed = (slice(a, a + count) for a, count in ranges)
                    self.linked.append(LinkedSegment(piece.rank, own, adjacent, sides, transposed, equations))
                    position += rows
                row, place = row + rows, place + columns

    @property
    def coupling(self) -> str:
        """How crossing paths are solved, for print."""
        return f"{self.unknowns} unknowns in a reduced system"

    @property
    def numbers_sent(self) -> int:
        """Numbers that this rank sends for one right-hand side."""
        return sum(s.equations.shape[0] for _, s in self.segments) * (self.comm.size - 1)

    @property
    def nbytes_extra(self) -> int:
        """Bytes of the factors and of the columns at the cuts."""
        held = sum(segment.nbytes for _, segment in self.segments)
        held += 0 if self.closed is None else self.closed.nbytes_extra
        return held + (0 if self.reduced is None else self.reduced.nbytes)

    def solve(self, b: Array, x: Array, order: Array | None, transpose: bool) -> None:
        """Solve for the columns of b into x, of this rank's rows; `order` is None."""
        if self.closed is not None:
            self.closed.solve(b[self.inside], x[self.inside], None, transpose)
        if not self.partition.cuts:
            return
        right = [b[rows].astype(self.dtype, copy=False) for rows, _ in self.segments]
        one_way = self._transposed if transpose else self._plain
        for (rows, _), solution in zip(self.segments, one_way(right, b.shape[1])):
            x[rows] = solution

    def _plain(self, right: list[Array], columns: int) -> list[Array]:
        partial = [segment.lu.solve(part) for (_, segment), part in zip(self.segments, right)]
        sides = [part[segment.columns.shape[0] :] for part, (_, segment) in zip(partial, self.segments)]
        gathered = self._gathered(sides, columns, 0)
        if self.reduced is None:
            return []
        total = np.concatenate([gathered[each.rows] for each in self.linked])
        unknowns = self.reduced.solve(total)
        return [
            segment.completed(part, unknowns[each.columns])
            for part, each, (_, segment) in zip(partial, self._own(), self.segments)
        ]

    def _transposed(self, right: list[Array], columns: int) -> list[Array]:
        """A = diag(M) [I W; 0 R] in the order of elimination, so A^T x = b is solved from the right."""
        sides = [segment.reduced_transposed(part) for (_, segment), part in zip(self.segments, right)]
        gathered = self._gathered(sides, columns, 1)
        if self.reduced is None:
            return []
        total = np.zeros((self.reduced.exchanges.size, columns), self.dtype)
        for each in self.linked:
            total[each.columns] += gathered[each.places]
        found = self.reduced.solve(total, transpose=True)
        return [
            segment.completed_transposed(part, found[each.unknowns])
            for part, each, (_, segment) in zip(right, self._own(), self.segments)
        ]

    def _gathered(self, sides: list[Array], columns: int, axis: int) -> Array:
        """The right-hand sides of all ranks."""
        own = np.concatenate([np.empty((0, columns), self.dtype), *sides])
        return self.comm.allgather_known(own, self.lengths[axis])

    def _own(self) -> list[LinkedSegment]:
        return [each for each in self.linked if each.rank == self.comm.rank]


def _cut(bands: Triple, start: int, stop: int) -> Triple:
    lower, diagonal, upper = bands
    return lower[start:stop], diagonal[start:stop], upper[start:stop]


def _columns(lower: Array, diagonal: Array, upper: Array, first: int, last: int) -> Triple:
    """The entries of the columns of the (block) unknowns `first` to `last`, numbered from 0."""
    rows, b = diagonal.shape[:2]
    entries = []
    for step, band in ((-1, lower), (0, diagonal), (1, upper)):
        i = np.arange(max(0, first - step), max(0, first - step, min(rows, last - step)))
        entries.append(entries_of_blocks(np.stack([i, i + step - first]) * b, band[i]))
    return joined(entries)
