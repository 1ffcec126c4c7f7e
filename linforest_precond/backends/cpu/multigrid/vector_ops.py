"""Vector operations of multigrid cycles: sparse products fused with updates and dot products.

Vectors are contiguous (n, k) arrays, and nothing is allocated. Sums over vectors have a fixed order, for any
number of threads: within a chunk of rows, then over the chunks.
"""

import numpy as np
from numba import prange

from ..runtime.arrays import readonly
from ..runtime.jit import helper, kernel, serial_version

ROWS_AT_ONCE = 4096  # rows of a chunk
GOLDEN = np.uint32(2654435769)  # 2**32 over the golden ratio
MOST_COLUMNS = 256  # of a vector, as on the GPU; more would only need more work space

# The scalars of `KrylovSteps` for each column: the factors of both directions, and the first one's curvature.
FIRST, SECOND, CURVATURE = range(3)


class Matrix:
    """A sparse matrix of any shape, prepared for the functions here."""

    def __init__(self, indptr, indices, data, longest_row):
        self.rows, self.arrays = indptr.size - 1, tuple(map(readonly, (indptr, indices, data)))


class KrylovSteps:
    """The two Krylov steps of a K-cycle: the best combination of two directions c and d for A x = b.

    Flexible conjugate gradients where `definite`, which minimize the error in A's norm; otherwise GCR, which
    minimizes the norm of the residual. A second direction that depends on the first one gets the factor 0.
    """

    def __init__(self, rows, columns, dtype, definite):
        self.definite = definite
        wide = np.result_type(dtype, np.float64)
        self._partials = np.zeros((max(1, -(-rows // ROWS_AT_ONCE)), 3, columns), wide)
        self._scalars = np.zeros((3, columns), wide)

    def first_step(self, matrix, c, b, v, rest):
        """The factor of c; v = A c, and `rest` is the residual b - factor v."""
        sums, scalars = self._partials, self._scalars
        _run(multiply_first, c, *matrix.arrays, readonly(c), readonly(b), v, sums, self.definite)
        settle_first(sums, scalars)
        _run(subtract, v, scalars[FIRST], readonly(b), readonly(v), rest)

    def second_step(self, matrix, d, v, rest):
        """The factors of d and c, after d was orthogonalized against c."""
        sums = self._partials
        _run(
            multiply_second, d, *matrix.arrays, readonly(d), readonly(v), readonly(rest), sums, self.definite
        )
        settle_second(sums, self._scalars)

    def combine(self, c, d):
        """c = (factor of c) c + (factor of d) d."""
        _run(add_both, c, self._scalars, c, readonly(d))


def residual(matrix, b, x, r):
    """r = b - A x."""
    _run(find_residual, r, *matrix.arrays, readonly(b), readonly(x), r)


def scale_residual(matrix, weights, factor, b, x, r):
    """x = factor weights b and r = b - A x; b may be of double precision where x and r are not."""
    _run(scale_and_subtract, x, *matrix.arrays, readonly(weights), factor, readonly(b), x, r)


def relax(matrix, weights, b, x, y, momentum, factor):
    """y = x + momentum (x - y) + factor weights (b - A x); b and y may be of double precision."""
    _run(relax_rows, y, *matrix.arrays, readonly(weights), readonly(b), readonly(x), y, momentum, factor)


def multiply(matrix, x, y):
    """y = A x."""
    _run(multiply_rows, y, *matrix.arrays, readonly(x), y)


def multiply_add(matrix, x, y):
    """y += A x."""
    _run(multiply_rows_onto, y, *matrix.arrays, readonly(x), y)


def scale(weights, factor, b, x):
    """x = factor weights b, row by row."""
    _run(scale_rows, x, readonly(weights), factor, readonly(b), x)


def add(z, x):
    """x += z."""
    np.add(x, z, out=x)


class Center:
    """Subtracts the mean of each column."""

    def __init__(self, rows, columns, dtype):
        self._wide = np.result_type(dtype, np.float64)

    def apply(self, x):
        x -= x.mean(axis=0, dtype=self._wide).astype(x.dtype)


class DotProducts:
    """Real parts of `count` dot products of columns, in double precision, and steps by their ratios."""

    def __init__(self, dtype, count):
        self.values, self._wide = np.zeros(count), np.result_type(dtype, np.float64)

    def dot(self, number, u, v):
        """The product of u and v."""
        u, v = (x.ravel().astype(self._wide, copy=False) for x in (u, v))
        # By one thread, unlike np.vdot: those of OpenBLAS would spin afterwards.
        self.values[number] = np.einsum("i,i", u.conj(), v).real

    def multiply(self, number, matrix, x, y):
        """y = A x, and the product of x and y."""
        multiply(matrix, x, y)
        self.dot(number, x, y)

    def subtract(self, above, below, q, r):
        """r -= factor q, for the ratio of two products."""
        r -= self._ratio(above, below, r.dtype) * q

    def extend(self, above, below, z, p):
        """p = z + factor p, for the ratio of two products."""
        np.add(z, self._ratio(above, below, p.dtype) * p, out=p)

    def _ratio(self, above, below, dtype):
        return (self.values[above] / self.values[below]).astype(dtype)


def pseudorandom_vector(n, dtype, first=0):
    """A column of numbers between -1/2 and 1/2 by multiplicative hashing, the same on every device.

    Of a longer vector, the part from the row `first` on.
    """
    bits = np.arange(first + 1, first + n + 1).astype(np.uint32) * GOLDEN
    bits = (bits ^ (bits >> np.uint32(15))) * GOLDEN
    return (bits.astype(np.float64) / 2.0**32 - 0.5).astype(dtype).reshape(n, 1)


def clear(x):
    """x = 0."""
    x.fill(0)


def copy(source, target):
    """Copy (n, k) arrays of any strides; one of them may be of double precision."""
    target[...] = source


def multiply_dense(inverse, b, x):
    """x = inverse @ b."""
    np.matmul(inverse, b, out=x)


def _run(function, target, *arguments):
    """Call a parallel kernel, compiled without threads where there is one chunk."""
    if target.shape[0] <= ROWS_AT_ONCE:
        function = serial_version(function)
    function(*arguments)


@helper
def rows_of(chunk, vector):
    return range(chunk * ROWS_AT_ONCE, min((chunk + 1) * ROWS_AT_ONCE, vector.shape[0]))


@helper
def chunks_of(vector):
    return (vector.shape[0] + ROWS_AT_ONCE - 1) // ROWS_AT_ONCE


# The dot product of a row and a column of x.
@helper
def row_product(indptr, indices, data, row, x, column):
    total = x.dtype.type(0)
    for slot in range(np.uint64(indptr[row]), np.uint64(indptr[row + 1])):
        total += data[slot] * x[np.uint64(indices[slot]), column]
    return total


@kernel(parallel=True)
def find_residual(indptr, indices, data, b, x, r):
    for chunk in prange(chunks_of(r)):
        for row in rows_of(chunk, r):
            for column in range(r.shape[1]):
                r[row, column] = b[row, column] - row_product(indptr, indices, data, row, x, column)


# Products take x from b, so that no row waits for others.
@kernel(parallel=True)
def scale_and_subtract(indptr, indices, data, weights, factor, b, x, r):
    value = x.dtype.type
    by = value(factor)
    for chunk in prange(chunks_of(x)):
        for row in rows_of(chunk, x):
            for column in range(x.shape[1]):
                x[row, column] = weights[row] * by * value(b[row, column])
                product = value(0)
                for slot in range(np.uint64(indptr[row]), np.uint64(indptr[row + 1])):
                    other = np.uint64(indices[slot])
                    product += data[slot] * (weights[other] * by * value(b[other, column]))
                r[row, column] = value(b[row, column]) - product


@kernel(parallel=True)
def relax_rows(indptr, indices, data, weights, b, x, y, momentum, factor):
    for chunk in prange(chunks_of(y)):
        for row in rows_of(chunk, y):
            weight = weights[row] * factor
            for column in range(y.shape[1]):
                own = x[row, column]
                rest = b[row, column] - row_product(indptr, indices, data, row, x, column)
                new = own + weight * rest
                if momentum != 0.0:
                    new += momentum * (own - y[row, column])
                y[row, column] = new


@kernel(parallel=True)
def multiply_rows(indptr, indices, data, x, y):
    for chunk in prange(chunks_of(y)):
        for row in rows_of(chunk, y):
            for column in range(y.shape[1]):
                y[row, column] = row_product(indptr, indices, data, row, x, column)


@kernel(parallel=True)
def multiply_rows_onto(indptr, indices, data, x, y):
    for chunk in prange(chunks_of(y)):
        for row in rows_of(chunk, y):
            for column in range(y.shape[1]):
                y[row, column] += row_product(indptr, indices, data, row, x, column)


@kernel(parallel=True)
def scale_rows(weights, factor, b, x):
    for chunk in prange(chunks_of(x)):
        for row in rows_of(chunk, x):
            weight = weights[row] * factor
            for column in range(x.shape[1]):
                x[row, column] = weight * b[row, column]


# v = A c, and the dot products <t, v> and <t, b> of each chunk; t is c where A is definite, else v.
@kernel(parallel=True)
def multiply_first(indptr, indices, data, c, b, v, partials, definite):
    wide = partials.dtype.type
    for chunk in prange(chunks_of(v)):
        sums = partials[chunk]
        sums[:] = 0
        for row in rows_of(chunk, v):
            for column in range(v.shape[1]):
                product = row_product(indptr, indices, data, row, c, column)
                v[row, column] = product
                test = np.conj(wide(c[row, column])) if definite else np.conj(wide(product))
                sums[0, column] += test * wide(product)
                sums[1, column] += test * wide(b[row, column])


# The dot products <t, v>, <t, A d> and <t, rest> of each chunk; t is d where A is definite, else A d.
@kernel(parallel=True)
def multiply_second(indptr, indices, data, d, v, rest, partials, definite):
    wide = partials.dtype.type
    for chunk in prange(chunks_of(v)):
        sums = partials[chunk]
        sums[:] = 0
        for row in rows_of(chunk, v):
            for column in range(v.shape[1]):
                product = row_product(indptr, indices, data, row, d, column)
                test = np.conj(wide(d[row, column])) if definite else np.conj(wide(product))
                sums[0, column] += test * wide(v[row, column])
                sums[1, column] += test * wide(product)
                sums[2, column] += test * wide(rest[row, column])


# The sums of all rows' columns in each chunk.
@kernel(parallel=True)
def add_chunks(rows, sums):
    for chunk in prange(sums.shape[0]):
        for row in rows_of(chunk, rows):
            for column in range(rows.shape[1]):
                sums[chunk, column] += rows[row, column]


@kernel
def settle_first(partials, scalars):
    for column in range(scalars.shape[1]):
        curvature, along = partials[0, 0, column], partials[0, 1, column]
        for chunk in range(1, partials.shape[0]):
            curvature += partials[chunk, 0, column]
            along += partials[chunk, 1, column]
        usable = curvature.real > 0 and np.isfinite(curvature.real) and np.isfinite(along)
        scalars[FIRST, column] = along / curvature.real if usable else 1.0
        scalars[SECOND, column] = 0.0
        scalars[CURVATURE, column] = curvature.real if usable else 0.0


@kernel
def settle_second(partials, scalars):
    for column in range(scalars.shape[1]):
        mixed, curvature, along = partials[0, 0, column], partials[0, 1, column], partials[0, 2, column]
        for chunk in range(1, partials.shape[0]):
            mixed += partials[chunk, 0, column]
            curvature += partials[chunk, 1, column]
            along += partials[chunk, 2, column]
        first = scalars[CURVATURE, column].real
        if first == 0.0:
            continue
        left = curvature.real - (mixed.real * mixed.real + mixed.imag * mixed.imag) / first
        if left > 1e-14 * curvature.real:
            second = along / left
            factor = scalars[FIRST, column] - np.conj(mixed) * second / first
            if np.isfinite(second) and np.isfinite(factor):
                scalars[SECOND, column], scalars[FIRST, column] = second, factor


@kernel(parallel=True)
def subtract(factors, b, v, rest):
    for chunk in prange(chunks_of(v)):
        for row in rows_of(chunk, v):
            for column in range(v.shape[1]):
                rest[row, column] = b[row, column] - factors[column] * v[row, column]


@kernel(parallel=True)
def add_both(scalars, c, d):
    for chunk in prange(chunks_of(c)):
        for row in rows_of(chunk, c):
            for column in range(c.shape[1]):
                own = scalars[FIRST, column] * c[row, column]
                if scalars[SECOND, column] != 0.0:
                    own += scalars[SECOND, column] * d[row, column]
                c[row, column] = own
