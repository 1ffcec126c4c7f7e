"""Right-hand sides, solutions, backward errors and iterative refinement of (block) tridiagonal systems."""

from typing import Any, NamedTuple

import numpy as np

from linforest_precond.backends.workspaces import Workspaces

from ..runtime import VALUES, Program, Struct, cupy, launch, wide_type
from ..runtime.streams import current
from .tiles import BLOCK_SIZES, block_size

PROGRAM = Program("tridiagonal/refinement", same_bits=False, VALUE=VALUES, WIDE=wide_type, BLOCK=BLOCK_SIZES)
# Right-hand sides and solutions as kernels take them: strided 2-D arrays with an optional row order.
VECTORS = Struct("Vectors", "tridiagonal/strided_vectors.cuh")
# Neither right-hand side nor solution.
NOTHING = {name: None if letters == "P" else 0 for name, letters in VECTORS.fields.items()}


def vectors(b, x, order, stored):
    """The struct for 2-D arrays b and x of the `stored` type, or of double precision."""
    item = b.dtype.itemsize
    return VECTORS(
        source=b, target=x, wide=int(b.dtype != stored),
        order=order, wide_order=int(order is not None and order.dtype.itemsize == 8),
        source_row=b.strides[0] // item, source_column=b.strides[1] // item,
        target_row=x.strides[0] // item, target_column=x.strides[1] // item,
        columns=b.shape[1],
    )  # fmt: skip


class Gathered:
    """Base of solvers of one column at a time in the system's order.

    `_vectors` makes a work space, and `_solve` computes its `x` from its `right`.
    """

    def __init__(self, bands):
        self._residual, self._dtype = _Residual(bands), bands[1].dtype
        self._shape = self._residual.rows, 1
        self._pool = Workspaces()
        first = self._pool.prepare((1, current()), self._vectors)
        self._nbytes_of_vectors = sum(array.nbytes for array in first)

    def solve(self, b, x, order, transpose):
        """Write the solution of T x = b, or of its transpose, for every column of b."""
        rows, program = self._residual.rows, self._residual.program
        if not rows:
            return
        both = vectors(b, x, order, self._dtype)
        loan = self._pool.take((1, current()), self._vectors)
        work = loan.workspace
        for column in range(b.shape[1]):
            launch(program.gather, (both, column, rows, work.right))
            self._solve(work, transpose)
            launch(program.scatter, (both, column, rows, work.x))
        self._pool.give_back(loan)


class _RefinementVectors(NamedTuple):
    """The work space of `Refined`."""

    right: Any
    x: Any
    corrected: Any
    remainder: Any
    sizes: Any


class Refined(Gathered):
    """Iterative refinement in working precision; a correction is kept where it lowers the residual."""

    def __init__(self, solver, bands, steps):
        super().__init__(bands)
        self._solver, self._steps = solver, steps

    def _vectors(self):
        sizes = cupy.empty(4, self._dtype.type(0).real.dtype)
        return _RefinementVectors(*(cupy.empty(self._shape, self._dtype) for _ in range(4)), sizes)

    @property
    def nbytes_extra(self):
        kept = sum(band.nbytes for band in self._residual.bands)
        return self._solver.nbytes_extra + kept + self._nbytes_of_vectors

    def _solve(self, work, transpose):
        right, x, corrected, remainder, sizes = work
        self._solver.solve(right, x, None, transpose)
        for _ in range(self._steps):
            sizes.fill(0)
            self._residual.find(right, x, remainder, sizes[:2], transpose)
            self._solver.solve(remainder, corrected, None, transpose)
            corrected += x
            self._residual.find(right, corrected, remainder, sizes[2:], transpose)
            launch(self._residual.program.choose, (x, corrected, x.size, sizes))


class _Residual:
    """Residuals of a (block) tridiagonal system."""

    def __init__(self, bands):
        diagonal = bands[1]
        dtype, block = diagonal.dtype, block_size(diagonal)
        self.bands, self.rows = bands, diagonal.shape[0] * block
        self.program = PROGRAM(VALUE=dtype, BLOCK=block)

    def find(self, right, x, remainder, sizes, transpose):
        """Write right - T x into `remainder`; raise `sizes` to the largest entries of x and of it."""
        arguments = *self.bands, self.bands[1].shape[0], int(transpose), right, x, remainder, sizes
        launch(self.program.residual, arguments)


def backward_error(solver, bands, transpose):
    """The normwise backward error of the solver for a random solution, in units of machine epsilon."""
    residual, dtype = _Residual(bands), bands[1].dtype
    known, right, x, remainder = (cupy.zeros((residual.rows, 1), dtype) for _ in range(4))
    sizes = cupy.zeros(4, dtype.type(0).real.dtype)
    launch(residual.program.make_random, (residual.rows, known))
    residual.find(remainder, known, right, sizes[:2], transpose)
    solver.solve(right, x, None, transpose)
    residual.find(right, x, remainder, sizes[2:], transpose)
    norm = sum(abs(band).reshape(residual.rows, -1).sum(axis=1) for band in bands).max()
    error = sizes[3] / (norm * sizes[2] + sizes[1])
    return float(error) / np.finfo(dtype).eps  # stall: decides how the system is solved
