"""`pyamg_solver` converts a hierarchy to a `MultilevelSolver` of PyAMG."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse

from linforest_precond.matrix.value_range import shifted
from linforest_precond.package_imports import optional_module
from linforest_precond.precond.multigrid.hierarchy_level import Level
from linforest_precond.precond.multigrid.level_vectors import LevelVectors


def pyamg_solver(hierarchy: Any) -> Any:
    """A `MultilevelSolver` with the levels and smoothers of a hierarchy on the CPU."""
    if hierarchy._operator._backend.sparse is not scipy.sparse:
        raise TypeError("to_pyamg needs a hierarchy on the CPU: PyAMG works there alone")
    if hierarchy._operator._part is not hierarchy._part:
        raise ValueError("to_pyamg needs a hierarchy that is set up without scaling=, got a scaled one")
    pyamg = optional_module("pyamg", "to_pyamg needs PyAMG: pip install pyamg")
    applied, levels = hierarchy._operator._applied, []
    part, exponent = applied.part, applied.exponent
    for shown, level in zip(hierarchy._levels_of(applied), part.levels):
        copy = pyamg.MultilevelSolver.Level()
        copy.A = scipy.sparse.csr_matrix(shown.A)
        if level.transfer is not None:
            copy.P, copy.R = (scipy.sparse.csr_matrix(matrix) for matrix in (shown.P, shown.R))
            copy.presmoother = PyamgSmoother(level, part.options.presmooth, exponent)
            copy.postsmoother = PyamgSmoother(level, part.options.postsmooth, exponent)
        levels.append(copy)
    return pyamg.MultilevelSolver(levels, coarse_solver="pinv")


class PyamgSmoother:
    """A level's smoother as PyAMG calls it; the level's matrix is PyAMG's times 2**-exponent."""

    def __init__(self, level: Level, sweeps: int, exponent: int):
        self.level, self.sweeps, self.exponent = level, sweeps, exponent

    def __call__(self, A: Any, x: Any, b: Any) -> None:
        level, dtype = self.level, self.level.csr.data.dtype
        vectors = LevelVectors(level.csr, level.matrix, 1, dtype, transpose=False)
        own_x, own_b = (np.ascontiguousarray(vector).reshape(-1, 1) for vector in (x, b))
        own_b = shifted(own_b, -self.exponent) if self.exponent else own_b
        other = np.empty_like(own_x)
        smoother = level.smoother
        assert smoother is not None
        smoother.smooth(vectors, own_b, own_x, other, self.sweeps)
        x[:] = (own_x if smoother.buffer_swaps(self.sweeps, False) % 2 == 0 else other).reshape(x.shape)
