"""Slowdown of calls on the CPU while other processes keep its cores busy."""

from __future__ import annotations

import contextlib
import subprocess
import sys
from functools import partial

import numpy as np

import linforest_precond as lf
from benchmarks.measures import targets
from benchmarks.measures.results import Row
from benchmarks.systems import cases
from linforest_precond import solvers
from linforest_precond.study import timing

PROCESSES = 2
CG_ITERATIONS = 100


def measurements(plan):
    """(title, function that yields rows) of the measurements in this module."""
    yield f"calls beside {PROCESSES} busy processes", partial(busy_rows, plan)


def busy_rows(plan):
    title, A = cases.busy_grid(plan)
    b = np.ones(A.shape[0])
    calls = {
        "lf.tridiagonal": lambda: lf.tridiagonal(A),
        f"lf.solvers.cg, {CG_ITERATIONS} iterations": lambda: solvers.cg(A, b, rtol=0, maxiter=CG_ITERATIONS),
    }
    for name, call in calls.items():
        idle = timing.host_samples(call, plan.cpu_repeats)
        with busy_processes(PROCESSES):
            samples = timing.host_samples(call, plan.cpu_repeats)
        yield Row(
            "cpu busy",
            name,
            title,
            samples,
            backend="cpu",
            unit="s",
            peer="an idle machine",
            peer_samples=idle,
            **targets.BESIDE_BUSY_PROCESSES,
        )


@contextlib.contextmanager
def busy_processes(count):
    """Processes that compute without end."""
    with contextlib.ExitStack() as started:
        for _ in range(count):
            process = started.enter_context(subprocess.Popen([sys.executable, "-c", "while True: pass"]))
            started.callback(process.kill)
        yield
