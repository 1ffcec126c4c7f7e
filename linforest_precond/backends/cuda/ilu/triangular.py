"""Solves with incomplete factors: substitution by levels or tiles, or Jacobi sweeps; the levels of rows."""

import math

import numpy as np

from linforest_precond.backends.workspaces import Workspaces

from ..runtime import BLOCK, INDICES, STORED_AND_APPLIED, Program, Struct, cupy, launch, launch_blocks
from ..runtime.streams import current

WARP = 32
# With more levels, one launch substitutes all rows, in tiles; with fewer, each level has a launch.
MOST_LAUNCHES = 16
# Colours have the fewest levels, and drop the most fill-in. Times on one H200.
ORDERS, TIMES = ("colors", "natural", "rcm", "forest"), (3e12, 3e-5, 2e-6, 1e-6)
MOST_BLOCKS = 16 * 1056
VECTORS_OF_SWEEPS = 3

TRIANGLE = Struct("Triangle", "ilu/triangular.cu")
VECTORS = Struct("StridedVectors", "ilu/triangular.cu")
NOTHING = VECTORS(at=None, order=None, row=0, column=0)
PROGRAM = Program("ilu/triangular", STORED_AND_APPLIED, same_bits=False, INDEX=INDICES)
SCHEDULE = Program("ilu/level_schedule", INDEX=INDICES)


class Substitution:
    def __init__(self, lower, inverse, upper, order, starts, sweeps):
        self._arrays, self._order, self._sweeps = (lower, inverse, upper), order, sweeps
        self._rows, self._dtype = order.size, inverse.dtype
        lanes = lanes_of_row(self._rows, lower[2].size + upper[2].size)
        self._lanes, self._pool, self._tiles = lanes, Workspaces(), None
        self._lower, self._upper = (
            TRIANGLE(indptr=triangle[0], indices=triangle[1], data=triangle[2], scale=scale, lanes=lanes)
            for triangle, scale in ((lower, None), (upper, inverse))
        )
        self._scaling = TRIANGLE(indptr=None, indices=None, data=None, scale=inverse, lanes=1)
        if sweeps is None:
            self._schedule(starts)

    def _schedule(self, starts):
        begins = starts.get()  # stall: the rows of each launch
        self._levels = list(zip(begins[:-1].tolist(), begins[1:].tolist()))
        if len(self._levels) > MOST_LAUNCHES:
            self._tiles = cupy.asarray(tiles_of(begins, WARP // self._lanes))

    def solve(self, b, x):
        if not b.size:
            return
        columns = b.shape[1]
        loan = self._pool.take((columns * b.itemsize, current()), lambda: self._work_space(columns, b.dtype))
        self._solve(strided(b, self._order), strided(x, self._order), columns, b.dtype, loan.workspace)
        self._pool.give_back(loan)

    def _work_space(self, columns, dtype):
        """The bytes of all work vectors, and the counters of tickets."""
        count = VECTORS_OF_SWEEPS if self._sweeps is not None else 1 if self._tiles is None else 2
        return cupy.empty((count, self._rows * columns * dtype.itemsize), np.uint8), cupy.zeros(2, np.uint32)

    def _solve(self, b, x, columns, dtype, work):
        vectors, tickets = work
        program = PROGRAM(VALUE=self._dtype, RESULT=dtype, INDEX=self._order)
        if self._sweeps is not None:
            self._relax(program, b, x, columns, vectors)
        elif self._tiles is None:
            self._substitute_levels(program, b, x, columns, vectors[0])
        else:
            self._substitute_tiles(program, b, x, columns, vectors, tickets)

    def _substitute_levels(self, program, b, x, columns, z):
        own = contiguous(z, columns)
        for level in self._levels:
            self._launch(program, self._lower, level, columns, b, z, z, NOTHING)
        for level in reversed(self._levels):
            self._launch(program, self._upper, level, columns, own, z, z, x)

    def _substitute_tiles(self, program, b, x, columns, vectors, tickets):
        z, y = vectors
        words, count = vectors.size // 4, self._tiles.size - 1
        launch(program.mark_pending, (vectors, words, tickets), items=words)
        for backward, triangle, c, target, copy in (
            (0, self._lower, b, z, NOTHING),
            (1, self._upper, contiguous(z, columns), y, x),
        ):
            arguments = triangle, self._tiles, count, backward, columns, c, target, copy, tickets[backward:]
            launch(program.substitute_tiles, arguments, items=count * WARP)

    def _relax(self, program, b, x, columns, vectors):
        """Jacobi sweeps from the right-hand side, then from the scaled result."""
        every = 0, self._rows
        z, new, y = vectors
        unscaled = TRIANGLE(indptr=None, indices=None, data=None, scale=None, lanes=1)
        self._launch(program, unscaled, every, columns, b, z, z, NOTHING)
        for _ in range(self._sweeps):
            self._launch(program, self._lower, every, columns, b, z, new, NOTHING)
            z, new = new, z
        self._launch(program, self._scaling, every, columns, contiguous(z, columns), y, y, x)
        for _ in range(self._sweeps):
            self._launch(program, self._upper, every, columns, contiguous(z, columns), y, new, x)
            y, new = new, y

    def _launch(self, program, triangle, rows, columns, c, y, out, copy):
        """out = scale c - T y for a range of rows, and a copy of it."""
        items = (rows[1] - rows[0]) * columns
        blocks = max(1, min(MOST_BLOCKS, -(-items * self._lanes // BLOCK)))
        launch_blocks(program.substitute_rows, blocks, (triangle, *rows, columns, c, y, out, copy))


def lanes_of_row(rows, entries):
    """Lanes per row of a triangle: about half the mean number of entries."""
    half = entries / max(rows, 1) / 4
    return min(WARP, 2 ** math.ceil(math.log2(max(half, 1))))


def tiles_of(starts, rows):
    """The first rows of the tiles, each of at most `rows` rows of one level, and the number of rows."""
    counts = -(-np.diff(starts) // rows)
    first = np.repeat(np.cumsum(counts) - counts, counts)
    begins = np.repeat(starts[:-1], counts) + rows * (np.arange(first.size) - first)
    return np.append(begins, starts[-1]).astype(starts.dtype)


def strided(array, order):
    """Vectors whose rows are numbered by `order`."""
    row, column = (stride // array.itemsize for stride in array.strides)
    return VECTORS(at=array, order=order, row=row, column=column)


def contiguous(vectors, columns):
    """Work vectors, with the rows of the triangles."""
    return VECTORS(at=vectors, order=None, row=columns, column=1)


def find_levels(pattern, order, rank, most):
    levels, words = cupy.full(pattern.n, -1, np.int32), cupy.zeros(2, np.uint32)
    arguments = pattern.indptr, pattern.indices, order, rank, pattern.n, most, levels, words
    launch(SCHEDULE(INDEX=pattern.indptr).find_levels, arguments, items=pattern.n * WARP)
    return None if words[1].item() else levels  # stall: the levels are of no use where there are too many
