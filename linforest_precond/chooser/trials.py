"""Trials: a preconditioner, the Krylov method that fits it, and a run that can be paused and resumed."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import numpy.typing as npt

from linforest_precond.backends.annotations import Array
from linforest_precond.chooser.candidates import Candidate
from linforest_precond.chooser.costs import METHODS
from linforest_precond.precond.preconditioner import Preconditioner
from linforest_precond.solvers.driver import Callback, Run
from linforest_precond.solvers.history import History
from linforest_precond.solvers.live_line import live_line
from linforest_precond.solvers.problem import Problem
from linforest_precond.solvers.status import Status

# The ratio of the digits won in one doubling of the iterations to those won in the doubling before: 1 early
# in a run, 2 for linear convergence. With simple preconditioners, 1.5 has predicted the total of iterations
# without bias and within a factor of two in four of five cases, from iteration 6 on.
GROWTH, LINEAR = 1.5, 2.0
# No run is predicted to need more than this many times the iterations that it has made.
HORIZON = 10


def method_for(M: Preconditioner, method: str) -> str:
    """The Krylov method for a preconditioner: flexible CG in place of CG for one that is not linear."""
    return "fcg" if method == "cg" and getattr(M._part, "cycle", None) == "K" else method


def remaining(digits: Sequence[float], growth: float) -> float:
    """Iterations that a run with these `Trial.digits` still needs, at most `HORIZON` times those made."""
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


@dataclass(eq=False)
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
    digits
        For each iteration, the digits that the worst system's smallest residual lacks.
    elapsed
        Measured seconds of all iterations, for time limits alone.
    """

    candidate: Candidate
    M: Preconditioner
    method: str
    problem: Problem
    setup: float
    iteration: float
    start: Array | None
    history: History
    callback: Callback | None = None
    is_stale: bool = False
    verbose: bool = False
    predicted: float = math.nan
    info: npt.NDArray[np.int64] | None = None
    digits: list[float] = field(default_factory=list)
    elapsed: float = 0.0
    _solution: Array | None = None  # by factors, without a run

    @cached_property
    def _run(self) -> Run:
        """The run of the Krylov method, with a live line while it makes iterations."""
        problem, name = self.problem, f"{self.candidate.name} with {self.method}"
        line = live_line(name, problem.norms, problem.targets, problem.most_iterations, self.verbose)
        started = problem.started_at(self.start).preconditioned(self.M)
        return Run(METHODS[self.method].make(), started, self.history, line)

    def take(
        self, x: Array, norms: npt.NDArray[np.float64], seconds: float, is_contradicted: bool = False
    ) -> None:
        """Take x by factors, if it meets the tolerance or no x does; else start from it if it is better."""
        problem, history, is_solved = self.problem, self.history, (norms <= self.problem.targets).all()
        if is_solved or is_contradicted:
            status = Status.CONVERGED if is_solved else Status.SINGULAR
            self._solution, self.info = x, np.full(norms.size, int(status))
            n, columns = problem.b.shape
            history.begin("direct", n, columns, problem.b.dtype, problem.norms, None)
            history.add(np.arange(2.0), np.array([0.0, seconds]), np.vstack([problem.norms, norms]), None)
            for column, norm in enumerate(norms.tolist()):
                history.add_true(1.0, column, norm)
            self.digits = self._missing_digits()
            if self.callback is not None:
                self.callback(x[:, 0] if problem.one else x)
        elif self.start is None and (norms < problem.norms).all():
            self.start = x

    def advance(self, iterations: int) -> None:
        """Make `iterations` more, fewer where all systems stop before."""
        if self._solution is not None:
            return
        began = time.perf_counter()
        self._run.iterate(self.callback, max(1, iterations))
        self.elapsed += time.perf_counter() - began
        if self._run.line is not None:
            self._run.line.close()
        if self._run.has_ended:
            self.info = self._run.info()
        self.digits = self._missing_digits()

    def _missing_digits(self) -> list[float]:
        """`digits`: at most 300 for an infinite residual, and at least -300 for 0."""
        with np.errstate(all="ignore"):
            ratios = np.fmin.accumulate(self._residuals / self._relative_targets, axis=0)
            ratios = np.where(np.isnan(ratios), 1.0, np.minimum(ratios, 1e300))
            worst = np.log10(ratios.max(axis=1, initial=1e-300))
        steps = np.ceil(self.history.iterations).astype(int)
        # Steps may go back: a half step that breaks down is recorded, but its iteration is not counted.
        found = np.full(steps.max(initial=0) + 1, 300.0)
        np.minimum.at(found, steps, worst)
        return np.minimum.accumulate(found).tolist()

    @property
    def is_contradicted(self) -> bool:
        """Whether factors showed that no x solves the system."""
        return self._solution is not None and self.has_failed

    @property
    def solver(self) -> str:
        """The Krylov method; empty where factors made it needless."""
        return self.method if self._solution is None else ""

    @property
    def iterations(self) -> int:
        return 1 if self._solution is not None else self._run.joint_iterations

    @property
    def seconds(self) -> float:
        """So far, by the cost model."""
        return self.setup + self.iterations * self.iteration

    @property
    def pace(self) -> float:
        """Seconds of an iteration: measured, where some were made."""
        return self.elapsed / max(self.iterations, 1) if self.elapsed else self.iteration

    @property
    def status(self) -> Status | None:
        """The first outcome that is not convergence; None while it runs."""
        return None if self.info is None else Status.from_info(next(filter(None, self.info.tolist()), 0))

    @property
    def has_converged(self) -> bool:
        return self.status is Status.CONVERGED

    @property
    def has_failed(self) -> bool:
        """Whether it broke down or ran out of iterations."""
        return self.status not in (None, Status.CONVERGED)

    @property
    def is_beyond_horizon(self) -> bool:
        """Whether the residuals tell only that more iterations are needed than can be predicted."""
        return self.remaining() >= HORIZON * self.iterations

    @property
    def relative_target(self) -> float:
        """The relative residual of the worst system that counts as converged."""
        return float(self._relative_targets.max(initial=0.0))

    @cached_property
    def _relative_targets(self) -> npt.NDArray[np.float64]:
        """Of each system; above 0 for rtol=0, so that missing digits can be told."""
        norms, eps = self.problem.norms, np.finfo(self.problem.b.dtype).eps
        with np.errstate(all="ignore"):
            return np.maximum(self.problem.targets / np.where(norms > 0, norms, 1), eps**2)

    @property
    def reached(self) -> float:
        """The smallest relative residual; a true one where the recursive one has drifted away from it."""
        if self.status in (Status.STAGNATED, Status.UNATTAINABLE):
            last = {column: norm for _, column, norm in self.history.true_residuals}
            return max(last.values(), default=math.inf)
        missing = self.digits[-1]
        return self.relative_target * 10**missing if missing > -300 else 0.0  # the digits of 0

    @property
    def is_at_rounding(self) -> bool:
        """Whether it ended because rounding errors limit the residual: no other candidate would do better."""
        if self.status is Status.UNATTAINABLE and self.candidate.is_direct:
            return True
        return self.has_failed and self.reached <= 1e3 * float(np.finfo(self.problem.b.dtype).eps)

    @property
    def is_better_than_its_start(self) -> bool:
        first, last = self._residuals[:1], np.nan_to_num(self._residuals[-1:], posinf=np.inf)
        return bool((last <= first).all() and np.isfinite(last).all())

    @property
    def _residuals(self) -> npt.NDArray[np.float64]:
        return self.history.residuals.reshape(len(self.history), self.problem.norms.size)

    def remaining(self) -> float:
        growth = LINEAR if self.candidate.converges_linearly else GROWTH
        return 0.0 if self.has_converged else remaining(self.digits, growth)

    @property
    def x(self) -> Array:
        """The present iterate of the scaled system, (n, k)."""
        return self._run.space["x"] if self._solution is None else self._solution

    def solution(self) -> Array:
        """x of the given system; updates `info` where scaling back lost digits."""
        if self._solution is not None:
            return self._solution
        x = self._run.solution()
        self.info = self._run.info()
        return x

    def close(self) -> None:
        """Give back work space, and finish the history."""
        if "_run" in self.__dict__:
            self._run.space.close()
        if self.info is not None:
            self.history.finish(self.info, self.problem.one)
