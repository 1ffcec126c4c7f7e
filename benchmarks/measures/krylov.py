"""Krylov solvers on the GPU: products and iterations compared with cupyx, and time to solution."""

from __future__ import annotations

import math
import statistics
from functools import partial, wraps

import cupy
import cupyx.scipy.sparse.linalg
import numpy as np

import linforest_precond as lf
from benchmarks.measures import preconditioners, targets
from benchmarks.measures.iteration_time import SOLVERS, IterationTimer
from benchmarks.measures.results import Row
from benchmarks.systems import cases
from linforest_precond import solvers
from linforest_precond.backends import backend_of
from linforest_precond.matrices.arrays import on_device
from linforest_precond.matrix.checked import checked
from linforest_precond.solvers.reordering import Reordering
from linforest_precond.study import timing

# Limits of a solve: iterations, and milliseconds as extrapolated from a trial of a few iterations.
MOST_ITERATIONS = 20_000
LONGEST_SOLVE = 15_000
TRIAL_ITERATIONS = 5
# A system is not solved where the time limit allows fewer iterations than this.
FEWEST_ITERATIONS = 200
# Milliseconds beyond which a solve is not repeated.
LONG_SOLVE = 1000
SOLVE_REPEATS = 3
# The solvers verify b - A x themselves; recomputed here, it rounds differently.
LARGEST_RESIDUAL = 1.01 * cases.RTOL
# The largest relative difference between our product and cupyx's, in units of machine epsilon.
LARGEST_ROUNDING = 1000


def measurements(plan):
    """(title, function that yields rows) of all solvers."""
    for case in (cases.aniso2, cases.cube, skewed):
        for dtype in preconditioners.DTYPES:
            yield f"products of {case.__name__}, {dtype}", partial(product_rows, plan, case, dtype)
    for name in SOLVERS:
        yield f"small iterations of {name}", partial(small_rows, plan, name)
        yield f"iterations of {name}", partial(large_rows, plan, name)
        yield f"preconditioned iterations of {name}", partial(preconditioned_rows, plan, name)
    yield "A in the order of lf.tridiagonal", partial(permutation_rows, plan)
    for case, name in cases.SOLVED_CASES.items():
        for kind in KINDS:
            yield f"solution of {case.__name__}, {kind}", partial(solution_rows, plan, case, name, kind)


def skewed(plan, dtype, device):
    title, A = cases.skewed(plan)
    return title, on_device(A.astype(dtype), device)


def product_rows(plan, case, dtype):
    """A product inside the solvers beside cupyx's."""
    title, A = case(plan, dtype=dtype, device="cuda")
    yield Row(
        "products",
        "A x inside lf.solvers",
        title,
        product_samples(plan, A),
        dtype,
        note=f"{A.shape[0]:,} rows, {A.nnz:,} entries",
        **preconditioners.unit(plan, A),
        **targets.PRODUCT,
    )


def product_samples(plan, A):
    """Of products with one vector, calls queued; raises where they differ from cupyx's."""
    krylov, (n, _) = backend_of(A).krylov, A.shape
    product = krylov.spmv.Product(checked(A), A.dtype, is_csr=True)
    limits = {"targets": np.zeros(1), "largest_growth": math.inf, "most_iterations": 1}
    space = krylov.vector_space.KrylovSpace(n, 1, A.dtype, ("product",), **limits)
    space["x"][:, 0] = cupy.asarray(cases.right_sides(n, 1, A.dtype)[:, 0])
    samples = timing.device_samples(
        lambda: space.multiply(product, "x", "product"), plan.short_repeats, queued=True
    )
    expected = A @ space["x"][:, 0]
    difference = float(abs(space["product"][:, 0] - expected).max() / abs(expected).max())
    if not difference <= LARGEST_ROUNDING * np.finfo(A.dtype).eps:
        raise RuntimeError(f"the product with {A.shape[0]:,} rows differs from cupyx's by {difference:.1e}")
    return samples


def small_rows(plan, name):
    title, A = cases.small_grid(plan, device="cuda")
    yield beside_cupyx("small iterations", title, A, plan, name, plan.iterations, **targets.SMALL_ITERATION)


def large_rows(plan, name):
    title, A = cases.aniso2(plan, device="cuda")
    yield beside_cupyx("iterations", title, A, plan, name, plan.iterations // 4, **targets.ITERATION[name])


def beside_cupyx(section, title, A, plan, name, more, **goals):
    solver, peer = pair_of(name)
    timer = timer_of(A, more)
    timer.check(solver, peer)
    samples, peer_samples = timer.samples((solver, peer), plan.solver_repeats)
    return Row(
        section,
        f"lf.solvers.{name}",
        title,
        samples,
        peer=f"cupyx {name}",
        peer_samples=peer_samples,
        note=f"{A.shape[0]:,} rows, {more} iterations",
        **goals,
    )


def preconditioned_rows(plan, name):
    """An iteration beside its products with A and M, in A's order: the least that it can take there."""
    title, A = cases.aniso2(plan, device="cuda")
    M = lf.tridiagonal(A)
    solver, peer = pair_of(name)
    timer = timer_of(A, plan.iterations // 4, M)
    ours = solver, reordered(solver)
    for each in ours:
        timer.check(each, peer)
    samples, reordered_samples = timer.samples(ours, plan.solver_repeats)
    spmv = preconditioners.unit(plan, A)["peer_samples"]
    apply = preconditioners.apply_samples(plan, M, A)
    count = SOLVERS[name]
    beside = partial(
        Row,
        "preconditioned iterations",
        case=title,
        peer=f"{count} × ({preconditioners.SPMV} and M @ r)",
        peer_samples=[count * sum(both) for both in zip(spmv, apply)],
        note=f"A @ x {statistics.median(spmv):.4f} ms, M @ r {statistics.median(apply):.4f} ms",
    )
    goals = targets.PRECONDITIONED_ITERATION[name]
    yield beside(f"lf.solvers.{name}", samples=samples, **goals)
    yield beside(f"lf.solvers.{name} with reorder=True", samples=reordered_samples)


def reordered(solver):
    """The solver in the order of its M, from A in its own order to x in that."""

    @wraps(solver)
    def solve(*arguments, **options):
        return solver(*arguments, reorder=True, **options)

    return solve


def permutation_rows(plan):
    """What `reorder=True` adds to a solve: A permuted once; and what it saves, in a product with M."""
    title, A = cases.aniso2(plan, device="cuda")
    M, csr = lf.tridiagonal(A), checked(A)
    reordering = Reordering(M.ordering)
    beside = partial(Row, "operators", case=title, **preconditioners.unit(plan, A))
    samples = timing.device_samples(lambda: reordering.matrix(csr), plan.short_repeats)
    yield beside("A in the order of lf.tridiagonal(A)", samples=samples)
    samples = preconditioners.apply_samples(plan, M.permuted, A)
    yield beside("lf.tridiagonal(A).permuted @ r, calls queued", samples=samples)


def pair_of(name):
    """Our solver and cupyx's."""
    return getattr(solvers, name), getattr(cupyx.scipy.sparse.linalg, name)


def timer_of(A, more, M=None):
    b = cupy.asarray(cases.right_sides(A.shape[0], 1, A.dtype)[:, 0])
    return IterationTimer(A, b, more, timing.device_time, M)


def ilu0(A):
    """ILU(0) of cuSPARSE through cupyx, which splits the factors on the host."""
    factors = cupyx.scipy.sparse.linalg.spilu(A, fill_factor=1)
    return cupyx.scipy.sparse.linalg.LinearOperator(A.shape, matvec=factors.solve, dtype=A.dtype)


KINDS = {
    "none": lambda A: None,
    "Jacobi": lf.jacobi,
    "ILU(0) (cupyx `spilu`)": ilu0,
    "AlgTriScal": lf.tridiagonal,
    "AlgTriBlock": lf.block_tridiagonal,
}
# Setups that are timed once, without a call that compiles before.
SLOW_SETUPS = (ilu0,)


def solution_rows(plan, case, name, kind):
    """Setup and solve with one preconditioner."""
    title, A = case(plan, device="cuda")
    setup, M = setup_time(KINDS[kind], A)
    solution = Solution(getattr(solvers, name), A, M)
    solves, outcome = solution.samples_and_outcome()
    note = f"setup {setup:.1f} ms, {outcome}" if kind != "none" else outcome
    yield Row("solution", kind, title, [setup + solve for solve in solves], note=note)


def setup_time(make, A):
    """Milliseconds of the setup, and the preconditioner."""
    if make in SLOW_SETUPS:
        return timing.device_time(partial(make, A))
    make(A)  # compiles
    runs = [timing.device_time(partial(make, A)) for _ in range(SOLVE_REPEATS)]
    return statistics.median(run[0] for run in runs), runs[-1][1]


class Solution:
    """A system that is solved to cases.RTOL within the limits above."""

    def __init__(self, solver, A, M):
        self.solver, self.A, self.M = solver, A, M
        self.b = A @ cupy.asarray(cases.smooth_solution(A.shape[0]))

    def samples_and_outcome(self):
        """Milliseconds of each solve, and the outcome in words."""
        self.solve(1)  # compiles
        trial = self.solve(TRIAL_ITERATIONS)[0]
        most = min(MOST_ITERATIONS, int(LONGEST_SOLVE * TRIAL_ITERATIONS / trial))
        if most < FEWEST_ITERATIONS:
            each = trial / TRIAL_ITERATIONS
            return [trial], f"**not solved**: stopped after {TRIAL_ITERATIONS} iterations of {each:,.0f} ms"
        samples = []
        while not samples or (len(samples) < SOLVE_REPEATS and samples[0] < LONG_SOLVE):
            sample, x, info, history = self.solve(most)
            samples.append(sample)
        return samples, self.outcome(x, info, history)

    def solve(self, most):
        history = solvers.History()
        call = partial(self.solver, self.A, self.b, rtol=cases.RTOL, maxiter=most, M=self.M, history=history)
        sample, (x, info) = timing.device_time(call)
        return sample, x, info, history

    def outcome(self, x, info, history):
        count = f"{math.ceil(history.iterations[-1]):,} iterations"
        if info:
            return f"**not solved**: {solvers.Status.from_info(info)} after {count}"
        residual = self.residual(x)
        if not residual <= LARGEST_RESIDUAL:
            raise RuntimeError(f"{self.solver.__name__}: reported convergence at residual {residual:.1e}")
        return count

    def residual(self, x):
        return float(cupy.linalg.norm(self.b - self.A @ x) / cupy.linalg.norm(self.b))
