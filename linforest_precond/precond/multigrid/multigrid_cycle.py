"""Multigrid cycles V, W, F and K, written once for both backends.

The vectors of every level are allocated beforehand, and the host decides nothing during a cycle: a CUDA
graph can capture it whole.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

from linforest_precond.backends.annotations import Array
from linforest_precond.precond.multigrid.coarsest import SWEEPS, BandedCoarsest, Coarsest
from linforest_precond.precond.multigrid.hierarchy_level import Level

CYCLES = "V", "W", "F", "K"
# Symmetric where A is. F-cycles visit a level by two different cycles, K-cycles are not linear.
SYMMETRIC_CYCLES = "V", "W"
# The kinds of cycles of each visit to the next level; the transposed cycle visits in reverse order.
VISITS = {"V": ("V",), "W": ("W", "W"), "F": ("F", "V"), "K": ("K", "K")}
# A K-cycle takes two Krylov steps on every second level from level 1 on, to level 3 or the last but
# PLAIN_LEVELS. So up to nine levels, none is visited more than four times. Steps on all of these levels save
# at most four iterations for twice the visits; with one such level alone, iterations grow with the matrix.
KRYLOV_LEVELS = 3
PLAIN_LEVELS = 4


def twice_visited(kind: str, last: int) -> list[int]:
    """The levels with two visits for each visit of the level above; the finest and the coarsest never are."""
    if len(VISITS[kind]) == 1:
        return []
    krylov = range(1, max(KRYLOV_LEVELS, last - PLAIN_LEVELS) + 1, 2)
    return [i for i in (krylov if kind == "K" else range(1, last)) if i < last]


class MultigridCycle:
    """A cycle on a hierarchy, a `MultilevelPart` or its transpose, for vectors of one shape."""

    def __init__(self, hierarchy: Any, columns: int, transpose: bool):
        levels: Sequence[Level] = hierarchy.levels
        coarsest: Coarsest | BandedCoarsest | None = hierarchy.coarsest
        kind, dtype, options = hierarchy.cycle, hierarchy.stored, hierarchy.options
        sweeps = options.presmooth, options.postsmooth
        self.levels, self.coarsest, self.kind, self.sweeps = levels, coarsest, kind, sweeps
        self.transpose = transpose
        self.last = len(levels) - 1
        self.twice = twice_visited(kind, self.last)
        self.vectors = [
            level.vectors(columns, dtype, transpose=transpose, further=self._visiting_vectors(i))
            for i, level in enumerate(levels)
        ]
        # Right-hand sides and solutions of the visits to each level; Krylov steps, and A x for the second.
        self.first_visit: dict[int, tuple[Array, Array]] = {}
        self.second_visit: dict[int, tuple[Array, Array]] = {}
        self.krylov: dict[int, Any] = {}
        self.products: dict[int, Array] = {}
        for i, own in enumerate(self.vectors):
            if i > 0:
                self.first_visit[i] = own.vector(), own.vector()
            if i in self.twice:
                self.second_visit[i] = own.vector(), own.vector()
                if kind == "K":
                    self.krylov[i] = own.ops.KrylovSteps(levels[i].csr.n, columns, dtype, hierarchy.definite)
                    self.products[i] = own.vector()
        self.dtype, smoother = dtype, levels[0].smoother
        centered, center = hierarchy.centered, self.vectors[0].ops.Center
        self.center = center(levels[0].csr.n, columns, dtype) if centered else None
        self.converts = self.last > 0 and smoother is not None and smoother.converts(sweeps)

    def _visiting_vectors(self, i: int) -> int:
        first, second = 2 * (i > 0), 2 * (i in self.twice)
        return first + second + (second > 0 and self.kind == "K")

    @cached_property
    def own_b(self) -> Array:
        """Replaces a b of another type or layout; the first application allocates it, as `own_x`."""
        return self.vectors[0].vector()

    @cached_property
    def own_x(self) -> Array:
        return self.vectors[0].vector()

    def apply(self, b: Array, x: Array) -> None:
        """Approximate the solution of A x = b; both are (n, k), of any strides and precision."""
        if self._is_direct(b, x):
            self._visit(0, self.kind, b, x)
            return
        copy = self.vectors[0].ops.copy
        own_x = x if x.dtype == self.dtype and x.flags.c_contiguous else self.own_x
        copy(b, self.own_b)
        if self.center is not None:
            self.center.apply(self.own_b)
        self._visit(0, self.kind, self.own_b, own_x)
        if self.center is not None:
            self.center.apply(own_x)
        if own_x is not x:
            copy(own_x, x)

    def _is_direct(self, b: Array, x: Array) -> bool:
        """Whether the finest level takes the vectors as they are."""
        if self.center is not None or not (b.flags.c_contiguous and x.flags.c_contiguous):
            return False
        return bool(b.dtype == x.dtype and (self.converts or b.dtype == self.dtype))

    def _visit(self, i: int, kind: str, b: Array, x: Array) -> None:
        """One cycle on level i, from 0, into x: presmoothing, coarse-grid correction, postsmoothing."""
        if i == self.last:
            self._solve_coarsest(b, x)
            return
        level, vectors = self.levels[i], self.vectors[i]
        smoother, transfer = level.smoother, level.transfer
        assert smoother is not None and transfer is not None
        pre, post = self.sweeps
        pre_swaps, post_swaps = smoother.buffer_swaps(pre, True), smoother.buffer_swaps(post, False)
        # The pair is chosen so that the last step writes x.
        pair = (x, vectors.other) if (pre_swaps + post_swaps) % 2 == 0 else (vectors.other, x)
        smoother.presmooth(vectors, b, *pair, pre)
        pair = pair if pre_swaps % 2 == 0 else pair[::-1]
        coarse_b, coarse_x = self.first_visit[i + 1]
        transfer.restrict(vectors, vectors.residual, coarse_b)
        self._solve_coarse(i + 1, kind, coarse_b, coarse_x)
        transfer.prolong_add(vectors, coarse_x, pair[0])
        smoother.smooth(vectors, b, *pair, post)

    def _solve_coarse(self, i: int, kind: str, b: Array, x: Array) -> None:
        """The coarse-grid problem of level i: one visit, or two as the kind of cycle demands."""
        visits = VISITS[kind][::-1] if self.transpose else VISITS[kind]
        self._visit(i, visits[0], b, x)
        if len(visits) == 1 or i not in self.twice:
            return
        vectors, (residual, d) = self.vectors[i], self.second_visit[i]
        if kind == "K":
            steps, product = self.krylov[i], self.products[i]
            steps.first_step(vectors.matrix, x, b, product, residual)
            self._visit(i, visits[1], residual, d)
            steps.second_step(vectors.matrix, d, product, residual)
            steps.combine(x, d)
        else:
            vectors.ops.residual(vectors.matrix, b, x, residual)
            self._visit(i, visits[1], residual, d)
            vectors.ops.add(d, x)

    def _solve_coarsest(self, b: Array, x: Array) -> None:
        vectors, smoother = self.vectors[self.last], self.levels[self.last].smoother
        if self.coarsest is not None:
            self.coarsest.solve_into(vectors.ops, b, x)
            return
        assert smoother is not None
        swaps = smoother.buffer_swaps(SWEEPS, True)
        pair = (x, vectors.other) if swaps % 2 == 0 else (vectors.other, x)
        smoother.smooth_from_zero(vectors, b, *pair, SWEEPS)
