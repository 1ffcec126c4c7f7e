"""Trials: a preconditioner, the Krylov method that fits it, and a run that can be paused and resumed.

Early in a run every doubling of the iterations reduces the residual by a similar number of digits, because
components of the error vanish one after the other; late in a run each iteration does. Between the two,
`GROWTH` is the ratio of the digits won in one doubling to those won in the doubling before: 1 early on, 2 for
linear convergence. On runs of CG and BiCGStab with simple preconditioners, 1.5 has predicted the total of
iterations without bias and within a factor of two in four of five cases, from iteration 6 on.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from linforest_precond.backends.annotations import Array
from linforest_precond.chooser.candidates import Candidate
from linforest_precond.precond.preconditioner import Preconditioner
from linforest_precond.solvers.bicgstab import Bicgstab
from linforest_precond.solvers.cg import Cg
from linforest_precond.solvers.driver import Callback, Run
from linforest_precond.solvers.fcg import Fcg
from linforest_precond.solvers.history import History
from linforest_precond.solvers.live_line import live_line
from linforest_precond.solvers.minres import Minres
from linforest_precond.solvers.problem import Problem
from linforest_precond.solvers.status import Status

# Digits won in one doubling of the iterations, in units of those won in the doubling before: with simple
# preconditioners, and for linear convergence.
GROWTH, LINEAR = 1.5, 2.0
# No run is predicted to need more than this many times the iterations that it has made.
HORIZON = 10
# Digits that a run must have won before anything is predicted from them.
HOVERING = 0.1
# What an infinite residual lacks, and residuals that are 0 have to spare.
MOST_DIGITS = 300.0
# Relative residuals that rounding errors explain, in units of the machine precision.
ROUNDING = 1e3
METHODS: dict[str, Callable[[], Any]] = {
    "cg": Cg,
    "fcg": Fcg,
    "bicgstab": Bicgstab,
    "minres": Minres,
}


def method_for(M: Preconditioner, method: str) -> str:
    """The Krylov method for a preconditioner: flexible CG in place of CG for one that is not linear."""
    return "fcg" if method == "cg" and getattr(M._part, "cycle", None) == "K" else method


def remaining(digits: Sequence[float], growth: float) -> float:
    """Iterations that a run still needs, at most `HORIZON` times those that it has made.

    `digits` has, for each iteration from 0 on, the digits by which the smallest residual so far is above its
    target.
    """
    done, left = len(digits) - 1, digits[-1]
    if left <= 0:
        return 0.0
    if done == 0:
        return math.inf
    won = digits[done // 2] - left
    if won <= 0:
        return float(HORIZON * done)
    doublings = math.log(1 + left * (growth - 1) / (won * growth)) / math.log(growth)
    return min(2**doublings - 1, HORIZON) * done


class Trial:
    """A run with one candidate.

    Attributes
    ----------
    setup, iteration
        Seconds of the setup and of an iteration, by the cost model.
    is_stale
        Whether M is that of an earlier matrix.
    predicted
        The seconds in all that were predicted when the run was last looked at.
    """

    def __init__(
        self,
        candidate: Candidate,
        M: Preconditioner,
        method: str,
        problem: Problem,
        setup: float,
        iteration: float,
        callback: Callback | None = None,
        x: Array | None = None,
        x_true: Array | None = None,
    ) -> None:
        self.candidate, self.M, self.method, self.problem = candidate, M, method, problem
        self.setup, self.iteration, self.predicted = setup, iteration, math.nan
        self._callback, self.history = callback, History(x_true)
        self.start = problem.x0 if x is None else x
        self.info: npt.NDArray[np.int64] | None = None
        self.is_stale = self.verbose = False
        self._solution: Array | None = None  # by factors, without a run
        self.digits = list[float]()

    @cached_property
    def _run(self) -> Run:
        """The run of the Krylov method, with a live line while it makes iterations."""
        problem, name = self.problem, f"{self.candidate.name} with {self.method}"
        line = live_line(name, problem.norms, problem.targets, problem.most_iterations, self.verbose)
        started = problem.started_at(self.start).preconditioned(self.M)
        return Run(METHODS[self.method](), started, self.history, line)

    def take(self, x: Array, norms: npt.NDArray[np.float64], seconds: float) -> None:
        """Take a solution by factors, with its residual norms, if it meets the tolerance; start from it if
        it is better than x0."""
        problem = self.problem
        if (norms <= problem.targets).all():
            self._solution, self.info = x, np.zeros(norms.size, np.int64)
            n, columns = problem.b.shape
            self.history.begin("direct", n, columns, problem.b.dtype, problem.norms, None)
            records = np.vstack([problem.norms, norms])
            self.history.add(np.arange(2.0), np.array([0.0, seconds]), records, None)
            for column, norm in enumerate(norms.tolist()):
                self.history.add_true(1.0, column, norm)
            self.digits = self._missing_digits()
            if self._callback is not None:
                self._callback(x[:, 0] if problem.one else x)
        elif self.start is None and (norms < problem.norms).all():
            self.start = x

    def advance(self, iterations: int) -> None:
        """Make `iterations` more, fewer where all systems stop before."""
        if self.is_solved_directly:
            return
        self._run.iterate(self._callback, max(1, iterations))
        if self._run.line is not None:
            self._run.line.close()
        if self._run.has_ended:
            self.info = self._run.info()
        self.digits = self._missing_digits()

    def _missing_digits(self) -> list[float]:
        """For each iteration, the digits that the worst system's smallest residual lacks."""
        residuals = self._residuals
        norms, targets = self.problem.norms, self.problem.targets
        eps = np.finfo(self.problem.b.dtype).eps
        with np.errstate(all="ignore"):
            wanted = np.maximum(targets, eps**2 * norms) / np.where(norms > 0, norms, 1)
            ratios = np.fmin.accumulate(residuals / np.where(wanted > 0, wanted, 1), axis=0)
            ratios = np.nan_to_num(ratios, nan=1.0, posinf=10**MOST_DIGITS)
            worst = np.log10(ratios.max(axis=1, initial=10**-MOST_DIGITS))
        steps = np.ceil(self.history.iterations).astype(int)
        # Steps may go back: a half step that breaks down is recorded, but its iteration is not counted.
        found = np.full(steps.max(initial=0) + 1, MOST_DIGITS)
        np.minimum.at(found, steps, worst)
        return np.minimum.accumulate(found).tolist()

    @property
    def is_solved_directly(self) -> bool:
        """Whether factors solved the system without a Krylov method."""
        return self._solution is not None

    @property
    def solver(self) -> str:
        """The Krylov method; empty where factors solved the system."""
        return "" if self.is_solved_directly else self.method

    @property
    def iterations(self) -> int:
        return 1 if self.is_solved_directly else self._run.joint_iterations

    @property
    def seconds(self) -> float:
        """So far, by the cost model."""
        return self.setup + self.iterations * self.iteration

    @property
    def has_converged(self) -> bool:
        return self.info is not None and not self.info.any()

    @property
    def has_failed(self) -> bool:
        """Whether it broke down or ran out of iterations."""
        return self.info is not None and bool(self.info.any())

    @property
    def status(self) -> Status | None:
        """The first outcome that is not convergence; None while it runs."""
        if self.info is None:
            return None
        return Status.from_info(next((int(code) for code in self.info if code), 0))

    @property
    def won(self) -> float:
        """Digits that its iterations have won."""
        return self.digits[0] - self.digits[-1]

    @property
    def is_hovering(self) -> bool:
        """Whether the residuals have hardly fallen at all."""
        return self.won < HOVERING and not self.has_converged

    @property
    def outcome(self) -> str:
        """In a word: how it ended, or "paused"."""
        return "paused" if self.status is None else str(self.status)

    @property
    def relative_target(self) -> float:
        """The relative residual of the worst system that counts as converged."""
        norms, targets = self.problem.norms, self.problem.targets
        return float((targets / np.where(norms > 0, norms, 1)).max(initial=0.0))

    @property
    def reached(self) -> float:
        """The smallest relative residual; a true one where the recursive one has drifted away from it."""
        if self.status in (Status.STAGNATED, Status.UNATTAINABLE):
            last = {column: norm for _, column, norm in self.history.true_residuals}
            return max(last.values(), default=math.inf)
        return self.relative_target * 10 ** self.digits[-1]

    @property
    def is_at_rounding(self) -> bool:
        """Whether it ended because rounding errors limit the residual: no other candidate would do better."""
        if self.status is Status.UNATTAINABLE and self.candidate.is_direct:
            return True
        eps = float(np.finfo(self.problem.b.dtype).eps)
        return self.has_failed and self.reached <= ROUNDING * eps

    @property
    def is_better_than_its_start(self) -> bool:
        residuals = self._residuals
        last = np.where(np.isnan(residuals[-1:]), 0, residuals[-1:])
        return bool((last <= residuals[:1]).all() and np.isfinite(last).all())

    @property
    def _residuals(self) -> npt.NDArray[np.float64]:
        """(records, k)"""
        return self.history.residuals.reshape(len(self.history), self.problem.norms.size)

    def remaining(self) -> float:
        """Predicted iterations."""
        growth = LINEAR if self.candidate.is_multigrid or self.candidate.is_direct else GROWTH
        return 0.0 if self.has_converged else remaining(self.digits, growth)

    @property
    def x(self) -> Array:
        """The present iterate of the scaled system, (n, k)."""
        return self._run.space["x"] if self._solution is None else self._solution

    def rounded(self) -> tuple[Array, npt.NDArray[np.float64]]:
        """x of the given system, and its residual norms in the scaled one: infinite if x is not finite."""
        problem = self.problem
        x = problem.scaling.solution(self.x)
        norms = problem.residual_norms(problem.scaling.scaled_solution(x))
        finite = problem.backend.krylov.norms.finite_columns(x) & np.isfinite(norms)
        return x, np.where(finite, norms, np.inf)

    def solution(self) -> Array:
        """x of the given system; updates `info` where scaling back lost digits."""
        if self.is_solved_directly:
            return self.x
        x = self._run.solution()
        self.info = self._run.info()
        return x

    def close(self) -> None:
        """Give back work space, and finish the history."""
        if "_run" in self.__dict__:
            self._run.space.close()
        if self.info is not None:
            self.history.finish(self.info, self.problem.one)
