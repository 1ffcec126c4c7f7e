"""Forward and backward substitution of the (block) Thomas algorithm, with stored inverse pivots.

And the vector update of the Chebyshev iteration, in which sweeps are the preconditioner.
"""

import numpy as np
from numba import prange

from ..runtime.arrays import readonly
from ..runtime.jit import helper, kernel, serial_version

SYMMETRIC_BANDS = 3  # that a sweep of a symmetric system reads
ROWS_AT_ONCE = 4096  # fewest rows of the part that a thread takes at a time
NO_ORDER = readonly(np.empty(0, np.int32))
ENTRIES_AT_ONCE = 4096


class Sweeps:
    """The factors of a (block) tridiagonal matrix: its couplings, and the inverses of its pivots.

    Where both couplings between two rows vanish, the system splits into independent parts, which threads
    solve in parallel.
    """

    nbytes_extra = 0

    def __init__(self, lower, inverse, upper, symmetric, report=None):
        self.lower, self.inverse, self.upper = (
            readonly(band.reshape(-1)) for band in (lower, inverse, upper)
        )
        self.block_size = inverse.shape[1] if inverse.ndim == 3 else 1
        self.starts = find_starts(self.lower, self.upper, inverse.shape[0])

    def keep_digits(self, diagonal):
        """Whether the solutions are about as accurate as those of elimination with pivoting."""
        if self.block_size > 1:
            return True
        n, most = diagonal.shape[0], most_growth(diagonal.dtype)
        lower, inverse, upper = self.lower, self.inverse, self.upper
        forward = largest_growth(lower, inverse, upper, 1, n - 1, 1, np.ones(2))
        return max(forward, largest_growth(upper, inverse, lower, n - 2, n - 1, -1, np.ones(2))) <= most

    def solve(self, b, x, order, transpose):
        """Solve for all columns of b into x; row i of the system is row order[i] of both."""
        if not (b.flags.c_contiguous and x.flags.c_contiguous):
            contiguous = np.empty(x.shape, x.dtype)
            self.solve(np.ascontiguousarray(b), contiguous, order, transpose)
            x[...] = contiguous
            return
        before, after = (self.upper, self.lower) if transpose else (self.lower, self.upper)
        order = NO_ORDER if order is None else readonly(order)
        arguments = before, self.inverse, after, transpose, self.starts, readonly(b), order, x
        if self.block_size > 1 and b.shape[1] == 1:
            sweep_block_column((0,) * self.block_size, *arguments)
        elif self.block_size > 1:
            sweep_blocks(self.block_size, *arguments)
        elif b.shape[1] == 1:
            sweep_column(*arguments)
        else:
            sweep_columns(*arguments)


def most_growth(dtype):
    """Rounding errors that grow by more than this cost half the digits. (Blocks have no cheap bound.)"""
    return np.finfo(dtype).eps ** -0.5


def find_starts(lower, upper, n):
    """The first rows of independent parts, each of at least `ROWS_AT_ONCE` rows, and the number of rows."""
    starts = np.empty(n // ROWS_AT_ONCE + 2, np.int64)
    shape = (n, -1) if n else (0, 1)
    count = find_cuts(lower.reshape(shape), upper.reshape(shape), starts)
    return readonly(starts[: count + 1].copy())


@kernel(parallel=False)
def find_cuts(lower, upper, starts):
    n = lower.shape[0]
    starts[0] = 0
    count = 0
    row = ROWS_AT_ONCE
    while row < n:
        if is_zero(lower, row) and is_zero(upper, row - 1):
            count += 1
            starts[count] = row
            row += ROWS_AT_ONCE
        else:
            row += 1
    count += n > 0
    starts[count] = n
    return count


@helper
def is_zero(band, i):
    for k in range(band.shape[1]):
        if band[i, k] != 0:
            return False
    return True


# The largest growth factor of a rounding error in a sweep over some rows, forward (step 1) or backward (-1).
# `state` holds the factors in the row before these, of the matrix and of its transpose, then in the last one.
@kernel(parallel=False)
def largest_growth(before, inverse, after, first, count, step, state):
    plain, transposed, most = state[0], state[1], 1.0
    for k in range(count):
        i = first + k * step
        plain = max(1.0, plain * product_size(inverse[i], before[i]))
        transposed = max(1.0, transposed * product_size(inverse[i], after[i - step]))
        most = max(most, max(plain, transposed))
    state[0], state[1] = plain, transposed
    return most


@helper
def product_size(x, y):
    return np.float64(abs(x)) * np.float64(abs(y))


# One right-hand side. The products with the inverse pivots do not depend on the previous row: they are off
# the critical path.
@kernel(parallel=True)
def sweep_column(before, inverse, after, transpose, starts, b, order, x):
    shift = 1 if transpose else 0
    ordered = order.size > 0
    for part in prange(starts.size - 1):
        first, end = starts[part], starts[part + 1]
        place = np.int64(order[first]) if ordered else first
        value = inverse[first] * inverse.dtype.type(b[place, 0])
        x[place, 0] = value
        for i in range(first + 1, end):
            place = np.int64(order[i]) if ordered else i
            w = inverse[i]
            value = w * inverse.dtype.type(b[place, 0]) - (w * before[i - shift]) * value
            x[place, 0] = value
        for i in range(end - 2, first - 1, -1):
            place = np.int64(order[i]) if ordered else i
            value = inverse.dtype.type(x[place, 0]) - (inverse[i] * after[i + shift]) * value
            x[place, 0] = value


# Several right-hand sides, row by row.
@kernel(parallel=True)
def sweep_columns(before, inverse, after, transpose, starts, b, order, x):
    shift = 1 if transpose else 0
    ordered = order.size > 0
    for part in prange(starts.size - 1):
        first, end = starts[part], starts[part + 1]
        values = np.zeros(b.shape[1], inverse.dtype)
        for i in range(first, end):
            place = np.int64(order[i]) if ordered else i
            w = inverse[i]
            factor = w * before[i - shift] if i > first else w * 0
            for c in range(values.size):
                value = w * inverse.dtype.type(b[place, c]) - factor * values[c]
                x[place, c] = values[c] = value
        for i in range(end - 2, first - 1, -1):
            place = np.int64(order[i]) if ordered else i
            factor = inverse[i] * after[i + shift]
            for c in range(values.size):
                value = inverse.dtype.type(x[place, c]) - factor * values[c]
                x[place, c] = values[c] = value


# Block rows, one right-hand side. `rows` has as many elements as a block has rows: the length of a tuple is
# known to the compiler, which unrolls the loops. A ghost row has place -1: its right-hand side is 0, and its
# solution is dropped.
@kernel(parallel=True)
def sweep_block_column(rows, before, inverse, after, transpose, starts, b, order, x):
    size, shift = len(rows), 1 if transpose else 0
    for part in prange(starts.size - 1):
        first, end = starts[part], starts[part + 1]
        values, right = np.zeros(size, inverse.dtype), np.zeros(size, inverse.dtype)
        for i in range(first, end):
            for r in range(size):
                place = place_of(order, i * size + r)
                right[r] = inverse.dtype.type(b[place, 0]) if place >= 0 else inverse[0] * 0
            if i > first:
                for r in range(size):
                    right[r] -= row_product(before, i - shift, r, transpose, values, rows)
            for r in range(size):
                values[r] = row_product(inverse, i, r, transpose, right, rows)
                place = place_of(order, i * size + r)
                if place >= 0:
                    x[place, 0] = values[r]
        for i in range(end - 2, first - 1, -1):
            for r in range(size):
                right[r] = row_product(after, i + shift, r, transpose, values, rows)
            for r in range(size):
                place = place_of(order, i * size + r)
                value = inverse.dtype.type(x[place, 0]) if place >= 0 else inverse[0] * 0
                values[r] = value - row_product(inverse, i, r, transpose, right, rows)
                if place >= 0:
                    x[place, 0] = values[r]


# Row r of block i, or of its transpose, times a column.
@helper
def row_product(blocks, i, r, transpose, column, rows):
    size = len(rows)
    start, step = (i * size * size + r, size) if transpose else ((i * size + r) * size, 1)
    total = blocks[start] * column[0]
    for k in range(1, size):
        total += blocks[start + k * step] * column[k]
    return total


# Block rows, several right-hand sides.
@kernel(parallel=True)
def sweep_blocks(block_size, before, inverse, after, transpose, starts, b, order, x):
    shift = 1 if transpose else 0
    for part in prange(starts.size - 1):
        first, end = starts[part], starts[part + 1]
        values, right = (
            np.zeros((block_size, b.shape[1]), inverse.dtype),
            np.zeros((block_size, b.shape[1]), inverse.dtype),
        )
        for i in range(first, end):
            for r in range(block_size):
                place = place_of(order, i * block_size + r)
                for c in range(values.shape[1]):
                    value = inverse.dtype.type(b[place, c]) if place >= 0 else inverse[0] * 0
                    if i > first:
                        value -= product(before, i - shift, r, transpose, values, c)
                    right[r, c] = value
            for r in range(block_size):
                place = place_of(order, i * block_size + r)
                for c in range(values.shape[1]):
                    values[r, c] = product(inverse, i, r, transpose, right, c)
                    if place >= 0:
                        x[place, c] = values[r, c]
        for i in range(end - 2, first - 1, -1):
            for r in range(block_size):
                for c in range(values.shape[1]):
                    right[r, c] = product(after, i + shift, r, transpose, values, c)
            for r in range(block_size):
                place = place_of(order, i * block_size + r)
                for c in range(values.shape[1]):
                    value = inverse.dtype.type(x[place, c]) if place >= 0 else inverse[0] * 0
                    values[r, c] = value - product(inverse, i, r, transpose, right, c)
                    if place >= 0:
                        x[place, c] = values[r, c]


@helper
def place_of(order, row):
    return np.int64(order[row]) if order.size > 0 else np.int64(row)


# Row r of block i, or of its transpose, times column c.
@helper
def product(blocks, i, r, transpose, columns, c):
    b = columns.shape[0]
    start, step = (i * b * b + r, b) if transpose else ((i * b + r) * b, 1)
    total = blocks[start] * columns[0, c]
    for k in range(1, b):
        total += blocks[start + k * step] * columns[k, c]
    return total


def extrapolate(x, z, y, momentum, factor):
    """y = x + momentum (x - y) + factor z."""
    function = extrapolate_entries if y.size > ENTRIES_AT_ONCE else serial_version(extrapolate_entries)
    function(readonly(x.reshape(-1)), readonly(z.reshape(-1)), y.reshape(-1), float(momentum), float(factor))


@kernel(parallel=True)
def extrapolate_entries(x, z, y, momentum, factor):
    for i in prange(y.size):
        value = x[i] + factor * z[i]
        if momentum != 0.0:
            value += momentum * (x[i] - y[i])
        y[i] = value
