"""(Block) tridiagonal systems that need pivoting: orthogonal elimination and iterative refinement."""

import itertools
from typing import Any, NamedTuple

import numpy as np

from linforest_precond.backends.workspaces import Workspaces

from ..runtime import VALUES, Program, Struct, address, cupy, launch, launch_blocks, wide_type
from ..runtime.streams import current
from .refinement import NOTHING, VECTORS, Gathered, Refined, backward_error, vectors
from .repairs import perturb_singular
from .sweeps import Sweeps

# The constants of pivoting.cu and relations.cuh, and the most relations that one thread block solves.
GROUP = 16
RELATIONS = 4
THREADS = 128
TOP_THREADS = 512
TOP = 2048
# Added to exponents of rows in sums, as in pivoting.cu.
EXPONENT_BIAS = 32768
# Numbers kept for a row, for a relation and for the last relation, as in kept_reflections.cuh.
ROW_NUMBERS, RELATION_NUMBERS, LAST_NUMBERS = 5, 14, 4
# Orthogonal elimination is not accurate enough where its backward error exceeds SMALL_ERROR (in units of
# machine epsilon), where the norms of rows differ by more than 2**LARGEST_RANGE (its stability is normwise),
# and where pivots were perturbed. Then solutions are refined, or computed in double precision for a single
# precision system. Block systems, which have no pivoting between blocks, are always refined.
SMALL_ERROR = 2.5
LARGEST_RANGE = 10
REFINEMENTS, REFINEMENTS_OF_BLOCKS = 2, 4

ROWS = Struct("EquilibratedRows", "tridiagonal/pivoting.cu")
KEPT_LEVEL = Struct("KeptLevel", "tridiagonal/kept_reflections.cuh")
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
    def __init__(self, lower, diagonal, upper, inverse=None):
        changed, count = diagonal, None
        if inverse is not None:
            changed, count = perturb_singular(lower, diagonal, upper, inverse)
        self._solver = _Elimination(lower, changed, upper)
        perturbed, vanishing, exponent_range = self._solver.sum_up(count)
        self.perturbed = perturbed + vanishing
        bands = lower, changed if perturbed else diagonal, upper
        if diagonal.size and (self.perturbed or self._solver.is_rough(bands, exponent_range)):
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
        if not singular:
            self._solver.keep_reflections()

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
    """A tridiagonal system solved by orthogonal elimination.

    Solves repeat the elimination, unless its reflections are kept: then solves with T, not with its
    transpose, apply these. For a singular system, `singular` is the type of the solutions: entries below its
    epsilon are perturbed.
    """

    def __init__(self, lower, diagonal, upper, singular=None):
        self._dtype = dtype = diagonal.dtype
        self._count = diagonal.size
        size = np.finfo(singular).bits // 8 if singular else 0
        self._program = PROGRAM(VALUE=dtype, SINGULAR=size)
        self._equilibrate(lower, diagonal, upper)
        self._levels = _Levels(self._count)
        self._relations, self._reflections = Workspaces(), None
        first = self._relations.prepare((1, current()), self._empty_relations)
        self._nbytes_of_relations = sum(array.nbytes for array in first)
        self._tile_bytes = THREADS * (GROUP + 1) * dtype.itemsize

    def _empty_relations(self):
        """Work space for the entries and the solutions of all levels, one after the other."""
        sizes = 10 * sum(self._levels.counts), 2 * sum(count + 1 for count in self._levels.counts)
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

    def is_rough(self, bands, exponent_range):
        """Whether solutions need refinement; where the elimination had better be repeated, it will be."""
        if exponent_range > LARGEST_RANGE:
            return True
        if backward_error(self, bands, True) > SMALL_ERROR:
            return True
        if backward_error(self, bands, False) > SMALL_ERROR:
            self._reflections = None
            return backward_error(self, bands, False) > SMALL_ERROR
        return False

    @property
    def nbytes_extra(self):
        kept = *self._exponents, *self._bands, *(() if self._reflections is None else (self._reflections,))
        return sum(array.nbytes for array in kept) + self._nbytes_of_relations

    def keep_reflections(self, marks=None):
        """Keep the reflections of the elimination of T, whose vanishing unknowns are marked."""
        if self._count:
            self._reflections = cupy.empty(self._levels.kept_before[-1] + LAST_NUMBERS, self._dtype)
            self._eliminate(False, marks, self._reflections)

    def sum_up(self, perturbed):
        """How many entries were perturbed, how many unknowns vanish, and the range of the rows' exponents.

        `perturbed` is the first number on the device, or None. The second one is that of the elimination of
        the system or its transpose, the fewer of both: an unknown that vanished takes an equation from those
        after it, which may then vanish as well. The reflections of T are kept: they are not valid where
        unknowns vanish.
        """
        if not self._count:
            return 0, 0, 0
        marks = cupy.zeros((2, self._count), np.uint8)
        self.keep_reflections(marks[0])
        self._eliminate(True, marks[1], None)
        report = cupy.zeros(5, np.int64)
        arguments = marks, self._exponents[0], self._count, address(perturbed), report
        launch(self._program.sum_up, arguments, items=self._count)
        *vanished, largest, negated, perturbed = report.tolist()  # stall: decides how the system is solved
        return perturbed, min(filter(None, vanished), default=0), largest + negated - 2 * EXPONENT_BIAS

    def _eliminate(self, transpose, marks, kept):
        loan = self._relations.take((1, current()), self._empty_relations)
        self._fold(self._rows(transpose), VECTORS(**NOTHING), 0, marks, kept, *loan.workspace)
        self._relations.give_back(loan)

    def solve(self, b, x, order, transpose):
        """Write the solution of T x = b, or of its transpose, for every column of b."""
        if self._count == 0:
            return
        rows, both = self._rows(transpose), vectors(b, x, order, self._dtype)
        loan = self._relations.take((1, current()), self._empty_relations)
        for column in range(b.shape[1]):
            if transpose or self._reflections is None:
                self._fold(rows, both, column, None, None, *loan.workspace)
                self._unfold(rows, both, column, *loan.workspace)
            else:
                self._reflect(rows, both, column, *loan.workspace)
        self._relations.give_back(loan)

    def _rows(self, transpose):
        bands = dict(zip(("lower", "diagonal", "upper"), self._bands))
        exponents = dict(zip(("row_exponents", "column_exponents"), self._exponents))
        return ROWS(**bands, **exponents, count=self._count, transposed=int(transpose))

    def _fold(self, rows, both, column, marks, kept, entries, pairs):
        levels, program = self._levels, self._program
        arguments = rows, both, column, entries, address(marks), address(kept)
        self._launch(program.fold_rows, levels.counts[0], arguments, 4 * self._tile_bytes)
        span = GROUP
        for level, count in enumerate(levels.counts):
            own = None if kept is None else _tail(kept, levels.kept_before[level])
            fold = _tail(entries, 10 * levels.before[level]), count, span, self._count
            if level == levels.top:
                arguments = *fold, _tail(pairs, 2 * levels.pairs_before[level]), address(marks), address(own)
                launch_blocks(program.solve_top, 1, arguments, block=TOP_THREADS)
                return
            arguments = *fold, address(marks), address(own)
            self._launch(program.fold_relations, levels.counts[level + 1], arguments)
            span *= RELATIONS

    def _unfold(self, rows, both, column, entries, pairs):
        levels = self._levels
        for level in reversed(range(levels.top)):
            own, coarse = (_tail(pairs, 2 * levels.pairs_before[at]) for at in (level, level + 1))
            arguments = _tail(entries, 10 * levels.before[level]), levels.counts[level], coarse, own
            self._launch(self._program.unfold_relations, levels.counts[level + 1], arguments)
        arguments = rows, both, column, pairs
        self._launch(self._program.unfold_rows, levels.counts[0], arguments, 4 * self._tile_bytes)

    def _reflect(self, rows, both, column, entries, pairs):
        """Solve by the reflections that were kept; `entries` hold the right-hand sides of relations."""
        levels, program, kept = self._levels, self._program, self._reflections
        arguments, groups = (rows, both, column, kept), levels.counts[0]
        each = [(self._kept_level(level, entries, pairs),) for level in range(levels.top + 1)]
        self._launch(program.fold_right, groups, (*arguments, entries), self._tile_bytes)
        for level in range(levels.top):
            self._launch(program.fold_rights, levels.counts[level + 1], each[level])
        launch_blocks(program.solve_rights, 1, each[-1], block=TOP_THREADS)
        for level in reversed(range(levels.top)):
            self._launch(program.unfold_rights, levels.counts[level + 1], each[level])
        self._launch(program.unfold_right, groups, (*arguments, pairs), self._tile_bytes)

    def _kept_level(self, level, rights, pairs):
        levels = self._levels
        return KEPT_LEVEL(
            kept=_tail(self._reflections, levels.kept_before[level]),
            rights=_tail(rights, 2 * levels.before[level]),
            pairs=_tail(pairs, 2 * levels.pairs_before[level]),
            count=levels.counts[level],
        )  # fmt: skip

    def _launch(self, kernel, groups, arguments, shared_memory=0):
        """One thread per group."""
        launch_blocks(kernel, -(-groups // THREADS), arguments, shared_memory=shared_memory, block=THREADS)


class _Levels:
    """The relations of each level: `counts`, and what is stored before each in arrays of all levels.

    `before` counts relations, `pairs_before` pairs, `kept_before` the numbers kept with reflections, where
    those of rows come first. `top` is the level from which on one thread block solves.
    """

    def __init__(self, rows):
        self.counts = [-(-rows // GROUP)]
        while self.counts[-1] > 1:
            self.counts.append(-(-self.counts[-1] // RELATIONS))
        self.before = [0, *itertools.accumulate(self.counts)]
        self.pairs_before = [0, *itertools.accumulate(count + 1 for count in self.counts)]
        self.top = next(level for level, count in enumerate(self.counts) if count <= TOP)
        kept = _kept_numbers(self.counts[0], GROUP, ROW_NUMBERS)
        relations = (_kept_numbers(groups, RELATIONS, RELATION_NUMBERS) for groups in self.counts[1:])
        self.kept_before = [*itertools.accumulate(relations, initial=kept)]


def _kept_numbers(groups, items, numbers):
    """Numbers for each item of groups, in whole thread blocks: `Kept::size` of kept_reflections.cuh."""
    return -(-groups // THREADS) * THREADS * items * numbers


def _tail(array, first):
    """The address of an item of an array; a view would take longer to make."""
    return address(array) + first * array.dtype.itemsize
