"""The ways to solve a system that `benchmarks/pages/solve_times.py` times: `lf.solve`, and others by hand."""

from __future__ import annotations

import math
import time
import warnings
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import splu

import linforest_precond as lf
from linforest_precond.matrices.arrays import array_modules, on_device
from linforest_precond.solvers.status import Status

RTOL = 1e-8
# Residuals are computed here once more, with other rounding errors.
VERIFIED = 1.01 * RTOL
MOST_ITERATIONS = 10_000
# Iterations that are timed to predict how many fit into the limit.
TRIED_ITERATIONS = 8
# A call below this many seconds is repeated: the first one may compile. The least time counts.
LONG_CALL = 10.0
# Calls are repeated up to this number while they take less than a second together.
REPEATED = 5
SOLVED, NOT_APPLICABLE = "solved", "not applicable"


class NotApplicable(Exception):  # noqa: N818
    """The method is not meant for the system."""


@dataclass
class Problem:
    """A x = b on a device; the matrix is copied before each run, so that nothing is known of it."""

    A: Any
    b: Any
    A2: Any = None
    device: str = "cpu"

    @classmethod
    def of(cls, system, device) -> Problem:
        A2 = None if system.A2 is None else on_device(system.A2, device)
        A = on_device(system.A, device)
        return cls(A, to_device(system.b, device), A2, device)

    @cached_property
    def is_positive(self) -> bool:
        """Whether A is Hermitian, to rounding, with a positive diagonal."""
        diagonal = self.A.diagonal()
        if not bool((diagonal.real > 0).all()):
            return False
        difference = self.A - self.A.conj().T.tocsr()
        return float(abs(difference).max()) <= 1e-14 * float(abs(self.A).max())

    @cached_property
    def another_side(self) -> Any:
        random = np.random.default_rng(1).standard_normal(self.A.shape[0])
        return to_device(random.astype(self.b.dtype), self.device)

    def copied(self) -> Problem:
        copy = Problem(self.A.copy(), self.b, self.A2, self.device)
        copy.is_positive = self.is_positive
        return copy

    def residual(self, x, A=None, b=None) -> float:
        """The relative one; NaN where x has NaN."""
        A, b = self.A if A is None else A, self.b if b is None else b
        return norm(b - A @ x) / norm(b)

    def timed(self, call, *arguments, **options):
        """Seconds of a call on an idle device, until its work is done, and its result."""
        finish(self.device)
        start = time.perf_counter()
        result = call(*arguments, **options)
        finish(self.device)
        return time.perf_counter() - start, result


@dataclass
class Run:
    """Seconds of the setup and of the solve, the relative residual, and remarks."""

    setup: float
    solve: float
    residual: float
    remarks: dict[str, Any]

    @property
    def seconds(self) -> float:
        return self.setup + self.solve

    @property
    def is_solved(self) -> bool:
        return self.residual <= VERIFIED

    def as_dict(self) -> dict:
        outcome = SOLVED if self.is_solved else f"residual {self.residual:.1e}"
        times = {"seconds": self.seconds, "setup": self.setup, "solve": self.solve}
        return {"outcome": outcome, **times, **self.remarks}


def to_device(b, device):
    return array_modules(device)[0].asarray(b)


def finish(device) -> None:
    if device == "cuda":
        array_modules(device)[0].cuda.Device().synchronize()


def norm(x) -> float:
    return math.sqrt(float((x.conj() * x).real.sum()))


def chosen(problem, limit) -> Run:
    report = lf.SolveReport()
    spent, (x, _) = problem.timed(lf.solve, problem.A, problem.b, rtol=RTOL, report=report)
    return Run(0.0, spent, problem.residual(x), {"chosen": getattr(report.chosen, "name", "")})


def solver_of(problem):
    """After its first solve."""
    solver = lf.Solver(problem.A)
    solver.solve(problem.b)
    return solver


def second_side(problem, limit) -> Run:
    """Another right-hand side for the same matrix."""
    solver, b = solver_of(problem), problem.another_side
    spent, (x, _) = problem.timed(solver.solve, b)
    return Run(0.0, spent, problem.residual(x, b=b), {})


def updated(problem, limit) -> Run:
    """A later matrix with the same pattern."""
    if problem.A2 is None:
        raise NotApplicable
    solver = solver_of(problem)
    setup, _ = problem.timed(solver.update, problem.A2)
    spent, (x, _) = problem.timed(solver.solve, problem.b)
    return Run(setup, spent, problem.residual(x, A=problem.A2), {})


def refined(solve, A, b):
    """With one step of iterative refinement."""
    x = solve(b)
    return x + solve(b - A @ x)


def superlu(problem, limit, **options) -> Run:
    """SciPy's SuperLU on the host, copies from and to the device included."""

    def factored():
        A = problem.A.get() if problem.device == "cuda" else problem.A
        return A, splu(sp.csc_array(A), **options)

    def solved(A, factors):
        b = problem.b.get() if problem.device == "cuda" else problem.b
        return to_device(refined(factors.solve, A, b), problem.device)

    setup, (A, factors) = problem.timed(factored)
    spent, x = problem.timed(solved, A, factors)
    return Run(setup, spent, problem.residual(x), {"fill": round(factors.nnz / A.nnz, 2)})


def direct(problem, limit) -> Run:
    setup, M = problem.timed(lf.direct, problem.A)
    spent, x = problem.timed(refined, M.__matmul__, problem.A, problem.b)
    return Run(setup, spent, problem.residual(x), {})


def pyamg_solve(problem, limit) -> Run:
    if problem.device == "cuda" or problem.A.dtype.kind == "c":
        raise NotApplicable
    import pyamg

    A = sp.csr_matrix(problem.A)
    most = min(400, A.shape[0])  # its default; it warns of more than A's rows
    spent, x = problem.timed(pyamg.solve, A, problem.b, tol=RTOL, maxiter=most, verb=False)
    return Run(0.0, spent, problem.residual(x), {})


def preconditioned(problem, limit, make, is_matched=False) -> Run:
    """A preconditioner with CG or BiCGStab; with GMRES where that does not converge."""
    if is_matched and problem.is_positive:
        raise NotApplicable
    setup, M = problem.timed(make, problem.A)
    run = Run(setup, 0.0, math.nan, {})
    first, second = "cg" if problem.is_positive else "bicgstab", "gmres"
    for method, share in ((first, 0.5), (second, 1.0)):
        solver = partial(getattr(lf.solvers, method), problem.A, problem.b, rtol=RTOL, M=M)
        tried, _ = problem.timed(solver, maxiter=TRIED_ITERATIONS)
        most = int(share * (limit - setup) / (tried / TRIED_ITERATIONS))
        if most < 1:
            return run
        spent, (x, info) = problem.timed(solver, maxiter=min(most, MOST_ITERATIONS))
        remarks = {"krylov": method, "status": str(Status.from_info(info))}
        run = Run(setup, spent, problem.residual(x), remarks)
        if run.is_solved:
            return run
        limit -= tried + spent
    return run


def cycles(A, **options):
    return lf.multilevel(A, **options).aspreconditioner()


MAKERS = {
    "jacobi": lf.jacobi,
    "tridiagonal": lf.tridiagonal,
    "block_tridiagonal": lf.block_tridiagonal,
    "ilu": lf.ilu,
    "approximate_inverse": lf.approximate_inverse,
    "multilevel": cycles,
}
MATCHED = ("block_tridiagonal", "ilu", "approximate_inverse")
SYMMETRIC_MODE = {
    "permc_spec": "MMD_AT_PLUS_A",
    "diag_pivot_thresh": 0.001,
    "options": {"SymmetricMode": True},
}
# What is measured of `lf.solve`; all other methods are by hand.
OWN = {"solve": chosen, "second side": second_side, "update": updated}
# The methods by group; each is called with the problem and a limit of seconds.
GROUPS = {
    "solve": OWN if hasattr(lf, "Solver") else {"solve": chosen},
    "direct": ({"direct": direct} if hasattr(lf, "direct") else {})
    | {
        "splu COLAMD": partial(superlu, permc_spec="COLAMD"),
        "splu MMD": partial(superlu, **SYMMETRIC_MODE),
    },
    "pyamg": {"pyamg": pyamg_solve},
    "hand": {name: partial(preconditioned, make=make) for name, make in MAKERS.items()}
    | {
        f"{name} + matching": partial(
            preconditioned, make=partial(MAKERS[name], scaling="matching"), is_matched=True
        )
        for name in MATCHED
    },
}
METHODS = {name: call for group in GROUPS.values() for name, call in group.items()}


def measured(problem, method, limit) -> dict:
    """The fastest of some runs of a method; an error is an outcome too."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return fastest(problem, method, limit).as_dict()
        except NotApplicable:
            return {"outcome": NOT_APPLICABLE}
        except Exception as error:
            return {"outcome": f"{type(error).__name__}: {error}"[:200]}


def fastest(problem, method, limit) -> Run:
    call, runs, together = METHODS[method], [], 0.0
    while len(runs) < REPEATED:
        start = time.perf_counter()
        runs.append(call(problem.copied(), limit))
        spent = time.perf_counter() - start
        together += spent
        is_warm = len(runs) > 1 or spent > LONG_CALL
        if is_warm and (together > 1.0 or not runs[-1].is_solved):
            break
    return min(runs, key=lambda run: (not run.is_solved, run.seconds))


def warm_up(dtype, device, methods) -> None:
    """Compile what the methods need, with a small system that is symmetric and one that is not.

    `lf.solve` gets a third one, whose rows have to be matched.
    """
    symmetric, other = lf.matrices.poisson((50, 50)), lf.matrices.convection_diffusion((50, 50), (1.0, 0.5))
    for A, used in ((symmetric, methods), (other, methods), (other[::-1], {"solve"} & set(methods))):
        A = on_device(sp.csr_array(A.astype(dtype)), device)
        problem = Problem(A, to_device(np.ones(A.shape[0], dtype), device), A.copy(), device)
        for method in used:
            measured(problem, method, LONG_CALL)
