"""How matrices are multiplied with the vectors of Krylov solvers, on the CPU."""

import numpy as np
from numba import prange
from scipy.sparse.linalg import LinearOperator

from ..matrix.row_shares import row_shares
from ..runtime.arrays import readonly
from ..runtime.jit import helper, kernel


class Operator:
    """How a matrix is multiplied with the columns of a vector: anything that knows `@`."""

    capturable = False

    def __init__(self, name, matrix):
        self.name = name
        self.matrix = np.asarray(matrix) if isinstance(matrix, np.ndarray) else matrix

    def into(self, space, source, target):
        """Write the product with vector `source` into vector `target`; both are given by name."""
        source, target = space[source], space[target]
        columns = target.shape[1]
        # Functions of users often know one-dimensional vectors alone.
        source = source[:, 0] if columns == 1 else source
        try:
            with np.errstate(over="ignore", invalid="ignore"):  # ends as a status
                result = np.asarray(self.matrix @ source)
        except ValueError as error:
            self._explain(source, error)
            raise
        if columns == 1 and result.ndim == 1:
            result = result.reshape(-1, 1)
        self._require(result.shape, target.shape)
        if result.dtype.kind == "c" and target.dtype.kind != "c":
            raise TypeError(f"{self.name} must give real vectors for a real system, got {result.dtype}")
        with np.errstate(over="ignore", invalid="ignore"):
            target[...] = result

    def _explain(self, source, error):
        """Name the shapes where it was the result's that a LinearOperator stumbled over."""
        if isinstance(self.matrix, LinearOperator):
            n = source.shape[0]
            shape = np.shape(self.matrix._matvec(source.reshape(n, -1)[:, 0]))
            self._require((n, 1) if shape == (n,) else shape, (n, 1), error)

    def _require(self, shape, expected, cause=None):
        if shape != expected:
            columns = expected[1]
            shapes = f"({expected[0]},)" if columns == 1 else str(expected)
            shape = shape[:1] if columns == 1 and shape[1:] == (1,) else shape
            raise ValueError(
                f"{self.name} must give a result of shape {shapes} for a vector of that shape, got {shape}"
            ) from cause


class Product(Operator):
    """How A is multiplied: a `CSR` record, or anything that knows `@`."""

    def __init__(self, A, dtype, is_csr):
        super().__init__("A", A)
        self.arrays = None
        if is_csr:
            starts = row_shares(A.indptr)
            self.arrays = tuple(readonly(array) for array in (starts, A.indptr, A.indices, A.data))
            self.one, self.many = multiply_column, multiply_columns
            if starts.size == 2:  # no threads are woken: none need to be guarded
                self.one, self.many = (getattr(each, "dispatcher", each) for each in (self.one, self.many))

    def into(self, space, source, target):
        if self.arrays is None:
            super().into(space, source, target)
            return
        multiply = self.one if space.columns == 1 else self.many
        multiply(*self.arrays, space.flat[source], space.flat[target], space.columns)


class Preconditioning(Operator):
    """How M is multiplied: in place where it can be, anything that knows `@`, or None."""

    def __init__(self, M, dtype, in_place):
        super().__init__("M", M)
        self.is_identity = M is None
        self._in_place = in_place and not (M.dtype.kind == "c" and np.dtype(dtype).kind != "c")

    def into(self, space, source, target):
        if self._in_place:
            self.matrix.apply_into(space[source], space[target], False)
        else:
            super().into(space, source, target)


# The product of a matrix and a vector; a thread takes rows with about so many entries.
@kernel(parallel=True)
def multiply_column(starts, indptr, indices, data, source, target, columns):
    parts = starts.size - 1
    if parts == 1:
        multiply_column_rows(0, starts[1], indptr, indices, data, source, target)
    else:
        for part in prange(parts):
            multiply_column_rows(starts[part], starts[part + 1], indptr, indices, data, source, target)


# Four entries at a time. Unsigned indices: the compiler need not ask whether they are negative.
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


# The same for all columns of a vector.
@kernel(parallel=True)
def multiply_columns(starts, indptr, indices, data, source, target, columns):
    parts = starts.size - 1
    if parts == 1:
        multiply_columns_rows(0, starts[1], indptr, indices, data, source, target, columns)
    else:
        for part in prange(parts):
            multiply_columns_rows(
                starts[part], starts[part + 1], indptr, indices, data, source, target, columns
            )


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
