"""How a solve ended: info with its report, and one warning that names the cause and a cure."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import numpy.typing as npt

from linforest_precond.backends.annotations import Array
from linforest_precond.chooser.chooser import Chooser
from linforest_precond.chooser.facts import Facts
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


@dataclass(frozen=True)
class Failure:
    """What is known of a solve that did not converge, as the sentences of CAUSES name it."""

    chooser: Chooser
    problem: Problem
    status: int
    relative_residual: float
    contradiction: str | None

    @property
    def facts(self) -> Facts:
        return self.chooser.facts

    @property
    def reached(self) -> str:
        return f"the relative residual is {self.relative_residual:.1e}"

    @property
    def precise(self) -> str:
        """A further cure in single precision."""
        return "" if np.finfo(self.problem.b.dtype).bits == 64 else ", or use double precision"

    @property
    def dependent_rows(self) -> str:
        return ", ".join(map(str, self.facts.dependent_rows))

    @property
    def is_limited(self) -> bool:
        """Whether the user's limit ended a run."""
        is_small = self.problem.most_iterations < self.problem.b.shape[0]
        return is_small and any(trial.status is Status.MAXITER for trial in self.chooser.trials)


# The causes and one cure of each; the first whose condition holds is told.
CAUSES: tuple[tuple[Callable[[Failure], Any], str], ...] = (
    (lambda it: it.problem.zero_rows, "{it.problem.contradiction}"),
    (
        lambda it: it.status == Status.UNATTAINABLE,
        "The tolerance is below what {it.problem.b.real.dtype} can verify for this A: rounding errors of x "
        "cause a larger residual; {it.reached}. Raise rtol{it.precise}, or scale the system.",
    ),
    (
        lambda it: it.facts.structural_rank < it.facts.rows,
        "A is structurally singular: its rank is at most {it.facts.structural_rank:,} of {it.facts.rows:,}; "
        "the entries of rows {it.dependent_rows} lie in columns that other rows need. Remove these "
        "equations, or use scipy.sparse.linalg.lsqr.",
    ),
    (
        lambda it: it.facts.centered and it.status == Status.SINGULAR,
        "A is singular: it maps constants to 0, and b has a constant part, so that no x solves the system. "
        'Pass nullspace="constant" to project it out.',
    ),
    (lambda it: it.contradiction, "{it.contradiction}"),
    (
        lambda it: it.status == Status.SINGULAR,
        "A is singular to working precision, or nearly so: {it.reached}. Check the equations, raise rtol, or "
        "use scipy.sparse.linalg.lsqr for a least squares solution.",
    ),
    (
        lambda it: it.status == Status.TIME_LIMIT,
        "time_limit has passed: {it.reached}. Raise time_limit, or continue with x0=x.",
    ),
    (
        lambda it: it.status == Status.STAGNATED,
        "Rounding errors limit the residual: {it.reached}. Raise rtol{it.precise}.",
    ),
    (
        lambda it: it.is_limited,
        "maxiter={it.problem.most_iterations:,} iterations did not suffice: {it.reached}. Raise maxiter.",
    ),
    (
        lambda it: True,
        "solve did not reach the tolerance: {it.reached}; no method converged, and a direct factorization "
        "does not fit, takes too long or is not accurate. Check A and b, or raise rtol.",
    ),
)


def complaint(failure: Failure) -> str:
    """The cause, and one cure, in at most 300 characters."""
    return next(words for holds, words in CAUSES if holds(failure)).format(it=failure)
