"""The first call of a function with empty caches, and the same call in a second process."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from functools import partial

from benchmarks.measures import targets
from benchmarks.measures.results import Row

# Where compiled code is kept.
CACHES = "NUMBA_CACHE_DIR", "CUPY_CACHE_DIR", "XDG_CACHE_HOME", "CUDA_CACHE_PATH"

# Prints processor seconds on the CPU; on the GPU, where several threads compile, elapsed ones.
PROGRAM = """
import sys, time
name, device, side = sys.argv[1:]
clock = time.process_time if device == "cpu" else time.perf_counter
import linforest_precond as lf
if device == "cuda":
    import cupy as xp
else:
    import numpy as xp
A = lf.matrices.poisson((int(side), int(side)), device=device)
b = xp.ones(A.shape[0])
if device == "cuda":
    xp.cuda.Device().synchronize()
calls = {
    "lf.tridiagonal": lambda: lf.tridiagonal(A),
    "lf.block_tridiagonal": lambda: lf.block_tridiagonal(A),
    "lf.multilevel": lambda: lf.multilevel(A),
    "lf.solvers.cg": lambda: lf.solvers.cg(A, b, maxiter=20),
    "lf.solvers.bicgstab": lambda: lf.solvers.bicgstab(A, b, maxiter=20),
}
start = clock()
calls[name]()
if device == "cuda":
    xp.cuda.Device().synchronize()
print(clock() - start)
"""


def measurements(plan, device):
    """(title, function that yields rows) of the measurements in this module."""
    for name in plan.first_calls:
        for side in plan.first_call_grids:
            yield f"first call of {name}, {side}²", partial(first_call_rows, device, name, side)


def first_call_rows(device, name, side):
    with tempfile.TemporaryDirectory() as caches:
        for process in ("first", "second"):
            yield Row(
                "first calls",
                f"{name}, {process} process",
                f"5-point {side}²",
                [seconds(name, device, side, caches)],
                backend=device,
                unit="s",
                judged="median",
                **targets.FIRST_CALLS.get((device, process, name), {}),
            )


def seconds(name, device, side, caches):
    """The time of one call in a process of its own, imports and the matrix not counted."""
    environment = os.environ | {cache: os.path.join(caches, cache) for cache in CACHES}
    command = [sys.executable, "-c", PROGRAM, name, device, str(side)]
    return float(subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE).stdout)
