"""Compile ahead what a study runs, so that no case's times have it in them."""

from __future__ import annotations

import contextlib
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from linforest_precond import matrices
from linforest_precond.backends.cpu.runtime.jit import cache_folder
from linforest_precond.precond.jacobi import jacobi
from linforest_precond.precond.tridiagonal.operators import tridiagonal
from linforest_precond.precond.tridiagonal.solver import BlockTridiagonalSolver
from linforest_precond.study.convergence import System, convergence
from linforest_precond.study.coverage import coverages
from linforest_precond.study.performance import performance
from linforest_precond.study.settings import Settings

SIDE = 12
# The pattern is symmetric, the values are not.
FLOW = ((0, -1, 0), (-1.5, 5, -0.5), (0, -1, 0))
PATIENCE = 300  # seconds


def warm_up(settings: Settings) -> None:
    """Measure two small systems, one symmetric and one not, and forget what came out."""
    measures = {
        "coverage": coverages,
        "convergence": lambda A: convergence(A, maxiter=2, permutations=1),
        "performance": performance,
    }
    if settings.device == "cpu" and "convergence" in settings.parts and _is_cold():
        with _second_process() as process:
            _compile_all_but_bands()
            process.wait(PATIENCE)
    for A in _systems(settings.device):
        for part in settings.parts:
            measures[part](A)


def _systems(device: str) -> list[Any]:
    shape = (SIDE, SIDE)
    return [matrices.aniso(2, SIDE, device=device), matrices.stencil(shape, FLOW, device=device)]


def _is_cold() -> bool:
    """Whether Numba's cache is there but empty: it takes a minute to compile everything."""
    folder = cache_folder()
    return folder is not None and not any(Path(folder).glob("*.nbi"))


@contextlib.contextmanager
def _second_process() -> Iterator[subprocess.Popen]:
    """One that fills the cache too: Numba compiles on one core. What it fails to do is done by this one."""
    program = f"from {__name__} import compile_bands; compile_bands()"
    nowhere = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    process = subprocess.Popen([sys.executable, "-c", program], **nowhere)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def compile_bands() -> None:
    """The solves with tridiagonal and block tridiagonal systems, which need no forest."""
    for A in _systems("cpu"):
        tridiagonal(A, ordering="original") @ np.ones(A.shape[0])
    blocks = np.tile(np.eye(2), (SIDE, 1, 1))
    BlockTridiagonalSolver(0.1 * blocks, blocks, 0.1 * blocks).solve(np.ones(2 * SIDE))


def _compile_all_but_bands() -> None:
    """Factors and forests, and the solver."""
    for A in _systems("cpu"):
        coverages(A)
        System(A, 0.1, 2).solve(jacobi(A))
