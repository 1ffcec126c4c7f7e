"""Solves with incomplete factors: exact substitution level by level, or Jacobi sweeps."""

import numpy as np
from numba import prange

from ..runtime.arrays import readonly
from ..runtime.jit import helper, kernel
from .incomplete_factors import CHUNK, PARALLEL_ROWS, by_levels


class Substitution:
    """Solves with (I + L) D (I + U).

    Row i of the triangles is row ``order[i]`` of the vectors, and columns are numbered as in the vectors.
    Level i has the rows from ``starts[i]`` to ``starts[i + 1]``. With `sweeps`, so many Jacobi sweeps replace
    each of the two substitutions.
    """

    def __init__(self, lower, inverse, upper, order, starts, sweeps):
        self._lower, self._upper = (tuple(map(readonly, (*triangle, order))) for triangle in (lower, upper))
        self._inverse, self._unscaled = readonly(inverse), readonly(inverse[:0])
        self._sweeps = sweeps
        self._starts = readonly(starts if sweeps is None else np.array([0, order.size], starts.dtype))
        self._backwards = readonly(self._starts[::-1].copy())

    def solve(self, b, x):
        """Write the solutions for the columns of b into x, which shares no memory with b."""
        target = x if x.flags.c_contiguous else np.empty(x.shape, x.dtype)
        self._solve(np.ascontiguousarray(b), target)
        if target is not x:
            x[...] = target

    def _solve(self, b, x):
        if self._sweeps is None:
            self._substitute(self._lower, self._unscaled, b, x, x)
            self._substitute(self._upper, self._inverse, x, x, x)
            return
        z, spare = b, np.empty_like(x)
        for _ in range(self._sweeps):
            new = np.empty_like(x)
            self._substitute(self._lower, self._unscaled, b, z, new)
            z = new
        # The last sweep writes to x.
        y, other = (x, spare) if self._sweeps % 2 == 0 else (spare, x)
        np.multiply(self._inverse_of_vectors(), z, out=y)
        for _ in range(self._sweeps):
            self._substitute(self._upper, self._inverse, z, y, other)
            y, other = other, y

    def _inverse_of_vectors(self):
        """The inverse pivots in the order of the vectors."""
        inverse = np.empty_like(self._inverse)
        inverse[self._lower[3]] = self._inverse
        return inverse[:, None]

    def _substitute(self, triangle, scale, c, y, out):
        backward = triangle is self._upper
        starts = self._backwards if backward else self._starts
        arguments = starts, *triangle, scale, readonly(c), readonly(y), out
        by_levels(substitute, self._starts)(*arguments)


# out = scale c - T y for the rows of all levels in turn; a scale of no entries is 1. With y and out the same
# array, this is substitution. The levels descend where `starts` do.
@kernel(parallel=True)
def substitute(starts, indptr, indices, data, order, scale, c, y, out):
    for level in range(starts.size - 1):
        one, other = np.int64(starts[level]), np.int64(starts[level + 1])
        begin, end = min(one, other), max(one, other)
        if end - begin < PARALLEL_ROWS:
            for row in range(begin, end):
                substitute_row(indptr, indices, data, order, scale, c, y, out, row)
        else:
            for chunk in prange((end - begin + CHUNK - 1) // CHUNK):
                first = begin + chunk * CHUNK
                for row in range(first, min(first + CHUNK, end)):
                    substitute_row(indptr, indices, data, order, scale, c, y, out, row)


@helper
def substitute_row(indptr, indices, data, order, scale, c, y, out, row):
    target = order[row]
    for column in range(out.shape[1]):
        rest = c[target, column]
        if scale.size:
            rest = scale[row] * rest
        for slot in range(indptr[row], indptr[row + 1]):
            rest -= data[slot] * y[indices[slot], column]
        out[target, column] = rest
