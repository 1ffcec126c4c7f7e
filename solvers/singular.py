"""Detection of inconsistent singular systems and of overflowing iterates, after a failed solve."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from linforest_precond.backends.annotations import Array
from linforest_precond.matrix.vectors import norms_of

from .null_space import oscillating
from .problem import Problem
from .status import Status
from .vector_space import VectorSpace

# Outcomes that a singular A may cause.
OUTCOMES = Status.RHO, Status.OMEGA, Status.INDEFINITE, Status.STAGNATED, Status.DIVERGED
# A product A v up to this multiple of the machine precision counts as 0.
ROUNDING = 100.0


def singular_columns(
    problem: Problem, space: VectorSpace, names: Sequence[str], statuses: npt.NDArray[np.float64]
) -> list[int]:
    """The columns that failed where A maps constants to zero, and b has a constant part.

    The method's first and last vectors are overwritten.
    """
    failed = np.isin(statuses, OUTCOMES)
    if not failed.any() or problem.inner is not None or problem.null_space is not None:
        return []
    source, target = names[0], names[-1]

    def growth(vectors: Array) -> npt.NDArray[np.float64]:
        """norm(A v) / norm(v) for each column."""
        space[source][...] = vectors
        space.multiply(problem.product, source, target)
        return np.asarray(norms_of(space[target], None) / norms_of(space[source], None))

    eps = float(np.finfo(problem.b.dtype).eps)
    ones = problem.backend.xp.ones_like(problem.b)
    with np.errstate(all="ignore"):
        maps_to_zero = growth(ones) <= ROUNDING * eps * growth(oscillating(problem.b, None))
    return [int(c) for c in np.flatnonzero(failed & maps_to_zero & has_constant_part(problem))]


def has_constant_part(problem: Problem) -> npt.NDArray[np.bool_]:
    """Which columns of b have a mean that rounding errors do not explain."""
    ones, eps = problem.backend.xp.ones_like(problem.b), float(np.finfo(problem.b.dtype).eps)
    with np.errstate(all="ignore"):
        constant = np.asarray(norms_of(ones * problem.b.mean(axis=0, keepdims=True), None))
    return constant > eps**0.5 * problem.norms


class LastFinite:
    """A callback that keeps each column's last finite iterate, of the given system: at first x0, or 0."""

    def __init__(self, problem: Problem) -> None:
        self._problem = problem
        self.x = problem.backend.xp.zeros_like(problem.b)
        if problem.x0 is not None:
            self(problem.x0)

    def __call__(self, x: Array) -> None:
        x = self._problem.scaling.solution(x.reshape(self.x.shape))
        for c in np.flatnonzero(self._problem.finite_columns(x)).tolist():
            self.x[:, c] = x[:, c]
