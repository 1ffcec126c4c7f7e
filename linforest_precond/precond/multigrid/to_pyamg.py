"""Hierarchies in PyAMG's hands."""

from __future__ import annotations

from typing import Any

import numpy as np

from linforest_precond.precond.multigrid.multigrid_cycle import Space


def pyamg_solver(hierarchy: Any) -> Any:
    """A `MultilevelSolver` with the levels and smoothers of a hierarchy on the CPU."""
    if hierarchy._operator._backend.name != "cpu":
        raise TypeError("to_pyamg needs a hierarchy on the CPU: PyAMG works there alone")
    import pyamg
    import scipy.sparse

    part, levels = hierarchy._part, []
    before, after = part.options["presmooth"], part.options["postsmooth"]
    for shown, level in zip(hierarchy.levels, part.levels):
        copy = pyamg.MultilevelSolver.Level()
        copy.A = scipy.sparse.csr_matrix(shown.A)
        if level.transfer is not None:
            copy.P, copy.R = (scipy.sparse.csr_matrix(matrix) for matrix in (shown.P, shown.R))
            copy.presmoother, copy.postsmoother = Sweeps(level, before), Sweeps(level, after)
        levels.append(copy)
    return pyamg.MultilevelSolver(levels, coarse_solver="pinv")


class Sweeps:
    """So many sweeps of a level's smoother, as PyAMG calls them."""

    def __init__(self, level: Any, sweeps: int):
        self.level, self.sweeps = level, sweeps

    def __call__(self, A: Any, x: Any, b: Any) -> None:
        space = Space(self.level, 1, self.level.csr.data.dtype, False, False)
        own, given = (np.ascontiguousarray(vector).reshape(-1, 1) for vector in (x, b))
        other = np.empty_like(own)
        smoother = self.level.smoother
        smoother.go_on(space, given, own, other, self.sweeps)
        x[:] = (own if smoother.swaps(self.sweeps, False) % 2 == 0 else other).reshape(x.shape)
