"""Compilation of all kernels of the study ahead of the timed calls."""

from __future__ import annotations

import contextlib
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from linforest_precond import matrices
from linforest_precond.backends.cpu.runtime.jit import cache_folder, threads_for_small_arrays
from linforest_precond.precond.relaxation.jacobi import jacobi
from linforest_precond.precond.tridiagonal.solver import BlockTridiagonalSolver
from linforest_precond.precond.tridiagonal.tridiagonal import tridiagonal
from linforest_precond.study.forests.convergence import System, convergence
from linforest_precond.study.forests.coverage import coverages
from linforest_precond.study.forests.performance import performance
from linforest_precond.study.forests.settings import ForestSettings

SIDE = 12
# Convection and diffusion: the pattern is symmetric, the values are not.
FLOW = ((0, -1, 0), (-1.5, 5, -0.5), (0, -1, 0))
PATIENCE = 300  # seconds


def warm_up(settings: ForestSettings) -> None:
    """Measure two small systems, one symmetric and one not, and discard the results."""
    measures = {
        "coverage": coverages,
        "convergence": lambda A: convergence(
            A, maxiter=2, permutations=1, further=settings.precond, multigrid=settings.multigrid
        ),
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
    """Whether Numba's cache exists but is empty: compiling everything takes a minute."""
    folder = cache_folder()
    return folder is not None and not any(Path(folder).glob("*.nbi"))


@contextlib.contextmanager
def _second_process() -> Iterator[subprocess.Popen[bytes]]:
    """A second process that fills the cache: Numba compiles on one core. If it fails, this one compiles."""
    program = f"from {__name__} import compile_bands; compile_bands()"
    null = subprocess.DEVNULL
    command = [sys.executable, "-c", program]
    process = subprocess.Popen(command, stdin=null, stdout=null, stderr=null)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def compile_bands() -> None:
    """Compile the solves with tridiagonal and block tridiagonal systems, which need no forest."""
    with threads_for_small_arrays():
        for A in _systems("cpu"):
            tridiagonal(A, ordering="original") @ np.ones(A.shape[0])
        blocks = np.tile(np.eye(2), (SIDE, 1, 1))
        BlockTridiagonalSolver(0.1 * blocks, blocks, 0.1 * blocks).solve(np.ones(2 * SIDE))


def _compile_all_but_bands() -> None:
    """Compile factors, forests and the Krylov solver."""
    for A in _systems("cpu"):
        coverages(A)
        System(A, 0.1, 2).solve(jacobi(A))
