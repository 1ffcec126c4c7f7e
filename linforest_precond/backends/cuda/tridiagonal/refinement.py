"""Backward errors and iterative refinement of (block) tridiagonal solutions."""

import numpy as np

from ..runtime.launch import launch
from ..runtime.lazy_cupy import cupy
from ..runtime.loader import kernels, wide_type
from .strided_vectors import vectors
from .tiles import block_size


class Gathered:
    """Base of solvers of one column at a time in the system's order; `_solve` computes `_x` from `_right`."""

    def __init__(self, bands):
        self._residual = _Residual(bands)
        self._right, self._x = (cupy.empty((self._residual.rows, 1), bands[1].dtype) for _ in range(2))

    def solve(self, b, x, order, transpose):
        """Write the solution of T x = b, or of its transpose, for every column of b."""
        rows, program = self._residual.rows, self._residual.program
        if not rows:
            return
        both = vectors(b, x, order, self._x.dtype)
        for column in range(b.shape[1]):
            launch(program.gather, (both, column, rows, self._right))
            self._solve(transpose)
            launch(program.scatter, (both, column, rows, self._x))


class Refined(Gathered):
    """Iterative refinement in working precision; a correction is kept where it lowers the residual."""

    def __init__(self, solver, bands, steps):
        super().__init__(bands)
        self._solver, self._steps = solver, steps
        self._corrected, self._remainder = (cupy.empty_like(self._x) for _ in range(2))
        self._sizes = cupy.empty(4, self._x.dtype.type(0).real.dtype)

    @property
    def nbytes_extra(self):
        own = (*self._residual.bands, self._right, self._x, self._corrected, self._remainder, self._sizes)
        return self._solver.nbytes_extra + sum(array.nbytes for array in own)

    def _solve(self, transpose):
        self._solver.solve(self._right, self._x, None, transpose)
        for _ in range(self._steps):
            self._sizes.fill(0)
            self._residual.find(self._right, self._x, self._remainder, self._sizes[:2], transpose)
            self._solver.solve(self._remainder, self._corrected, None, transpose)
            self._corrected += self._x
            self._residual.find(self._right, self._corrected, self._remainder, self._sizes[2:], transpose)
            launch(self._residual.program.choose, (self._x, self._corrected, self._x.size, self._sizes))


class _Residual:
    """Residuals of a (block) tridiagonal system."""

    def __init__(self, bands):
        diagonal = bands[1]
        dtype, block = diagonal.dtype, block_size(diagonal)
        self.bands, self.rows = bands, diagonal.shape[0] * block
        self.program = kernels("tridiagonal/refinement", VALUE=dtype.type, WIDE=wide_type(dtype), BLOCK=block)

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
