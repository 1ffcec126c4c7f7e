"""The last finite iterate of a solve that overflowed."""

from __future__ import annotations

import numpy as np

from linforest_precond.backends.annotations import Array

from .problem import Problem


class LastFinite:
    """A callback that keeps each column's last finite iterate, of the given system: at first x0, or 0."""

    def __init__(self, problem: Problem) -> None:
        self._scaling, self._backend = problem.scaling, problem.backend
        self.x = problem.backend.xp.zeros_like(problem.b)
        if problem.x0 is not None:
            self(problem.x0)

    def __call__(self, x: Array) -> None:
        x = self._scaling.solution(x.reshape(self.x.shape))
        for c in np.flatnonzero(self._backend.krylov.norms.finite_columns(x)).tolist():
            self.x[:, c] = x[:, c]
