"""A rank's rows of a path that crosses a cut, eliminated but for the unknowns at the cuts."""

from __future__ import annotations

import numpy as np

from linforest_precond.annotations import Array
from linforest_precond.distributed.tridiagonal.reduced_system import BandedLU, entries_of_blocks, joined
from linforest_precond.precond.tridiagonal.segments import Triple


class OpenSegment:
    """Rows of a path that crosses the cut before them (`left`), the one after them (`right`), or both.

    Attributes
    ----------
    inner : slice
        The (scalar) rows that have the numbers of the unknowns that are eliminated here.
    lu : BandedLU
        M: the columns of these unknowns, completed to a square matrix.
    columns : array
        W: M^-1 times the columns of the unknowns at the cuts: first the unknown before the rows, then own
        ones, then the one after the rows.
    equations : array
        The last rows of `columns`, without those of `inner`: what is left of the equations.
    """

    def __init__(self, bands: Triple, left: bool, right: bool) -> None:
        lower, diagonal, upper = (_as_blocks(band) for band in bands)
        rows, b = diagonal.shape[:2]
        self.left, self.right, self.block_size = left, right, b
        first, last = int(left), rows - int(right)  # a single row has one unknown, and not two
        last = max(first, last)
        self.inner = slice(first * b, last * b)
        count = (last - first) * b
        below, above = (2 + first) * b - 1, (2 - first) * b - 1
        entries = _columns(lower, diagonal, upper, first, last)
        self.lu = BandedLU(entries, rows * b, below, above, diagonal.dtype, free=rows * b - count)
        columns = self.lu.solve(self._outer(lower, diagonal, upper, first, last))
        self.columns, self.equations = columns[:count], columns[count:]

    @property
    def nbytes(self) -> int:
        return self.lu.nbytes + self.columns.nbytes + self.equations.nbytes

    def _outer(self, lower: Array, diagonal: Array, upper: Array, first: int, last: int) -> Array:
        """The columns of the unknowns at the cuts."""
        rows, b = diagonal.shape[:2]
        unknowns = [-1] * self.left + [*range(first), *range(last, rows)] + [rows] * self.right
        columns = np.zeros((rows * b, len(unknowns) * b), diagonal.dtype)
        for k, j in enumerate(unknowns):
            for i, band in ((j + 1, lower), (j, diagonal), (j - 1, upper)):
                if 0 <= i < rows:
                    columns[i * b : (i + 1) * b, k * b : (k + 1) * b] = band[i]
        return columns

    def completed(self, partial: Array, unknowns: Array) -> Array:
        """The solution, from M^-1 b and the unknowns at the cuts."""
        x = np.empty_like(partial)
        x[self.inner] = partial[: self.columns.shape[0]] - self.columns @ unknowns
        own = unknowns[self.block_size * self.left : unknowns.shape[0] - self.block_size * self.right]
        return self._placed(x, own)

    def reduced_transposed(self, right: Array) -> Array:
        """This segment's part of the right-hand side of the transposed reduced system."""
        side = -(self.columns.T @ right[self.inner])
        b = self.block_size
        side[b * self.left : side.shape[0] - b * self.right] += self._own(right)
        return side

    def completed_transposed(self, right: Array, unknowns: Array) -> Array:
        """The solution of the transposed system."""
        return self.lu.solve(np.concatenate([right[self.inner], unknowns]), transpose=True)

    def _own(self, x: Array) -> Array:
        """The rows with the numbers of own unknowns at cuts."""
        return np.concatenate([x[: self.inner.start], x[self.inner.stop :]])

    def _placed(self, x: Array, own: Array) -> Array:
        x[: self.inner.start] = own[: self.inner.start]
        x[self.inner.stop :] = own[self.inner.start :]
        return x


def _as_blocks(band: Array) -> Array:
    return band if band.ndim == 3 else band.reshape(-1, 1, 1)


def _columns(lower: Array, diagonal: Array, upper: Array, first: int, last: int) -> Triple:
    """The entries of the columns of the (block) unknowns `first` to `last`, numbered from 0."""
    rows, b = diagonal.shape[:2]
    entries = []
    for step, band in ((-1, lower), (0, diagonal), (1, upper)):
        i = np.arange(max(0, first - step), max(0, first - step, min(rows, last - step)))
        entries.append(entries_of_blocks(np.stack([i, i + step - first]) * b, band[i]))
    return joined(entries)
