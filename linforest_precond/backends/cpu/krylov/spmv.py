"""Products of matrices and preconditioners with the vectors of Krylov solvers, on the CPU."""

import functools

import numpy as np
from numba import prange
from scipy.sparse.linalg import LinearOperator

from ..matrix.sparse_products import row_shares
from ..runtime.arrays import readonly
from ..runtime.jit import helper, kernel, serial_version
from .residuals import Entries


class Operator:
    """A matrix or operator that is applied by its own `@`."""

    capturable = False  # in a CUDA graph

    def __init__(self, name, matrix):
        self.name = name
        self.matrix = np.asarray(matrix) if isinstance(matrix, np.ndarray) else matrix

    def into(self, space, source, target):
        """Write the product with vector `source` into vector `target`; both are given by name."""
        self.multiply(space[source], space[target])

    def multiply(self, source, target):
        """Write the product with the columns of `source` into `target`."""
        columns = target.shape[1]
        # Users' functions often take one-dimensional vectors only.
        source = source[:, 0] if columns == 1 else source
        try:
            with np.errstate(over="ignore", invalid="ignore"):  # reported as Status.NONFINITE
                result = np.asarray(self.matrix @ source)
        except ValueError as error:
            self._require_shape_of_matvec(source, error)
            raise
        if columns == 1 and result.ndim == 1:
            result = result.reshape(-1, 1)
        self._require_shape(result.shape, target.shape)
        if result.dtype.kind == "c" and target.dtype.kind != "c":
            raise TypeError(f"{self.name} must give real vectors for a real system, got {result.dtype}")
        with np.errstate(over="ignore", invalid="ignore"):
            target[...] = result

    def _require_shape_of_matvec(self, source, error):
        """Name the shapes where a LinearOperator failed because its function returned a wrong one."""
        if isinstance(self.matrix, LinearOperator):
            n = source.shape[0]
            shape = np.shape(self.matrix._matvec(source.reshape(n, -1)[:, 0]))
            self._require_shape((n, 1) if shape == (n,) else shape, (n, 1), error)

    def _require_shape(self, shape, expected, cause=None):
        if shape != expected:
            columns = expected[1]
            shapes = f"({expected[0]},)" if columns == 1 else str(expected)
            shape = shape[:1] if columns == 1 and shape[1:] == (1,) else shape
            raise ValueError(
                f"{self.name} must give a result of shape {shapes} for a vector of that shape, got {shape}"
            ) from cause


class Product(Operator):
    """Products with A: a `CSR` record by our own kernels, anything else by its `@`."""

    def __init__(self, A, dtype, is_csr):
        super().__init__("A", A)
        self.arrays = None
        if is_csr:
            starts = row_shares(A.indptr)
            self.arrays = tuple(readonly(array) for array in (starts, A.indptr, A.indices, A.data))
            self.one, self.many = multiply_column, multiply_columns
            if starts.size == 2:  # one share
                self.one, self.many = serial_version(self.one), serial_version(self.many)

    def into(self, space, source, target):
        if self.arrays is None:
            super().into(space, source, target)
            return
        multiply = self.one if space.columns == 1 else self.many
        multiply(*self.arrays, space.flat[source], space.flat[target], space.columns)

    @functools.cached_property
    def entries(self):
        """A's entries as residuals read them, over ranks too; None for another operator, which has none."""
        A = self.matrix
        if self.arrays is not None:
            return Entries(A.indptr, A.indices, A.data if A.given_data is None else A.given_data)
        return Entries.of_dense(A) if isinstance(A, np.ndarray) else getattr(A, "rank_entries", None)

    def residual(self, b, x, target):
        """Write b - A x into `target`, in twice the working precision unless A is an operator."""
        if self.entries is not None:
            self.entries.residual(b, x, target)
            return
        self.multiply(x, target)
        with np.errstate(all="ignore"):
            np.subtract(b, target, out=target)

    def magnitudes(self, x):
        """|A| |x| in double precision; None where A is an operator."""
        return None if self.entries is None else self.entries.magnitudes(x)


class Preconditioning(Operator):
    """Products with M: in place where M can, by its `@` otherwise; None is the identity."""

    def __init__(self, M, dtype, in_place):
        super().__init__("M", M.frozen() if in_place else M)  # others may update M meanwhile
        self.is_identity = M is None
        self._in_place = in_place and not (M.dtype.kind == "c" and np.dtype(dtype).kind != "c")

    def into(self, space, source, target):
        if self._in_place:
            self.matrix.apply_into(space[source], space[target], False)
        else:
            super().into(space, source, target)


# y = A x. The rows are split among threads by their entries (`row_shares`).
@kernel(parallel=True)
def multiply_column(starts, indptr, indices, data, source, target, columns):
    for part in prange(starts.size - 1):
        multiply_column_rows(starts[part], starts[part + 1], indptr, indices, data, source, target)


# Four entries at a time, for instruction-level parallelism. Unsigned indices need no check for negative ones.
@helper
def multiply_column_rows(first, end, indptr, indices, data, source, target):
    ends, target = indptr[first + 1 : end + 1], target[first:end]
    entry = np.uint64(indptr[first])
    for row in range(target.size):
        last = np.uint64(ends[row])
        total = target.dtype.type(0)
        while entry + np.uint64(4) <= last:
            total += (
                entry_product(indices, data, entry, source)
                + entry_product(indices, data, entry + np.uint64(1), source)
            ) + (
                entry_product(indices, data, entry + np.uint64(2), source)
                + entry_product(indices, data, entry + np.uint64(3), source)
            )
            entry += np.uint64(4)
        while entry < last:
            total += entry_product(indices, data, entry, source)
            entry += np.uint64(1)
        target[row] = total


@helper
def entry_product(indices, data, entry, source):
    return data[entry] * source[np.uint64(indices[entry])]


# Y = A X for several columns.
@kernel(parallel=True)
def multiply_columns(starts, indptr, indices, data, source, target, columns):
    for part in prange(starts.size - 1):
        multiply_columns_rows(starts[part], starts[part + 1], indptr, indices, data, source, target, columns)


@helper
def multiply_columns_rows(first, end, indptr, indices, data, source, target, columns):
    source, target = source.reshape(-1, columns), target.reshape(-1, columns)
    entry = np.uint64(indptr[first])
    for row in range(first, end):
        last = np.uint64(indptr[row + 1])
        target[row] = 0
        while entry < last:
            value, other = data[entry], np.uint64(indices[entry])
            for column in range(columns):
                target[row, column] += value * source[other, column]
            entry += np.uint64(1)


def multiply_in_order(rows, x):
    """The product of a CSR matrix with the columns of x; SciPy sums each row from first to last entry."""
    return rows @ x
