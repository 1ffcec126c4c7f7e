"""Multigrid cycles: the text of V, W, F and K, once for all devices.

Every level has its vectors from the start, and nothing is decided on the host: a whole cycle can be recorded
and replayed.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from linforest_precond.backends import backend_of
from linforest_precond.precond.multigrid.coarsest import SWEEPS

CYCLES = "V", "W", "F", "K"
# How often each cycle visits the next level, and by which cycle the second time.
SECOND_VISIT = {"V": None, "W": "W", "F": "V", "K": "K"}
# Levels below the first on which a K-cycle takes both of its steps, and the most that lie below these: there,
# V-cycles do as well, and are over sooner.
KRYLOV_LEVELS = 3
PLAIN_LEVELS = 4


def deepest_second_visit(kind: str, last: int) -> int:
    """The last level that is visited twice for each visit of the level above; the coarsest never is."""
    if SECOND_VISIT[kind] is None:
        return 0
    most = max(last - 1, 0)
    return min(most, max(KRYLOV_LEVELS, last - PLAIN_LEVELS)) if kind == "K" else most


def check_cycle(cycle: Any) -> None:
    if cycle not in CYCLES:
        raise ValueError(f"cycle must be one of {', '.join(map(repr, CYCLES))}, got {cycle!r}")


class Space:
    """The vectors of one level for k columns, and what works on them."""

    def __init__(self, level: Any, columns: int, dtype: np.dtype, transpose: bool, definite: bool):
        backend = backend_of(level.csr.data)
        self.ops, self.transfers, self.transpose = (
            backend.multigrid.vector_ops,
            backend.multigrid.transfers,
            transpose,
        )
        self.level, self.matrix = level, level.matrix
        shape = level.csr.n, columns
        self._shape, self._dtype, self._xp = shape, dtype, backend.xp
        self.r, self.other = self.vector(), self.vector()
        self.steps = backend.multigrid.vector_ops.Steps(*shape, dtype, definite)

    def vector(self) -> Any:
        return self._xp.zeros(self._shape, self._dtype)


class Cycle:
    """A cycle on a hierarchy, for vectors of one shape and type.

    Parameters
    ----------
    levels, coarsest
        As in `MultilevelPart`; the last level has no transfer, and is smoothed where `coarsest` is None.
    kind
        One of `CYCLES`.
    sweeps
        Before and after the visit of the next level.
    """

    def __init__(
        self,
        levels: Any,
        coarsest: Any,
        kind: str,
        sweeps: tuple[int, int],
        columns: int,
        dtype: np.dtype,
        *,
        transpose: bool,
        definite: bool,
        centered: bool,
    ):
        self.levels, self.coarsest, self.kind, self.sweeps = levels, coarsest, kind, sweeps
        self.spaces = [Space(level, columns, dtype, transpose, definite) for level in levels]
        self.last = len(levels) - 1
        # Right-hand sides and solutions of the visits to each level but the first.
        self.first_visit = [None] + [(space.vector(), space.vector()) for space in self.spaces[1:]]
        self.deepest = deepest_second_visit(kind, self.last)
        twice = [0 < i <= self.deepest for i in range(len(levels))]
        self.second_visit = [
            (space.vector(), space.vector()) if again else None for space, again in zip(self.spaces, twice)
        ]
        self.products = [space.vector() if again else None for space, again in zip(self.spaces, twice)]
        ops = self.spaces[0].ops
        self.center = ops.Center(levels[0].csr.n, columns, dtype) if centered else None
        self.given = self.spaces[0].vector()
        self.found = self.spaces[0].vector()

    def apply(self, b: Any, x: Any) -> None:
        """Approximate the solution of A x = b; both are (n, k), of any strides and precision."""
        given, copy = b, self.spaces[0].ops.copy
        if self.center is not None or b.dtype != self.given.dtype or not b.flags.c_contiguous:
            given = self.given
            copy(b, given)
        if self.center is not None:
            self.center.apply(given)
        own = x.dtype == self.found.dtype and x.flags.c_contiguous
        target = x if own else self.found
        self._visit(0, self.kind, given, target)
        if self.center is not None:
            self.center.apply(target)
        if not own:
            copy(target, x)

    def _visit(self, i: int, kind: str, b: Any, x: Any) -> None:
        """One cycle on level i, from 0, into x."""
        space, smoother = self.spaces[i], self.levels[i].smoother
        if i == self.last:
            self._solve_coarsest(b, x)
            return
        before, after = self.sweeps
        swaps_before, swaps_after = smoother.swaps(before, True), smoother.swaps(after, False)
        # The last step shall end in x.
        pair = (x, space.other) if (swaps_before + swaps_after) % 2 == 0 else (space.other, x)
        smoother.begin(space, b, *pair, before)
        pair = pair if swaps_before % 2 == 0 else pair[::-1]
        space.ops.residual(space.matrix, b, pair[0], space.r)
        coarse_b, coarse_x = self.first_visit[i + 1]
        self.levels[i].transfer.restrict(space, space.r, coarse_b)
        self._solve(i + 1, kind, coarse_b, coarse_x)
        self.levels[i].transfer.prolong_add(space, coarse_x, pair[0])
        smoother.go_on(space, b, *pair, after)

    def _solve(self, i: int, kind: str, b: Any, x: Any) -> None:
        """Solve on level i as well as the cycle above asks for: by one visit, or two."""
        self._visit(i, kind, b, x)
        again = SECOND_VISIT[kind]
        if again is None or i > self.deepest:
            return
        space, (rest, d) = self.spaces[i], self.second_visit[i]
        if kind == "K":
            product = self.products[i]
            space.steps.take_first(space.matrix, x, b, product, rest)
            self._visit(i, again, rest, d)
            space.steps.take_second(space.matrix, d, product, rest)
            space.steps.combine(x, d)
        else:
            space.ops.residual(space.matrix, b, x, rest)
            self._visit(i, again, rest, d)
            space.ops.add(d, x)

    def _solve_coarsest(self, b: Any, x: Any) -> None:
        space, smoother = self.spaces[self.last], self.levels[self.last].smoother
        if self.coarsest is not None:
            self.coarsest.solve_into(space.ops, b, x)
            return
        swaps = smoother.swaps(SWEEPS, True)
        pair = (x, space.other) if swaps % 2 == 0 else (space.other, x)
        smoother.begin(space, b, *pair, SWEEPS)
