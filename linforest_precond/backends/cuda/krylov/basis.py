"""The bases of GMRES and IDR(s) on the device: their launches, and sums by a user's inner product."""

import numpy as np

from linforest_precond.backends.krylov_codes import NumberSlot, RunningState

from ..runtime import cupy, launch_blocks, wide_type
from ..runtime.grid_sums import THREADS

# Blocks at most: the last one adds up the partial sums of all.
LARGEST_GRID = 528


class Basis:
    """The kernels of a program for the vectors of a `KrylovSpace`.

    Each column has `rows` scalars; the last `most_sums` are the inner products of a pass.
    """

    def __init__(self, space, program, most_sums, rows):
        self.space = space
        vector = space["x"]
        self.n, self.columns = vector.shape
        wide = np.dtype(wide_type(vector.dtype))
        self._program = program(VALUE=vector)
        self._blocks = min(LARGEST_GRID, space.blocks)
        self.work = cupy.zeros((rows, self.columns), wide)
        self.partials = cupy.empty(self._blocks * most_sums * self.columns, wide)
        self._sums = self.work[rows - most_sums :]
        self.summed = np.int32(space.inner is None)

    def stack(self, length):
        """A basis of zero vectors."""
        return cupy.zeros((length, self.n, self.columns), self.space["x"].dtype)

    def launch(self, name, *arguments, blocks=None):
        kernel = getattr(self._program, name)
        launch_blocks(kernel, blocks or self._blocks, (self.space.struct, *arguments), block=THREADS)

    def sum_by_inner(self, pairs):
        """Write the inner products of pairs of (n, k) arrays, by the user's function, where kernels do."""
        for i, (u, v) in enumerate(pairs):
            for c in range(self.columns):
                self._sums[i, c] = self.space.inner(u[:, c], v[:, c])

    def position(self):
        """The step of the cycle, which all running columns share; for users' inner products."""
        positions = self.space.numbers[NumberSlot.POSITION].get()  # stall: how many inner products to call
        return int(max(positions[self.space.statuses() == RunningState.RUNNING], default=0))
