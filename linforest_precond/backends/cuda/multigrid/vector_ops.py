"""Vector operations of multigrid cycles: sparse products fused with updates and dot products.

Vectors are contiguous (n, k) arrays. Nothing is allocated and nothing read back: CUDA graphs can capture a
cycle.
"""

import functools
import math

import numpy as np

from ..matrix.long_row_split import LONGEST_ROW
from ..runtime import INDICES, VALUES, Program, Struct, address, cupy, launch_blocks, wide_type
from ..runtime.grid_sums import LARGEST_GRID, THREADS, sums_of

# The constants and the structs of vector_ops.cu.
SCALARS = 3
SUMS_AT_ONCE = 3
# The most columns of a vector: a thread keeps to one column.
MOST_COLUMNS = THREADS
MATRIX = Struct("Matrix", "multigrid/vector_ops.cu")
# CSR-Stream multiplies MANY_ROWS rows (they fill the device) of at most MEDIUM_ROWS entries on average.
MANY_ROWS, MEDIUM_ROWS = 2**17, 16
# Blocks of a product without sums: many times the resident ones, so that multiprocessors finish together.
MOST_BLOCKS = 16 * LARGEST_GRID
WARP = 32
INT32 = np.dtype(np.int32)
STRIDED = Struct("Strided", "multigrid/vector_ops.cu")
PROGRAM = Program(
    "multigrid/vector_ops",
    same_bits=False,
    VALUE=VALUES,
    WIDE=wide_type,
    BLOCK=1,
    INDEX=INDICES,
    TEAMS=(0, 1),
)


class Matrix:
    """A sparse matrix of any shape, prepared for the functions here; `longest_row` is None if not known."""

    def __init__(self, indptr, indices, data, longest_row):
        self.rows, self._held = indptr.size - 1, (indptr, indices, data)
        if longest_row is None:
            # stall: chooses the kernel, of large matrices alone
            longest_row = int(cupy.diff(indptr).max()) if may_stream(self.rows, data.size) else 0
        lanes = lanes_of_row(self.rows, data.size, longest_row)
        self.program = _program(data.dtype, indices.dtype, int(lanes > 1))
        self.struct = MATRIX(indptr=indptr, indices=indices, data=data, rows=self.rows, lanes=lanes)
        self._rows_at_once = THREADS // lanes

    def launch(self, name, columns, *arguments, most=MOST_BLOCKS):
        """Launch a kernel on at most `most` blocks."""
        rows_at_once = self._rows_at_once if columns == 1 else max(1, THREADS // columns)
        blocks = max(1, min(most, -(-self.rows // rows_at_once)))
        launch_blocks(getattr(self.program, name), blocks, (self.struct, *arguments), block=THREADS)


def may_stream(rows, entries):
    """Whether CSR-Stream pays, where no row is long."""
    return rows >= MANY_ROWS and entries <= MEDIUM_ROWS * rows


def lanes_of_row(rows, entries, longest_row):
    """The lanes of a warp that multiply a row together, for one column; 1 for CSR-Stream.

    About half the mean row length. On small matrices a product is latency-bound: teams have a higher
    occupancy than a thread per row. Long rows are left to whole warps.
    """
    if may_stream(rows, entries) and longest_row <= LONGEST_ROW:
        return 1
    half = entries / max(rows, 1) / 2
    return min(WARP, 2 ** math.ceil(math.log2(max(half, 2))))


class KrylovSteps:
    def __init__(self, rows, columns, dtype, definite):
        self._definite, self._scalars = np.int32(definite), cupy.zeros((SCALARS, columns), wide_type(dtype))
        self._sums, self._held = sums_of(columns, SUMS_AT_ONCE, wide_type(dtype))
        self._rows, self._columns = rows, np.int32(columns)
        self._program = _program(dtype)

    def first_step(self, matrix, c, b, v, rest):
        arguments = self._sums, c, b, v, self._definite, self._scalars
        matrix.launch("first_step", c.shape[1], *arguments, most=LARGEST_GRID)
        _launch_entries(self._program.subtract, v, (self._rows, self._columns, self._scalars, b, v, rest))

    def second_step(self, matrix, d, v, rest):
        arguments = self._sums, d, v, rest, self._definite, self._scalars
        matrix.launch("second_step", d.shape[1], *arguments, most=LARGEST_GRID)

    def combine(self, c, d):
        _launch_entries(self._program.combine, c, (self._rows, self._columns, self._scalars, c, d))


class Center:
    def __init__(self, rows, columns, dtype):
        self._sums, self._held = sums_of(columns, SUMS_AT_ONCE, wide_type(dtype))
        self._means = cupy.zeros(columns, wide_type(dtype))
        self._rows, self._columns = rows, np.int32(columns)
        self._program = _program(dtype)

    def apply(self, x):
        _launch_entries(self._program.find_means, x, (self._rows, self._sums, x, self._means))
        _launch_entries(self._program.subtract_means, x, (self._rows, self._columns, self._means, x))


class DotProducts:
    """Real parts of dot products of columns, in double precision, and steps whose factors are their ratios.

    `values` are the `count` products by number.
    """

    def __init__(self, dtype, count):
        self._sums, self._held = sums_of(1, 1, wide_type(dtype))
        self.values, self._program = cupy.empty(count), _program(dtype)
        self._at = [address(self.values) + 8 * number for number in range(count)]

    def dot(self, number, u, v):
        _launch_entries(self._program.dot, u, (u.size, self._sums, u, v, self._at[number]))

    def multiply(self, number, matrix, x, y):
        matrix.launch("multiply_dot", 1, self._sums, x, y, self._at[number], most=LARGEST_GRID)

    def subtract(self, above, below, q, r):
        arguments = r.size, self._at[above], self._at[below], q, r
        _launch_entries(self._program.subtract_multiple, r, arguments)

    def extend(self, above, below, z, p):
        arguments = p.size, self._at[above], self._at[below], z, p
        _launch_entries(self._program.extend, p, arguments)


def pseudorandom_vector(n, dtype, first=0):
    x = cupy.empty((n, 1), dtype)
    _launch_entries(_program(dtype).fill_pseudorandom, x, (n, first, x))
    return x


def residual(matrix, b, x, r):
    matrix.launch("find_residual", x.shape[1], np.int32(x.shape[1]), b, x, r)


def scale_residual(matrix, weights, factor, b, x, r):
    columns = x.shape[1]
    kernel = "scale_residual" if b.dtype == x.dtype else "scale_residual_wide"
    matrix.launch(kernel, columns, np.int32(columns), weights, float(factor), b, x, r)


def relax(matrix, weights, b, x, y, momentum, factor):
    columns = x.shape[1]
    kernel = "relax" if y.dtype == x.dtype else "relax_wide"
    matrix.launch(kernel, columns, np.int32(columns), weights, b, x, y, float(momentum), float(factor))


def multiply(matrix, x, y):
    matrix.launch("multiply", x.shape[1], np.int32(x.shape[1]), x, y, np.int32(0))


def multiply_add(matrix, x, y):
    matrix.launch("multiply", x.shape[1], np.int32(x.shape[1]), x, y, np.int32(1))


def scale(weights, factor, b, x):
    rows, columns = x.shape
    arguments = weights, float(factor), rows, np.int32(columns), b, x
    _launch_entries(_program(x.dtype).scale, x, arguments)


def add(z, x):
    _launch_entries(_program(x.dtype).add, x, (x.size, z, x))


def clear(x):
    _launch_entries(_program(x.dtype).clear, x, (x.size, x))


def copy(source, target):
    narrow = min(source.dtype, target.dtype, key=lambda dtype: dtype.itemsize)
    rows, columns = source.shape
    both = (_strided(array, narrow) for array in (source, target))
    _launch_entries(_program(narrow).copy, source, (rows, np.int32(columns), *both))


def multiply_dense(inverse, b, x):
    rows, columns = x.shape
    _launch(_program(x.dtype).multiply_dense, rows, (inverse, rows, np.int32(columns), b, x))


@functools.cache
def _program(value, index=INT32, teams=1):
    return PROGRAM(VALUE=value, INDEX=index, TEAMS=teams)


def _launch(kernel, blocks, arguments):
    launch_blocks(kernel, max(1, min(LARGEST_GRID, blocks)), arguments, block=THREADS)


def _launch_entries(kernel, vector, arguments):
    _launch(kernel, -(-vector.size // THREADS), arguments)


def _strided(array, narrow):
    row, column = (stride // array.itemsize for stride in array.strides)
    return STRIDED(at=array, wide=int(array.dtype != narrow), row=row, column=column)
