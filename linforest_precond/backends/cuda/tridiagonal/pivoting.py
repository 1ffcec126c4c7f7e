"""(Block) tridiagonal systems that need pivoting: orthogonal elimination and iterative refinement."""

from typing import Any, NamedTuple

import numpy as np

from linforest_precond.backends.workspaces import Workspaces

from ..runtime import cupy
from ..runtime.launch import launch, launch_blocks
from ..runtime.loader import VALUES, Program, wide_type
from ..runtime.streams import current
from ..runtime.structs import Struct, address
from .refinement import NOTHING, VECTORS, Gathered, Refined, backward_error, vectors
from .sweeps import Sweeps

# The constants of pivoting.cu and relations.cuh, and the most relations that one thread block solves.
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
# SINGULAR is the size of the solutions' type; 0 for a system that is not singular.
PROGRAM = Program(
    "tridiagonal/pivoting",
    [{"VALUE": value, "SINGULAR": 0} for value in VALUES]
    + [{"VALUE": value, "SINGULAR": size} for value in (np.float64, np.complex128) for size in (4, 8)],
    same_bits=False,
    WIDE=wide_type,
    BLOCK=1,
)


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
        solver.settle()
        super().__init__(solver, (lower, diagonal, upper), REFINEMENTS_OF_BLOCKS)
        self.perturbed = perturbed


class _WideVectors(NamedTuple):
    """The work space of `_Widened`."""

    right: Any
    x: Any
    wide_right: Any
    wide_x: Any


class _Widened(Gathered):
    """A single precision system, solved in double precision."""

    def __init__(self, bands, singular):
        super().__init__(bands)
        single, wide = self._dtype, wide_type(self._dtype)
        self._solver = _Elimination(*(band.astype(wide) for band in bands), single if singular else None)

    def _vectors(self):
        types = self._dtype, self._dtype, *(wide_type(self._dtype),) * 2
        return _WideVectors(*(cupy.empty(self._shape, dtype) for dtype in types))

    @property
    def nbytes_extra(self):
        return self._solver.nbytes_extra + self._nbytes_of_vectors

    def _solve(self, work, transpose):
        work.wide_right[...] = work.right
        self._solver.solve(work.wide_right, work.wide_x, None, transpose)
        work.x[...] = work.wide_x


class _Elimination:
    """A tridiagonal system solved by orthogonal elimination, which is repeated for every right-hand side.

    For a singular system, `singular` is the type of the solutions: entries below its epsilon are perturbed.
    """

    def __init__(self, lower, diagonal, upper, singular=None):
        self._dtype = dtype = diagonal.dtype
        self._count = diagonal.size
        size = np.finfo(singular).bits // 8 if singular else 0
        self._program = PROGRAM(VALUE=dtype.type, SINGULAR=size)
        self._equilibrate(lower, diagonal, upper)
        self._levels = [-(-self._count // GROUP)]
        while self._levels[-1] > 1:
            self._levels.append(-(-self._levels[-1] // RELATIONS))
        self._relations = Workspaces()
        first = self._relations.prepare((1, current()), self._empty_relations)
        self._nbytes_of_relations = sum(array.nbytes for array in first)
        self._shared_memory = 4 * THREADS * (GROUP + 1) * dtype.itemsize

    def _empty_relations(self):
        """Work space for the entries and the solutions of all levels, one after the other."""
        sizes = 10 * sum(self._levels), 2 * sum(level + 1 for level in self._levels)
        return tuple(cupy.empty(size, self._dtype) for size in sizes)

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
        kept = sum(array.nbytes for array in (*self._exponents, *self._bands))
        return kept + self._nbytes_of_relations

    def count_vanishing(self):
        """How many unknowns vanish during the elimination of the system or its transpose; the fewer of both.

        An unknown that vanished takes an equation from those after it, which may then vanish as well.
        """
        if not self._count:
            return 0
        marks = cupy.zeros((2, self._count), np.uint8)
        loan = self._relations.take((1, current()), self._empty_relations)
        for transpose in range(2):
            self._fold(self._rows(transpose), VECTORS(**NOTHING), 0, marks[transpose], *loan.workspace)
        self._relations.give_back(loan)
        counts = marks.sum(axis=1, dtype=np.int64).tolist()  # stall: reported to the user
        return min(filter(None, counts), default=0)

    def solve(self, b, x, order, transpose):
        """Write the solution of T x = b, or of its transpose, for every column of b."""
        if self._count == 0:
            return
        rows, both = self._rows(transpose), vectors(b, x, order, self._dtype)
        loan = self._relations.take((1, current()), self._empty_relations)
        for column in range(b.shape[1]):
            self._fold(rows, both, column, None, *loan.workspace)
            self._unfold(rows, both, column, *loan.workspace)
        self._relations.give_back(loan)

    def _rows(self, transpose):
        bands = dict(zip(("lower", "diagonal", "upper"), self._bands))
        exponents = dict(zip(("row_exponents", "column_exponents"), self._exponents))
        return ROWS(**bands, **exponents, count=self._count, transposed=int(transpose))

    def _fold(self, rows, both, column, marks, entries, pairs):
        arguments = rows, both, column, entries, address(marks)
        self._launch(self._program.fold_rows, self._levels[0], arguments)
        span = GROUP
        for level in self._levels:
            arguments = entries, level, span, self._count
            if level <= TOP:
                arguments = *arguments, pairs, address(marks)
                launch_blocks(self._program.solve_top, 1, arguments, block=TOP_THREADS)
                return
            arguments = *arguments, address(marks)
            self._launch(self._program.fold_relations, -(-level // RELATIONS), arguments, 0)
            entries, pairs, span = entries[10 * level :], pairs[2 * (level + 1) :], RELATIONS * span

    def _unfold(self, rows, both, column, entries, pairs):
        levels = [level for level in self._levels if level > TOP]
        for number in reversed(range(len(levels))):
            own_entries = entries[10 * sum(levels[:number]) :]
            own_pairs = pairs[2 * sum(level + 1 for level in levels[:number]) :]
            level = levels[number]
            arguments = own_entries, level, own_pairs[2 * (level + 1) :], own_pairs
            self._launch(self._program.unfold_relations, -(-level // RELATIONS), arguments, 0)
        self._launch(self._program.unfold_rows, self._levels[0], (rows, both, column, pairs))

    def _launch(self, kernel, groups, arguments, shared_memory=None):
        """One thread per group."""
        memory = self._shared_memory if shared_memory is None else shared_memory
        launch_blocks(kernel, -(-groups // THREADS), arguments, shared_memory=memory, block=THREADS)
