"""Trials: a preconditioner, the Krylov method that fits it, and a run that can be paused and resumed."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from linforest_precond.backends.annotations import Array
from linforest_precond.chooser import predicted_iterations
from linforest_precond.chooser.candidates import Candidate
from linforest_precond.chooser.cost_model import CostModel
from linforest_precond.matrix.vectors import residual_norms
from linforest_precond.precond.ilu.ilu_part import IluPart
from linforest_precond.precond.preconditioner import Preconditioner
from linforest_precond.solvers.bicgstab import Bicgstab
from linforest_precond.solvers.cg import Cg
from linforest_precond.solvers.driver import Callback, Run
from linforest_precond.solvers.fcg import Fcg
from linforest_precond.solvers.history import History
from linforest_precond.solvers.idrs import Idrs
from linforest_precond.solvers.live_line import live_line
from linforest_precond.solvers.minres import Minres
from linforest_precond.solvers.problem import Problem
from linforest_precond.solvers.status import Status

# Digits that a run must have won before anything is predicted from them.
HOVERING = 0.1
# Relative residuals that rounding errors explain, in units of the machine precision.
ROUNDING = 1e3
# Of IDR(s).
SHADOWS = 4
METHODS: dict[str, Callable[[], Any]] = {
    "cg": Cg,
    "fcg": Fcg,
    "bicgstab": Bicgstab,
    "minres": Minres,
    "idrs": lambda: Idrs(SHADOWS),
}


def method_for(M: Preconditioner, method: str) -> str:
    """The Krylov method for a preconditioner: flexible CG in place of CG for one that is not linear."""
    return "fcg" if method == "cg" and getattr(M._part, "cycle", None) == "K" else method


class Trial:
    """A run with one candidate.

    Attributes
    ----------
    setup
        Bytes of the setup, by the cost model.
    is_cold
        Whether its digits can be compared with those of others: it started from x0, or follows one that did.
    sources
        The runs that it follows, the last one first.
    predicted
        The total work that was predicted when the trial was last looked at, in bytes.
    due
        The iterations after which it is next compared with other trials.
    """

    def __init__(
        self,
        candidate: Candidate,
        M: Preconditioner,
        method: str,
        problem: Problem,
        cost: CostModel,
        callback: Callback | None = None,
        x: Array | None = None,
        x_true: Array | None = None,
    ) -> None:
        self.candidate, self.M, self.method, self._cost = candidate, M, method, cost
        self.setup = cost.setup_seen(candidate, M)
        self._counted = cost.iteration(method, cost.application(M))
        self._callback, self._seconds, self._timed = callback, 0.0, 0
        self.problem, self.history, self.predicted = problem, History(x_true), float("nan")
        self.due = 0
        self.is_cold = x is None
        self._before, self.sources = list[float](), tuple[Trial, ...]()
        started = problem if x is None else problem.started_at(x)
        self._run = Run(METHODS[method](), started.preconditioned(M), self.history)
        self.info: npt.NDArray[np.int64] | None = None

    def show(self, verbose: bool) -> None:
        """Show a live line while iterations are made."""
        problem, name = self.problem, f"{self.candidate.name} with {self.method}"
        self._run.line = live_line(name, problem.norms, problem.targets, problem.most_iterations, verbose)

    def advance(self, iterations: int) -> None:
        """Make `iterations` more, fewer where all systems stop before."""
        self._forget_digits()
        before, began = self.iterations, time.perf_counter()
        self._run.iterate(self._callback, max(1, iterations))
        if self._run.line is not None:
            self._run.line.close()
        if before:  # the first call compiles
            self._timed += self.iterations - before
            self._seconds += time.perf_counter() - began
        if self._run.has_ended:
            self.info = self._run.info()

    def follow(self, source: Trial, share: float) -> None:
        """Count the iterations of the run whose x it started from, each as a share of one of its own."""
        done = source.length
        counted = math.ceil(share * done)
        self._before = [source.digits[i * done // counted] for i in range(counted)]
        self.is_cold, self.sources = source.is_cold, (source, *source.sources)
        self._forget_digits()

    def _forget_digits(self) -> None:
        for name in ("digits", "own_digits"):
            self.__dict__.pop(name, None)

    @property
    def length(self) -> int:
        """Iterations, with those that are counted for the runs that it follows."""
        return self.iterations + len(self._before)

    @property
    def iterations(self) -> int:
        return int(self._run.iterations.max(initial=0))

    @property
    def iteration(self) -> float:
        """Bytes of an iteration."""
        return self._cost.iteration_seen(self._counted, self._seconds, self._timed)

    @property
    def work(self) -> float:
        """Bytes so far."""
        return self.setup + self.iterations * self.iteration

    @property
    def dropped(self) -> float:
        """What incomplete factors in the natural order have dropped; 0 for other preconditioners."""
        part: Any = self.M._part
        is_natural = isinstance(part, IluPart) and part.order == "natural"
        return float(part.findings.dropped) if is_natural else 0.0

    @property
    def has_converged(self) -> bool:
        return self.info is not None and not self.info.any()

    @property
    def has_failed(self) -> bool:
        """Whether it broke down or ran out of iterations."""
        return self.info is not None and bool(self.info.any())

    @property
    def has_stalled(self) -> bool:
        """Whether it is long and wins hardly anything.

        One that has won nothing yet may go on for n iterations, if it may make as many: there, Krylov methods
        end in exact arithmetic, and often all digits are won in the last of them.
        """
        rows, most = self.problem.b.shape[0], self.problem.most_iterations
        long = predicted_iterations.LONG
        least = max(rows, long) if self.is_hovering and rows <= most else long
        return self.info is None and predicted_iterations.is_stalled(self.digits, least)

    @property
    def status(self) -> Status | None:
        """The first outcome that is not convergence; None while it runs."""
        if self.info is None:
            return None
        return Status.from_info(next((int(code) for code in self.info if code), 0))

    @property
    def is_hovering(self) -> bool:
        """Whether the residuals have hardly fallen at all."""
        return self.won < HOVERING and not self.has_converged

    @property
    def won(self) -> float:
        """Digits that its own iterations have won."""
        return self.own_digits[0] - self.own_digits[-1]

    @property
    def outcome(self) -> str:
        """In a word: how it ended, or "paused"."""
        if self.status is not None:
            return str(self.status)
        return "stalled" if self.has_stalled else "paused"

    @property
    def relative_target(self) -> float:
        """The relative residual of the worst system that counts as converged."""
        norms, targets = self.problem.norms, self.problem.targets
        return float((targets / np.where(norms > 0, norms, 1)).max(initial=0.0))

    @property
    def reached(self) -> float:
        """The smallest relative residual; a true one where the recursive one has drifted away from it."""
        if self.status is Status.STAGNATED:
            last = {column: norm for _, column, norm in self.history.true_residuals}
            return max(last.values())
        return self.relative_target * 10 ** self.own_digits[-1]

    @property
    def is_at_rounding(self) -> bool:
        """Whether the residual stagnates because of rounding errors: no other candidate would do better."""
        eps = float(np.finfo(self.problem.b.dtype).eps)
        return self.status is Status.STAGNATED and self.reached <= ROUNDING * eps

    @property
    def is_better_than_its_start(self) -> bool:
        residuals = self.history.residuals.reshape(len(self.history), -1)
        last = np.where(np.isnan(residuals[-1]), 0, residuals[-1])
        return bool((last <= residuals[0]).all() and np.isfinite(last).all())

    @cached_property
    def digits(self) -> list[float]:
        """The digits of the runs that it follows, and its own."""
        return np.minimum.accumulate([*self._before, *self.own_digits]).tolist()

    @cached_property
    def own_digits(self) -> list[float]:
        """For each iteration, the digits that the worst system's smallest residual lacks."""
        residuals = self.history.residuals.reshape(len(self.history), -1)
        norms, targets = self.problem.norms, self.problem.targets
        eps = np.finfo(self.problem.b.dtype).eps
        with np.errstate(all="ignore"):
            wanted = np.maximum(targets, eps**2 * norms) / np.where(norms > 0, norms, 1)
            ratios = np.fmin.accumulate(residuals / np.where(wanted > 0, wanted, 1), axis=0)
            worst = np.log10(np.maximum(np.nan_to_num(ratios, nan=1.0, posinf=1e300).max(axis=1), 1e-300))
        steps = np.ceil(self.history.iterations).astype(int)
        found = np.full(steps[-1] + 1, np.inf)
        np.minimum.at(found, steps, worst)
        return np.minimum.accumulate(found).tolist()

    def remaining(self, growth: float | None = None) -> float:
        """Predicted iterations; without a growth, those to expect."""
        expected = predicted_iterations.LINEAR if self.candidate.is_multigrid else predicted_iterations.GROWTH
        growth = expected if growth is None else growth
        return 0.0 if self.has_converged else predicted_iterations.remaining(self.digits, growth)

    def rest(self, growth: float | None = None) -> float:
        """Predicted bytes."""
        return self.remaining(growth) * self.iteration

    def is_comparable_to(self, other: Trial) -> bool:
        """Whether the other one has passed the present residual of this one, from the same x0."""
        return self.is_cold and other.is_cold and self.digits[-1] >= other.digits[-1] and not self.is_hovering

    def is_ahead_of(self, other: Trial) -> bool:
        """Whether it has passed the present residual of another one, from the same x0."""
        return self.is_cold and other.is_cold and self.digits[-1] < other.digits[-1] and not self.is_hovering

    def rest_compared_to(self, other: Trial) -> float:
        """Predicted bytes, from the cautious prediction of a comparable trial.

        Two runs from the same x0 slow down at the same residuals: if this one has come as far in 1/s of the
        iterations, then it is expected to need 1/s of the other's total.
        """
        same = predicted_iterations.iterations_to(other.digits, self.digits[-1])
        total = (other.length + other.remaining(predicted_iterations.LINEAR)) * self.length / same
        return (total - self.length) * self.iteration

    def work_to(self, left: float) -> float:
        """Predicted bytes until at most `digits` digits are left."""
        shifted = [each - left for each in self.digits]
        return predicted_iterations.remaining(shifted, predicted_iterations.GROWTH, math.inf) * self.iteration

    def work_from(self, left: float) -> float:
        """Bytes since `digits` digits were left."""
        return (self.length - predicted_iterations.iterations_to(self.digits, left)) * self.iteration

    @property
    def x(self) -> Array:
        """The present iterate of the scaled system, (n, k)."""
        return self._run.space["x"]

    def true_norms(self) -> npt.NDArray[np.float64]:
        """Norms of b - A x of the scaled system, infinite where x is not finite."""
        space, scratch = self._run.space, self._run.method.names[-1]
        space.multiply(self.problem.product, "x", scratch)
        norms = np.asarray(residual_norms(self.problem.b, space[scratch], None))
        return np.where(np.isfinite(norms), norms, np.inf)

    def solution(self) -> Array:
        """x of the given system; updates `info` where scaling back lost digits."""
        x = self._run.solution()
        self.info = self._run.info()
        return x

    def close(self) -> None:
        """Give back work space, and finish the history."""
        self._run.space.close()
        if self.info is not None:
            self.history.finish(self.info, self.problem.one)


def quietly(make: Any, A: Any, seed: int) -> Preconditioner:
    """Set up a preconditioner without its warnings: most are of candidates that are not chosen."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        M: Preconditioner = make(A, seed)
    return M
