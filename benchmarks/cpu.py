"""The rows measured on the CPU, beside SciPy's `A @ x`."""

from __future__ import annotations

from functools import partial

import cases
import numba
import numpy as np
import timing
from results import Row

import linforest_precond as lf


def measurements(plan):
    """(title, function that yields rows) of everything that is measured on the CPU."""
    yield "whole chain on the CPU", partial(chain_rows, plan)


def chain_rows(plan):
    """The whole chain on the number of threads that the goal names, and on all."""
    title, A = cases.cpu_grid(plan)
    x = np.ones(A.shape[0], A.dtype)
    spmv = timing.host_samples(lambda: A @ x, 5 * plan.cpu_repeats)
    all_threads = numba.get_num_threads()
    few = min(cases.CPU_THREADS, all_threads)
    for threads in sorted({few, all_threads}):
        numba.set_num_threads(threads)
        samples = timing.host_samples(lambda: lf.pipeline.tridiagonal_bands(A), plan.cpu_repeats)
        yield Row(
            "cpu",
            f"whole chain, {threads} thread{'s' if threads > 1 else ''}",
            title,
            samples,
            backend="cpu",
            unit="s",
            peer="SciPy A @ x on 1 thread",
            peer_samples=spmv,
            note=f"{A.shape[0]:,} rows, {A.nnz:,} entries",
            **(cases.CPU_CHAIN if threads == few else {"judged": "median"}),
        )
    numba.set_num_threads(all_threads)
