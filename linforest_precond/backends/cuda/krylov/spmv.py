"""Products of matrices and preconditioners with the vectors of Krylov solvers, on the device."""

import functools

import numpy as np

from ..matrix.long_row_split import LONGEST_ROW, PIECE, split_long_rows
from ..runtime import INDICES, VALUES, Program, cupy, launch, launch_blocks, wide_type
from ..runtime.grid_sums import LARGEST_GRID, THREADS
from .residuals import Entries

# Blocks of a product without sums: many times the resident ones, so that multiprocessors finish together.
MOST_BLOCKS = 8 * LARGEST_GRID
WARPS = THREADS // 32  # of a block
PROGRAM = Program(
    "krylov/spmv", same_bits=False, VALUE=VALUES, WIDE=wide_type, BLOCK=1, INDEX=INDICES, PIECE=PIECE
)
ORDERED = Program("krylov/ordered_rows", VALUE=VALUES, BLOCK=1, INDEX=INDICES)


class Operator:
    capturable = False  # in a CUDA graph

    def __init__(self, name, matrix):
        self.name, self.matrix = name, matrix

    def into(self, space, source, target):
        self.multiply(space[source], space[target])

    def multiply(self, source, target):
        one = source.shape[1] == 1
        product = self.matrix @ (source[:, 0] if one else source)
        if not isinstance(product, cupy.ndarray):
            raise TypeError(f"{self.name} must give arrays of CuPy, got a {type(product).__name__}")
        if product.shape != target.shape and not (one and product.shape == target.shape[:1]):
            raise ValueError(
                f"{self.name} @ vector must have the shape {(target.shape[0],) if one else target.shape}, "
                f"got {product.shape}"
            )
        if product.dtype.kind == "c" and target.dtype.kind != "c":
            raise TypeError(f"{self.name} must give real vectors for a real system, got {product.dtype}")
        target[...] = product.reshape(target.shape)


class Product(Operator):
    """Only our own kernels are capturable: CuPy refuses to capture cuSPARSE's calls."""

    def __init__(self, A, dtype, is_csr):
        super().__init__("A", A)
        self.own = self.capturable = is_csr
        if not is_csr:
            return
        self._csr = A.indptr, A.indices, A.data.astype(dtype, copy=False)
        self._long_rows = split_long_rows(A.indptr, A.indices.size, A.longest_row, PIECE, LONGEST_ROW)
        self._partials = cupy.empty(self._long_rows.most_pieces, dtype)
        self._program = PROGRAM(VALUE=dtype, INDEX=A.indices)

    def into(self, space, source, target):
        if not self.own:
            super().into(space, source, target)
            return
        x, y = space[source], space[target]
        if space.columns == 1:
            self._multiply_one_column(space, x, y)
        elif self._long_rows.counts is None:
            space.launch(self._program.multiply_columns, *self._csr, x, y)
        else:
            # cuSPARSE's products with several columns differ from run to run.
            for column in range(space.columns):
                own, product = cupy.ascontiguousarray(x[:, column]), cupy.empty(x.shape[0], x.dtype)
                self._multiply_one_column(space, own, product)
                y[:, column] = product

    @functools.cached_property
    def entries(self):
        A = self.matrix
        if self.own:
            return Entries(A.indptr, A.indices, A.data if A.given_data is None else A.given_data)
        return Entries.of_dense(A) if isinstance(A, cupy.ndarray) else getattr(A, "rank_entries", None)

    def residual(self, b, x, target):
        if self.entries is not None:
            self.entries.residual(b, x, target)
            return
        self.multiply(x, target)
        cupy.subtract(b, target, out=target)

    def magnitudes(self, x):
        return None if self.entries is None else self.entries.magnitudes(x)

    def _multiply_one_column(self, space, x, y):
        self._multiply_long_rows(space, x, y)
        space.launch_rows(self._program.multiply_plain, MOST_BLOCKS, *self._csr, x, y)

    def into_with_sums(self, space, source, target, step, pairs):
        """The same for one column by our own kernels, fused with the inner products and the scalar step."""
        kernel = self._program.multiply_one if len(pairs) == 1 else self._program.multiply_two
        (other,) = {name for name in pairs[0] if name != target}
        self._multiply_long_rows(space, space[source], space[target])
        vectors = space[source], space[target], space[other]
        space.launch_rows(kernel, LARGEST_GRID, *self._csr, *vectors, step)

    def _multiply_long_rows(self, space, x, y):
        """Write the entries of y = A x that belong to long rows."""
        rows, program = self._long_rows, self._program
        if rows.counts is None:
            return
        arguments = *self._csr, rows.struct, x, self._partials
        blocks = min(LARGEST_GRID, max(1, rows.most_pieces // WARPS))
        launch_blocks(program.multiply_pieces, blocks, (space.struct, *arguments), block=THREADS)
        blocks = min(LARGEST_GRID, max(1, rows.most_rows // WARPS))
        arguments = self._csr[0], rows.struct, self._partials, y
        launch_blocks(program.sum_pieces, blocks, arguments, block=THREADS)


class Preconditioning(Operator):
    def __init__(self, M, dtype, in_place):
        super().__init__("M", M.frozen() if in_place else M)  # others may update M meanwhile
        self.is_identity = M is None
        self._in_place = (
            in_place
            and np.promote_types(dtype, M.dtype) == dtype
            and dtype.itemsize >= M.stored_dtype.itemsize
        )
        self.capturable = self.is_identity or (self._in_place and M.capturable)

    def into(self, space, source, target):
        if self._in_place:
            self.matrix.apply_into(space[source], space[target], False)
        else:
            super().into(space, source, target)


def multiply_in_order(rows, x):
    """The product of a CSR matrix, which need not be square, with the columns of x.

    cuSPARSE would choose the order of a sum by the shape of the whole matrix.
    """
    dtype = np.result_type(rows.dtype, x.dtype)
    x = cupy.ascontiguousarray(x, dtype)
    y = cupy.empty((rows.shape[0], *x.shape[1:]), dtype)
    data = rows.data.astype(dtype, copy=False)
    columns = x.size // max(x.shape[0], 1)
    arrays = rows.indptr, rows.indices, data, x, columns, y.size, y
    launch(ORDERED(VALUE=dtype, INDEX=rows.indices).multiply_rows, arrays, items=y.size)
    return y
