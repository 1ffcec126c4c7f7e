"""Solves with incomplete factors: exact substitution level by level, or Jacobi sweeps; the levels of rows."""

import numpy as np
from numba import prange

from ..matrix.entries import wide_pattern
from ..runtime.arrays import readonly
from ..runtime.jit import helper, kernel
from .incomplete_factors import CHUNK, PARALLEL_ROWS, by_levels

# The orders that `ordering="auto"` tries, of equal ones the first is taken; and what it predicts times by:
# bytes per second, and seconds of an iteration without products, of a launch, of a level in one launch.
ORDERS, TIMES = ("natural", "rcm", "forest"), (1e10, 1e-5, 0.0, 0.0)
# With at most this many levels, each has a launch.
MOST_LAUNCHES = 0


class Substitution:
    """Solves with (I + L) D (I + U).

    Row i of the triangles is row ``order[i]`` of the vectors. Level i has the rows from ``starts[i]`` to
    ``starts[i + 1]``. With `sweeps`, that number of Jacobi sweeps replaces each of the two substitutions.
    """

    def __init__(self, lower, inverse, upper, order, starts, sweeps):
        self._lower, self._upper = (tuple(map(readonly, triangle)) for triangle in (lower, upper))
        self._inverse, self._unscaled = readonly(inverse), readonly(inverse[:0])
        self._order, self._sweeps = order, sweeps
        self._starts = readonly(starts if sweeps is None else np.array([0, order.size], starts.dtype))
        self._backwards = readonly(self._starts[::-1].copy())

    def solve(self, b, x):
        """Write the solutions for the columns of b into x, which shares no memory with b."""
        z = b.take(self._order, axis=0)
        if self._sweeps is None:
            self._substitute(self._lower, self._unscaled, z, z, z)
            self._substitute(self._upper, self._inverse, z, z, z)
        else:
            z = self._relaxed(z)
        x[self._order] = z

    def _relaxed(self, b):
        z, new = b, np.empty_like(b)
        for _ in range(self._sweeps):
            self._substitute(self._lower, self._unscaled, b, z, new)
            z, new = new, np.empty_like(b) if z is b else z
        y = self._inverse[:, None] * z
        for _ in range(self._sweeps):
            self._substitute(self._upper, self._inverse, z, y, new)
            y, new = new, y
        return y

    def _substitute(self, triangle, scale, c, y, out):
        starts = self._backwards if triangle is self._upper else self._starts
        by_levels(substitute, self._starts)(starts, *triangle, scale, readonly(c), readonly(y), out)


# out = scale c - T y for the rows of all levels in turn; a scale of no entries is 1. With y and out the same
# array, this is substitution. The levels descend where `starts` do.
@kernel(parallel=True)
def substitute(starts, indptr, indices, data, scale, c, y, out):
    for level in range(starts.size - 1):
        one, other = np.int64(starts[level]), np.int64(starts[level + 1])
        begin, end = min(one, other), max(one, other)
        if end - begin < PARALLEL_ROWS:
            substitute_rows(indptr, indices, data, scale, c, y, out, begin, end)
        else:
            for chunk in prange((end - begin + CHUNK - 1) // CHUNK):
                first = begin + chunk * CHUNK
                substitute_rows(indptr, indices, data, scale, c, y, out, first, min(first + CHUNK, end))


# Called for many rows: passing the arrays takes longer than a row.
@helper
def substitute_rows(indptr, indices, data, scale, c, y, out, begin, end):
    for row in range(begin, end):
        for column in range(out.shape[1]):
            rest = c[row, column]
            if scale.size:
                rest = scale[row] * rest
            for slot in range(np.int64(indptr[row]), np.int64(indptr[row + 1])):
                rest -= data[slot] * y[indices[slot], column]
            out[row, column] = rest


def find_levels(pattern, order, rank, most):
    """The level of each vertex, one more than the highest of its neighbours before it in the order.

    The pattern is symmetric. None where there are more than `most` levels.
    """
    indptr, indices, _ = wide_pattern(pattern)
    levels = np.empty(pattern.n, np.int32)
    deeper = longest_paths(indptr, indices, readonly(order), readonly(rank), most, levels)
    return None if deeper else levels


# The longest path that ends at each vertex, of edges that lead to later ones; stops above `most` vertices.
@kernel
def longest_paths(indptr, indices, order, rank, most, levels):
    for place in range(order.size):
        vertex, level = order[place], np.int32(0)
        for slot in range(indptr[vertex], indptr[vertex + 1]):
            if rank[indices[slot]] < place:
                level = max(level, np.int32(levels[indices[slot]] + 1))
        levels[vertex] = level
        if level >= most:
            return True
    return False
