"""One solve: the checked problem, its trials, and their result."""

from __future__ import annotations

import math
import sys
import time
from functools import cached_property, partial
from typing import Any

import numpy as np
import numpy.typing as npt

from linforest_precond.backends import backend_named
from linforest_precond.backends.annotations import Array
from linforest_precond.backends.user_warnings import warn_user
from linforest_precond.chooser.candidates import DIRECT, Candidate
from linforest_precond.chooser.chooser import FIRST, Chooser, advance
from linforest_precond.chooser.costs import CostModel
from linforest_precond.chooser.facts import facts_of
from linforest_precond.chooser.machine import Machine
from linforest_precond.chooser.outcome import Failure, complaint, info_of, quietly, with_report
from linforest_precond.chooser.report import SolveReport, TrialReport
from linforest_precond.chooser.singularity import contradiction
from linforest_precond.chooser.system import Choice, Options, System, tolerance
from linforest_precond.chooser.trials import Trial, method_for
from linforest_precond.precond.preconditioner import Preconditioner
from linforest_precond.solvers.driver import SLACK, Callback, checked_history
from linforest_precond.solvers.history import History
from linforest_precond.solvers.problem import Problem, checked_problem
from linforest_precond.solvers.scaling import unscaled_callback
from linforest_precond.solvers.singular import LastFinite, has_constant_part
from linforest_precond.solvers.status import Interrupted, Status

# The most iterations of a run, unless the user says otherwise.
MOST_ITERATIONS = 5000
# Calls that factors may take before anything else is known of the system: to find the facts and choose would
# take as long.
SMALL = 16_000


class OneSolve:
    """A solve with one matrix; `choice` is what converged, for later solves, None where nothing did."""

    def __init__(
        self,
        system: System,
        options: Options,
        b: Array,
        x0: Array | None = None,
        callback: Callback | None = None,
        report: SolveReport | None = None,
        history: History | None = None,
    ) -> None:
        checked_history(history)
        self._history, self._report = history, SolveReport() if report is None else report
        self._x_true = self._report.x_true if history is None or history.x_true is None else history.x_true
        self._system, self._options = system, options
        self._end = time.perf_counter() + (math.inf if options.time_limit is None else options.time_limit)
        A = system.A
        self._most = min(10 * A.n, MOST_ITERATIONS) if options.maxiter is None else options.maxiter
        # Products with a dense array are its own.
        operand = A if hasattr(A.given, "tocsr") else A.given
        rtol = tolerance(options.rtol, A.dtype, getattr(b, "dtype", np.float64))
        self.problem: Problem = checked_problem(
            operand, b, x0, rtol, options.atol, self._most, None, callback, None, options.nullspace
        )
        self._callback = unscaled_callback(callback, self.problem.scaling)
        self.trials = list[Trial]()
        self.choice: Choice | None = None
        self._made: dict[str, Preconditioner] = {}
        self._contradiction = ""  # why no x solves the system

    @cached_property
    def _cost(self) -> CostModel:
        A, b = self._system.A, self.problem.b
        types = A.data.dtype.itemsize, A.indptr.dtype.itemsize, b.dtype.itemsize
        machine, host = (
            Machine.of(on, self._options.calibration) for on in (A.backend, backend_named("cpu"))
        )
        return CostModel.of_sizes(A.n, A.nnz, types, b.shape[1], machine, host, A.backend)

    @cached_property
    def chooser(self) -> Chooser:
        candidates = self._system.candidates(self._options.method, self._options.seed)
        return Chooser(
            candidates, self._system.facts, self._cost, self._start,
            partial(self._system.factorization.seconds, self._cost), digits_of(self.problem), self._most,
            self._seconds_left, self.trials,
        )  # fmt: skip

    def _seconds_left(self) -> float:
        return self._end - time.perf_counter()

    def result(self) -> tuple[Array, Any]:
        """x and info; the report is filled."""
        problem, columns = self.problem, self.problem.b.shape[1]
        if not problem.b.size:
            info = np.zeros(columns, np.int64)
            self._record(None, info)
            return with_report(problem.b.copy(), info, problem.one, self._report)
        if problem.x0 is not None and (self._norms(problem.x0) <= problem.targets).all():
            return self._ended(problem.x0.copy(), np.zeros(columns, np.int64), None)
        is_refuted = problem.zero_rows or (self._system.A.centered and has_constant_part(problem).any())
        if self._options.nullspace is None and is_refuted:
            x, norms = self._best()
            return self._ended(x, np.full(norms.shape, int(Status.SINGULAR)), None)
        try:
            chosen = self._run()
            x, info = self._solution(chosen)
        except KeyboardInterrupt:
            if not self.trials:  # in the first setup: there is no x yet
                raise
            x, _ = self._best()
            self._fill(None, "Ctrl-C ended the runs.")
            self._record(None, None)
            raise Interrupted(x.reshape(-1) if problem.one else x) from None
        finally:
            for trial in self.trials:
                trial.close()
        if chosen is not None:
            kept = self._system.choice
            spent = chosen.iterations * chosen.iteration + (0.0 if kept is None else kept.spent)
            self.choice = Choice(
                chosen.candidate, chosen.M, chosen.method, chosen.iterations, chosen.is_stale, spent
            )
        return self._ended(x, info, chosen)

    def _run(self) -> Trial | None:
        """The trial that converged. Where factors or what an earlier solve chose suffice, the facts are not
        asked for."""
        kept, step, first = self._system.choice, FIRST, None
        if self._factors_pay(kept):
            first = self._start(DIRECT, "cg" if self._system.A.definite else "bicgstab", None)
        elif kept is not None:
            first = self._trial(kept.candidate, kept.M, kept.method, 0.0, None, kept.is_stale)
            step = 1 if kept.is_stale else max(FIRST, 2 * kept.iterations)
        if first is not None:
            self.trials.append(first)
            advance(first, step, self._cost, self._seconds_left())
            if first.has_converged:
                return first
        return self.chooser.run(first)

    def _factors_pay(self, kept: Choice | None) -> bool:
        """Whether factors take less time than to find the facts and choose; or, after a choice, than the
        iterations for earlier right-hand sides.

        How many will follow is not known. All solves together then take at most twice the time of the better
        of both ways.
        """
        system, options, cost = self._system, self._options, self._cost
        if options.nullspace is not None or system.A.centered:
            return False
        if kept is None:
            most = SMALL * cost.host.call
            may_pay = options.method in ("auto", DIRECT.name) and cost.expected_factors(easy=True) <= most
        else:
            most = min(kept.spent, self._seconds_left())
            may_pay = options.method == "auto" and system.factors_may_have_paid
            may_pay = may_pay and not system.facts.is_singular
        return may_pay and system.factorization.seconds(cost, most) <= most

    def _start(self, candidate: Candidate, method: str, present: Trial | None) -> Trial | None:
        """A trial from the x of the present one if that is given and better than x0."""
        factorization, M, setup = self._system.factorization, self._made.get(candidate.name), 0.0
        try:
            if candidate.is_direct:  # factors that are asked for again did not suffice
                if self._options.verbose:
                    took = factorization.expected
                    print(f"direct: a factorization of about {took:.2g} s begins", file=sys.stderr)
                setup, M = factorization.expected, factorization.made()
            elif M is None:
                setup, M = self._cost.seconds(candidate.setup), quietly(candidate.make, self._system.A)
        except (MemoryError, OverflowError, ValueError) as error:
            if candidate.name == "jacobi":
                raise
            self.chooser.events.append(f"{candidate.name} cannot be set up: {error}")
            if candidate.is_direct and isinstance(error, np.linalg.LinAlgError):
                self.chooser.has_no_factors = True
                self._contradiction = self._found_contradiction(None)
                if self._contradiction:
                    self.chooser.give_up()
            return None
        self._made[candidate.name] = M
        x = present.x.copy() if present is not None and present.is_better_than_its_start else None
        return self._trial(candidate, M, method_for(M, method), setup, x)

    def _trial(
        self,
        candidate: Candidate,
        M: Preconditioner,
        method: str,
        setup: float,
        x: Array | None,
        is_stale: bool = False,
    ) -> Trial:
        iteration = self._cost.iteration(method, candidate.application)
        if candidate.is_direct:
            iteration += self._system.factorization.iteration(self._cost)
        start, history = self.problem.x0 if x is None else x, History(self._x_true)
        trial = Trial(
            candidate, M, method, self.problem, setup, iteration, start, history, self._callback, is_stale,
            self._options.verbose,
        )  # fmt: skip
        if candidate.is_direct and self._is_plain:
            self._solve_directly(trial)
        return trial

    @property
    def _is_plain(self) -> bool:
        """Whether the system is solved as it was given, and no errors are recorded."""
        problem = self.problem
        return problem.null_space is None and problem.scaling.is_identity and self._x_true is None

    def _solve_directly(self, trial: Trial) -> None:
        """One correction of x by factors; where that does not suffice, a Krylov method goes on from it."""
        problem, start, began = self.problem, trial.start, time.perf_counter()
        r = problem.b
        if start is not None:
            r = problem.backend.xp.empty(r.shape, r.dtype)
            problem.product.residual(problem.b, start, r)
        with np.errstate(all="ignore"):
            x = trial.M.matmat(r)
            x = x if start is None else start + x
        norms = self._norms(x)
        if not trial.is_stale and not (norms <= problem.targets).all():
            self._contradiction = self._found_contradiction(trial.M)
        if self._contradiction:  # x is far off in the directions that A maps to 0
            x = problem.backend.xp.zeros_like(problem.b) if start is None else start
            norms = self._norms(x)
        trial.take(x, norms, time.perf_counter() - began, bool(self._contradiction))

    def _found_contradiction(self, M: Preconditioner | None) -> str:
        return contradiction(self.problem, self._system.A, M) if self._is_plain else ""

    def _norms(self, x: Array) -> npt.NDArray[np.float64]:
        """Norms of b - A x; infinite where the problem is not plain, or x is not finite."""
        norms = self.problem.residual_norms(x) if self._is_plain else np.full(x.shape[1], np.inf)
        return np.where(np.isfinite(norms), norms, np.inf)

    def _solution(self, chosen: Trial | None) -> tuple[Array, npt.NDArray[np.int64]]:
        """The solution, or the best iterates, and info."""
        if chosen is not None:
            x = chosen.solution()
            assert chosen.info is not None
            if not chosen.info.any():
                return x, chosen.info
        x, norms = self._best()
        total = max(1, sum(trial.iterations for trial in self.trials))
        failed = info_of(self.chooser, self._seconds_left() <= 0) or total
        return x, np.where(norms <= self.problem.targets * SLACK, 0, failed).astype(np.int64)

    def _best(self) -> tuple[Array, npt.NDArray[np.float64]]:
        """For each column the best of x0 and the iterates of all trials, and their residual norms.

        That is the one with the smallest residual which the working precision can confirm: rounding errors of
        A x count.
        """
        problem = self.problem
        x = LastFinite(problem).x
        norms = problem.residual_norms(problem.scaling.scaled_solution(x))
        least = np.full(norms.shape, np.inf)
        for given in [x.copy(), *(problem.scaling.solution(trial.x) for trial in self.trials)]:
            scaled = problem.scaling.scaled_solution(given)
            found, finite = problem.residual_norms(scaled), problem.backend.krylov.norms.finite_columns(given)
            for c in np.flatnonzero(finite & (found < least)).tolist():
                confirmed = found[c] + problem.attainable(scaled[:, c : c + 1])
                if confirmed < least[c] or found[c] <= problem.targets[c]:
                    least[c], norms[c], x[:, c] = confirmed, found[c], given[:, c]
        return x, norms

    def _relative(self, x: Array) -> float:
        """The largest residual norm of all columns, relative to those of b."""
        problem = self.problem
        norms = problem.residual_norms(problem.scaling.scaled_solution(x))
        return float((norms / np.where(problem.norms > 0, problem.norms, 1)).max())

    def _ended(self, x: Array, info: npt.NDArray[np.int64], chosen: Trial | None) -> tuple[Array, Any]:
        words = ""
        if info.any():
            status, reached = int(info.min()), self._relative(x)
            words = complaint(Failure(self.chooser, self.problem, status, reached, self._contradiction))
        self._fill(chosen if not info.any() else None, words)
        self._record(chosen, info)
        if words:
            warn_user(words)
        return with_report(x, info, self.problem.one, self._report)

    def _fill(self, chosen: Trial | None, advice: str) -> None:
        lines = [TrialReport.of(trial) for trial in self.trials]
        found = None if chosen is None else lines[self.trials.index(chosen)]
        events = list(self.chooser.events) if "chooser" in self.__dict__ else []
        facts = self._system.known_facts or partial(facts_of, self._system.A)
        self._report.fill(facts, lines, events, found, advice)
        if self._options.verbose:
            for line in lines:
                print(line.sentence(), file=sys.stderr)

    def _record(self, chosen: Trial | None, info: npt.NDArray[np.int64] | None) -> None:
        """The records of all runs in the user's history, those of the chosen one last."""
        problem, history = self.problem, self._history
        if history is None:
            return
        n, columns = problem.b.shape
        history.begin("", n, columns, problem.b.dtype, problem.norms, None)
        runs = sorted(self.trials, key=lambda trial: trial is chosen)
        history.join([trial.history for trial in runs if len(trial.history)])
        history.interrupted = info is None
        if info is not None:
            history.finish(info, problem.one)


def digits_of(problem: Problem) -> float:
    """Digits by which residuals have to be reduced, from 1 to 16."""
    norms, targets = problem.norms, problem.targets
    with np.errstate(all="ignore"):
        ratios = np.where(norms > 0, targets / norms, 1.0)
    return -math.log10(min(max(float(ratios.min(initial=1.0)), 1e-16), 0.1))
