"""Setup, tridiagonal solves and Krylov iterations on the CPU, compared with SciPy and LAPACK."""

from __future__ import annotations

from functools import partial

import numba
import numpy as np
import scipy.sparse.linalg
from scipy.linalg import lapack

import linforest_precond as lf
from benchmarks.measures import targets
from benchmarks.measures.iteration_time import SOLVERS, IterationTimer
from benchmarks.measures.results import Row
from benchmarks.systems import cases
from linforest_precond import solvers
from linforest_precond.precond.tridiagonal.solver import solver_of
from linforest_precond.study import timing
from linforest_precond.study.timing import numba_threads


def measurements(plan):
    """(title, function that yields rows) of the measurements in this module."""
    yield "whole chain on the CPU", partial(chain_rows, plan)
    yield "small matrices on the CPU", partial(small_rows, plan)
    yield "solves on the CPU", partial(solve_rows, plan)
    yield "solves with pivoting on the CPU", partial(pivoted_rows, plan)
    for case in cases.CPU_SOLVER_CASES:
        yield f"iterations on the CPU, {case.__name__}", partial(iteration_rows, plan, case)


def chain_rows(plan):
    """The chain from a matrix to its bands, on the threads of its target and on all."""
    title, A = cases.cpu_grid(plan)
    x = np.ones(A.shape[0], A.dtype)
    spmv = timing.host_samples(lambda: A @ x, 5 * plan.cpu_repeats)
    all_threads = numba.get_num_threads()
    few = min(cases.CPU_THREADS, all_threads)
    for threads in sorted({few, all_threads}):
        with numba_threads(threads):
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
            **(targets.CPU_CHAIN if threads == few else {"judged": "median"}),
        )


def small_rows(plan):
    """Setups and products for few rows, which calls from Python and thread starts would dominate."""
    for title, A in cases.small_systems(plan):
        r = np.ones(A.shape[0])
        for make, target in targets.CPU_SMALL_SETUPS.items():
            M = getattr(lf, make)(A)
            M = M.aspreconditioner() if make == "multilevel" else M
            calls = {
                f"lf.{make}(A)": partial(getattr(lf, make), A),
                f"M @ r of lf.{make}": partial(M.__matmul__, r),
            }
            for name, call in calls.items():
                samples = [1e3 * sample for sample in timing.host_samples(call, 10 * plan.cpu_repeats)]
                bound = target if name.startswith("lf.") else {}
                note = f"{A.shape[0]:,} rows, {A.nnz:,} entries"
                yield Row(
                    "cpu small", name, title, samples, backend="cpu", judged="median", note=note, **bound
                )  # fmt: skip


def solve_rows(plan):
    """Solves along the many paths of a grid, and along one path."""
    title, A = cases.cpu_grid(plan)
    _, bands = lf.pipeline.tridiagonal_bands(A)
    yield from lapack_rows(plan, f"{title} along its paths", bands, (pttrs, gttrs))
    yield from lapack_rows(plan, *cases.one_path(A.shape[0], A.dtype), (pttrs, gttrs))


def pivoted_rows(plan):
    yield from lapack_rows(plan, *cases.needs_pivoting(plan.cpu_grid**2, "float64"), (gttrs,))


def lapack_rows(plan, case, bands, peers):
    """Solves with one right-hand side on one thread; neither side factors inside the time."""
    solver = solver_of(bands)
    b = cases.right_sides(solver.n, 1, solver.dtype)
    with numba_threads(1):
        samples = solve_samples(plan, solver.solve, b)
    error = cases.backward_error(bands, b, solver.solve(b))
    for peer in peers:
        yield Row(
            "cpu solves",
            f"solve{' with pivoting' if solver.pivoted else ''} beside {peer.__name__}",
            case,
            samples,
            backend="cpu",
            peer=f"LAPACK {peer.__name__}",
            peer_samples=solve_samples(plan, peer(bands), b),
            note=f"{solver.n:,} rows, backward error {error:.1e}",
            **targets.CPU_SOLVE,
        )


def solve_samples(plan, solve, b):
    """Milliseconds of solves; each allocates its solution."""
    return [1e3 * sample for sample in timing.host_samples(lambda: solve(b), 5 * plan.cpu_repeats)]


def pttrs(bands):
    """LAPACK's solve for positive definite matrices, factored."""
    diagonal, off_diagonal, info = lapack.dpttrf(bands.diagonal, bands.upper[:-1])
    if info:
        raise RuntimeError(f"dpttrf found the bands not positive definite at row {info}")
    return partial(lapack.dpttrs, diagonal, off_diagonal)


def gttrs(bands):
    """LAPACK's solve with partial pivoting, factored."""
    *factors, info = lapack.dgttrf(bands.lower[1:], bands.diagonal, bands.upper[:-1])
    if info:
        raise RuntimeError(f"dgttrf found a zero pivot at row {info}")
    return partial(lapack.dgttrs, *factors)


def iteration_rows(plan, case):
    """Iterations of our solvers on all threads, beside SciPy's."""
    title, A = case(plan)
    b = cases.right_sides(A.shape[0], 1, A.dtype)[:, 0]
    for name in SOLVERS:
        pair = [getattr(module, name) for module in (solvers, scipy.sparse.linalg)]
        timer = IterationTimer(A, b, more=plan.iterations // 2, clock=timing.host_time)
        timer.check(*pair)
        samples, peer_samples = timer.samples(pair, 2 * plan.cpu_repeats)
        yield Row(
            "cpu iterations",
            f"lf.solvers.{name}",
            title,
            samples,
            backend="cpu",
            peer=f"SciPy {name}",
            peer_samples=peer_samples,
            note=f"{A.shape[0]:,} rows",
            **targets.CPU_ITERATION,
        )
