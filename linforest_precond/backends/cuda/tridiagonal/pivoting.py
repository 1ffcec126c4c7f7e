"""(Block) tridiagonal systems that need pivoting: orthogonal elimination and iterative refinement."""

import numpy as np

from ..runtime.launch import launch, launch_blocks
from ..runtime.lazy_cupy import cupy
from ..runtime.loader import kernels, wide_type
from ..runtime.structs import Struct, address
from .refinement import Gathered, Refined, backward_error
from .strided_vectors import NOTHING, VECTORS, vectors
from .sweeps import Sweeps

# The constants of pivoting.cu, and the most relations that one thread block solves.
GROUP = 16
RELATIONS = 4
THREADS = 128
TOP_THREADS = 512
TOP = 2048
# Orthogonal elimination is not accurate enough where its backward error exceeds SMALL_ERROR (in units of
# machine epsilon), where the norms of rows differ by more than 2**LARGEST_RANGE (its stability is normwise),
# and where pivots were perturbed. Then solutions are refined, or computed in double precision for a single
# precision system. Block systems, which have no pivoting between blocks, are always refined.
SMALL_ERROR = 2.5
LARGEST_RANGE = 10
REFINEMENTS, REFINEMENTS_OF_BLOCKS = 2, 4

ROWS = Struct(
    "EquilibratedRows", "tridiagonal/pivoting.cu",
    lower="P", diagonal="P", upper="P", row_exponents="P", column_exponents="P", count="q", transposed="q",
)  # fmt: skip


class Pivoted:
    """A tridiagonal system that needs pivoting."""

    def __init__(self, lower, diagonal, upper, perturbed):
        bands = lower, diagonal, upper
        self._solver = _Elimination(*bands)
        self.perturbed = perturbed + self._solver.count_vanishing()
        if diagonal.size and (self.perturbed or self._solver.is_rough(bands)):
            if diagonal.dtype != wide_type(diagonal.dtype):
                self._solver = _Widened(bands, singular=self.perturbed > 0)
            else:
                solver = _Elimination(*bands, singular=diagonal.dtype) if self.perturbed else self._solver
                self._solver = Refined(solver, bands, REFINEMENTS)
        self.nbytes_extra, self.solve = self._solver.nbytes_extra, self._solver.solve


class PivotedBlocks(Refined):
    """A block system that is not stable without pivoting between blocks: sweeps and iterative refinement."""

    def __init__(self, lower, diagonal, upper, inverse, perturbed):
        solver = Sweeps(lower, inverse, upper, symmetric=False)
        super().__init__(solver, (lower, diagonal, upper), REFINEMENTS_OF_BLOCKS)
        self.perturbed = perturbed


class _Widened(Gathered):
    """A single precision system, solved in double precision."""

    def __init__(self, bands, singular):
        super().__init__(bands)
        single, wide = self._x.dtype, wide_type(self._x.dtype)
        self._solver = _Elimination(*(band.astype(wide) for band in bands), single if singular else None)
        self._wide_right, self._wide_x = (cupy.empty(self._x.shape, wide) for _ in range(2))

    @property
    def nbytes_extra(self):
        own = self._right, self._x, self._wide_right, self._wide_x
        return self._solver.nbytes_extra + sum(array.nbytes for array in own)

    def _solve(self, transpose):
        self._wide_right[...] = self._right
        self._solver.solve(self._wide_right, self._wide_x, None, transpose)
        self._x[...] = self._wide_x


class _Elimination:
    """A tridiagonal system solved by orthogonal elimination, which is repeated for every right-hand side.

    For a singular system, `singular` is the type of the solutions: entries below its epsilon are perturbed.
    """

    def __init__(self, lower, diagonal, upper, singular=None):
        dtype, self._count = diagonal.dtype, diagonal.size
        size = np.finfo(singular).bits // 8 if singular else 0
        types = {"VALUE": dtype.type, "WIDE": wide_type(dtype), "BLOCK": 1}
        self._program = kernels("tridiagonal/pivoting", **types, SINGULAR=size)
        self._equilibrate(lower, diagonal, upper)
        self._levels = [-(-self._count // GROUP)]
        while self._levels[-1] > 1:
            self._levels.append(-(-self._levels[-1] // RELATIONS))
        # All levels, one after the other.
        self._entries = cupy.empty(10 * sum(self._levels), dtype)
        self._pairs = cupy.empty(2 * sum(level + 1 for level in self._levels), dtype)
        self._shared_memory = 4 * THREADS * (GROUP + 1) * dtype.itemsize

    def _equilibrate(self, lower, diagonal, upper):
        """Scale rows, then columns, by powers of two to norms between one half and one."""
        given = lower, diagonal, upper, self._count
        self._exponents = rows, columns = [cupy.empty(self._count, np.int16) for _ in range(2)]
        self._bands = [cupy.empty_like(diagonal) for _ in range(3)]
        if self._count:
            launch(self._program.row_exponents, (*given, rows))
            launch(self._program.column_exponents, (*given, rows, columns))
            launch(self._program.equilibrate, (*given, rows, columns, *self._bands))

    def is_rough(self, bands):
        """Whether solutions need refinement."""
        exponents = self._exponents[0]
        if int(exponents.max() - exponents.min()) > LARGEST_RANGE:  # stall: decides how the system is solved
            return True
        return max(backward_error(self, bands, transpose) for transpose in (False, True)) > SMALL_ERROR

    @property
    def nbytes_extra(self):
        return sum(array.nbytes for array in (self._entries, self._pairs, *self._exponents, *self._bands))

    def count_vanishing(self):
        """How many unknowns vanish during the elimination of the system or its transpose; the fewer of both.

        An unknown that vanished takes an equation from those after it, which may then vanish as well.
        """
        if not self._count:
            return 0
        marks = cupy.zeros((2, self._count), np.uint8)
        for transpose in range(2):
            self._fold(self._rows(transpose), VECTORS(**NOTHING), 0, marks[transpose])
        counts = marks.sum(axis=1, dtype=np.int64).tolist()  # stall: reported to the user
        return min(filter(None, counts), default=0)

    def solve(self, b, x, order, transpose):
        """Write the solution of T x = b, or of its transpose, for every column of b."""
        if self._count == 0:
            return
        rows, both = self._rows(transpose), vectors(b, x, order, self._entries.dtype)
        for column in range(b.shape[1]):
            self._fold(rows, both, column, None)
            self._unfold(rows, both, column)

    def _rows(self, transpose):
        bands = dict(zip(("lower", "diagonal", "upper"), self._bands))
        exponents = dict(zip(("row_exponents", "column_exponents"), self._exponents))
        return ROWS(**bands, **exponents, count=self._count, transposed=int(transpose))

    def _fold(self, rows, both, column, marks):
        arguments = rows, both, column, self._entries, address(marks)
        self._launch(self._program.fold_rows, self._levels[0], arguments)
        entries, pairs, span = self._entries, self._pairs, GROUP
        for level in self._levels:
            arguments = entries, level, span, self._count
            if level <= TOP:
                arguments = *arguments, pairs, address(marks)
                launch_blocks(self._program.solve_top, 1, arguments, block=TOP_THREADS)
                return
            arguments = *arguments, address(marks)
            self._launch(self._program.fold_relations, -(-level // RELATIONS), arguments, 0)
            entries, pairs, span = entries[10 * level :], pairs[2 * (level + 1) :], RELATIONS * span

    def _unfold(self, rows, both, column):
        levels = [level for level in self._levels if level > TOP]
        for number in reversed(range(len(levels))):
            entries = self._entries[10 * sum(levels[:number]) :]
            pairs = self._pairs[2 * sum(level + 1 for level in levels[:number]) :]
            level = levels[number]
            arguments = entries, level, pairs[2 * (level + 1) :], pairs
            self._launch(self._program.unfold_relations, -(-level // RELATIONS), arguments, 0)
        self._launch(self._program.unfold_rows, self._levels[0], (rows, both, column, self._pairs))

    def _launch(self, kernel, groups, arguments, shared_memory=None):
        """One thread per group."""
        memory = self._shared_memory if shared_memory is None else shared_memory
        launch_blocks(kernel, -(-groups // THREADS), arguments, shared_memory=memory, block=THREADS)
