"""How a solve ended: info with its report, and one warning that names the cause and a cure."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import numpy.typing as npt

from linforest_precond.backends.annotations import Array
from linforest_precond.chooser.chooser import Chooser
from linforest_precond.chooser.report import SolveReport
from linforest_precond.solvers.problem import Problem
from linforest_precond.solvers.status import Status

Made = TypeVar("Made")


class ReportedInfo(int):
    """
    The `info` of one system: an int as SciPy's solvers return it, with the report of the solve.

    Attributes
    ----------
    report : SolveReport
        What was tried and why.
    """

    report: SolveReport

    def __new__(cls, value: int, report: SolveReport) -> ReportedInfo:
        info = super().__new__(cls, value)
        info.report = report
        return info

    if not TYPE_CHECKING:  # type checkers would take any name

        def __getattr__(self, name: str) -> Any:
            raise AttributeError(f"info is an int and has no {name!r}: see info.report, info.report.history")

    def __reduce__(self) -> tuple[type[int], tuple[int]]:
        """Pickled and copied as a plain int."""
        return int, (int(self),)


class ReportedInfos(np.ndarray[Any, np.dtype[np.int64]]):
    """The `info` of several systems: an array of int, with the report of the solve."""

    report: SolveReport | None = None  # none after arithmetic and pickling


def with_report(x: Array, info: npt.NDArray[np.int64], one: bool, report: SolveReport) -> tuple[Array, Any]:
    """x and info as they are returned; of one system, x has the shape (n,)."""
    if one:
        return x.reshape(-1), ReportedInfo(int(info[0]), report)
    infos = info.view(ReportedInfos)
    infos.report = report
    return x, infos


def quietly(make: Callable[..., Made], *arguments: Any) -> Made:
    """Set up or update a preconditioner without its warnings: most are of candidates that are not chosen."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        return make(*arguments)


def info_of(chooser: Chooser, is_late: bool) -> int:
    """The status of a solve that did not converge; 0 where it is the number of iterations."""
    if is_late:
        return int(Status.TIME_LIMIT)
    if any(trial.status is Status.UNATTAINABLE for trial in chooser.trials):
        return int(Status.UNATTAINABLE)
    if any(trial.is_at_rounding for trial in chooser.trials):
        return int(Status.STAGNATED)
    factored = [trial for trial in chooser.trials if trial.candidate.is_direct and not trial.is_stale]
    has_no_factors = chooser.has_no_factors or any(trial.has_failed for trial in factored)
    return int(Status.SINGULAR) if chooser.facts.is_singular or has_no_factors else 0


def complaint(
    chooser: Chooser,
    problem: Problem,
    info: npt.NDArray[np.int64],
    relative_residual: float,
    contradiction: str | None,
) -> str:
    """The cause, and one cure, in at most 300 characters."""
    facts, status = chooser.facts, int(info.min())
    reached = f"the relative residual is {relative_residual:.1e}"
    precise = "" if np.finfo(problem.b.dtype).bits == 64 else ", or use double precision"
    if problem.zero_rows:
        return problem.contradiction
    if status == Status.UNATTAINABLE:
        return (
            f"The tolerance is below what {problem.b.real.dtype} can verify for this A: rounding errors of x "
            f"cause a larger residual; {reached}. Raise rtol{precise}, or scale the system."
        )
    if facts.structural_rank < facts.rows:
        rows = ", ".join(map(str, facts.dependent_rows))
        return (
            f"A is structurally singular: its rank is at most {facts.structural_rank:,} of {facts.rows:,}; "
            f"the entries of rows {rows} lie in columns that other rows need. Remove these equations, or use "
            "scipy.sparse.linalg.lsqr."
        )
    if facts.centered and status == Status.SINGULAR:
        return (
            "A is singular: it maps constants to 0, and b has a constant part, so that no x solves the "
            'system. Pass nullspace="constant" to project it out.'
        )
    if contradiction:
        return contradiction
    if status == Status.SINGULAR:
        return (
            f"A is singular to working precision, or nearly so: {reached}. Check the equations, raise rtol, "
            "or use scipy.sparse.linalg.lsqr for a least squares solution."
        )
    if status == Status.TIME_LIMIT:
        return f"time_limit has passed: {reached}. Raise time_limit, or continue with x0=x."
    if status == Status.STAGNATED:
        return f"Rounding errors limit the residual: {reached}. Raise rtol{precise}."
    is_limited = any(trial.status is Status.MAXITER for trial in chooser.trials)
    if problem.most_iterations < problem.b.shape[0] and is_limited:
        return f"maxiter={problem.most_iterations:,} iterations did not suffice: {reached}. Raise maxiter."
    return (
        f"solve did not reach the tolerance: {reached}; no method converged, and a direct factorization "
        "does not fit or is not accurate. Check A and b, or raise rtol."
    )
