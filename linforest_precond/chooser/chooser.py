"""The choice: a run is replaced when another candidate is expected to end sooner.

docs/chooser.md has the rules. All is compared in seconds that the cost model predicts; nothing is timed, so
that the choice repeats. A run that takes over starts from the present x if A is Hermitian, or if it converges
linearly. If A is not Hermitian, an x with a small residual may be farther from the solution than x0.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from linforest_precond.chooser.candidates import Candidate
from linforest_precond.chooser.costs import CostModel
from linforest_precond.chooser.facts import Facts, bound
from linforest_precond.chooser.trials import HORIZON, Trial
from linforest_precond.precond.preconditioner import Preconditioner
from linforest_precond.solvers.status import Status

# Iterations with Jacobi to expect where nothing is known of them.
MANY = 500
# The facts count as much as this many iterations that were seen.
KNOWN = 16
# The share of the least expected seconds that a few iterations with Jacobi may take; and of the predicted
# iterations, after which a choice is final where nothing but the choice is wanted.
PROBE = 0.15
# The first iterations of a run; the factor by which they grow from one look to the next; and the least time
# between looks, in units of what another candidate takes, and in calls, since a look waits for the device.
FIRST, CHECK, PATIENCE, LOOK = 4, 1.3, 0.03, 150
# What is expected in place of the present run must be smaller by this factor; the rest of a run that was
# paused by more, since its first residuals predict too little.
MARGIN, PAUSED = 1.1, 2.0
# Expected seconds of a factorization that is begun where all else failed, unless "direct" was asked for.
LAST_RESORT = 600.0
# Iterations of all runs together, in units of the most that one may make; and those that are made still where
# A is known to be singular: enough for a b in its range.
TOTAL, SINGULAR = 6, 120


class Chooser:
    """Trials of candidates on one problem, appended to `trials`.

    `start(candidate, method, present)` gives a trial with a Krylov method, which starts from the x of the
    present one, or None where the setup fails. `forecast(most)` are the seconds of a factorization, counted;
    infinite where counting ended at `most`, or where it does not fit. Residuals are to be reduced by `digits`
    decimal digits, in at most `maxiter` iterations of a trial, while there are `seconds_left()`.
    """

    def __init__(
        self,
        candidates: Sequence[Candidate],
        facts: Facts,
        cost: CostModel,
        start: Callable[[Candidate, str, Trial | None], Trial | None],
        forecast: Callable[[float], float],
        digits: float,
        maxiter: int,
        seconds_left: Callable[[], float] = lambda: math.inf,
        trials: list[Trial] | None = None,
    ) -> None:
        self.facts, self._cost, self._start, self._forecast = facts, cost, start, forecast
        self._all = self.untried = list(candidates)
        self.events = list[str]()
        self.trials = list[Trial]() if trials is None else trials
        self.present: Trial | None = None
        self._digits, self._seconds_left = digits, seconds_left
        self._most = min(TOTAL * maxiter, SINGULAR if facts.structural_rank < facts.rows else math.inf)
        self.has_no_factors = self._is_pivoted = False
        self._longest = LAST_RESORT if len(self._all) > 1 else math.inf
        # CG breaks down where A is not definite, MINRES where M is not.
        fitting = ["cg"] * facts.may_be_definite + ["minres"] * facts.has_definite_diagonal
        self._methods = [*fitting, "bicgstab"]
        self._factor = cost.expected_factors(facts.looks_easy, facts.separator)
        self._known, self._bound = facts.expected_iterations(digits), bound(facts.row_ratio, digits)
        self._jacobi = min(self._known or float(MANY), self._bound)

    @property
    def _made(self) -> int:
        """Iterations of all runs."""
        return sum(trial.iterations for trial in self.trials)

    def give_up(self) -> None:
        """No x solves the system: a few iterations with Jacobi remain, for an x with a small residual."""
        self._most = min(self._most, self._made + SINGULAR)
        self._is_pivoted = True
        self.untried = [each for each in self.untried if each.name == "jacobi"]

    def run(self, first: Trial | None = None, settle: bool = False) -> Trial | None:
        """The trial that converged; None where none did.

        `first` has begun. With `settle`, the present one ends when its prediction can be trusted.
        """
        if first is None:
            best = self._first()
            if best is None or not self._begin(best):
                self._take_over(math.inf)
        else:
            self.present = first
            if not first.is_stale:
                self._remove(first.candidate)
        while self.present is not None:
            present = self.present
            if present.has_converged:
                return present
            if self._made >= self._most or self._seconds_left() <= 0:
                return None
            if present.has_failed:
                if self._is_over(present) or not self._take_over(math.inf):
                    return None
            elif not self._replace(present):
                if settle and present.iterations >= PROBE * (present.iterations + present.remaining()):
                    return present
                self._go_on(present)
        return None

    def settled(self, solvers: str = "lf.solvers") -> Preconditioner:
        """The preconditioner of the run that ends soonest, or came closest; printing it names the choice,
        with a function of `solvers`."""
        try:
            chosen = self.run(settle=True) or min(self.trials, key=lambda trial: trial.digits[-1])
        finally:
            for trial in self.trials:
                trial.close()
        tried = ", ".join(dict.fromkeys(trial.candidate.name for trial in self.trials))
        by = f" with {solvers}.{chosen.solver}" if chosen.solver else ""
        chosen.M.choice = f"{chosen.candidate.call}{by}; tried: {tried}"
        return chosen.M

    def _first(self) -> Candidate | None:
        jacobi = next((each for each in self.untried if each.name == "jacobi"), None)
        if jacobi is None or self._known:  # a bound may be far from what is needed
            return self._best_candidate(math.inf)[0]
        dear = (self._cost.seconds(jacobi.setup) + FIRST * self._iteration(jacobi)) / PROBE
        is_soon_counted = self._cost.counting(self.facts.looks_easy) < dear
        best, seconds = self._best_candidate(math.inf if is_soon_counted else dear)
        return best if seconds < dear else jacobi

    def _best_candidate(self, rest: float) -> tuple[Candidate | None, float]:
        """The candidate with the least expected seconds. The fill of factors is counted before they are it.

        Counting ends where they would take longer than `rest` or the alternatives. Then twice the seconds are
        expected, and the fill is counted again when these are the least.
        """
        while True:
            best = min(self.untried, key=self._expected, default=None)
            seconds = math.inf if best is None else self._expected(best)
            if best is None or seconds >= rest or not best.is_direct:
                return best, seconds
            others = [self._expected(each) for each in self.untried if not each.is_direct]
            most = min(rest, self._longest, self._seconds_left(), *others)
            counted = self._forecast(most)
            if counted == seconds:
                return best, seconds
            self._factor = counted if math.isfinite(counted) else max(most, 2 * seconds)
            if math.isinf(counted) and (most >= self._longest or (not others and math.isinf(rest))):
                self._remove(best)  # it does not fit, or the time does not suffice

    def _expected(self, candidate: Candidate) -> float:
        """Seconds of the setup of a candidate and of all its iterations."""
        if candidate.is_direct:
            return self._factor
        iterations = self._jacobi * candidate.share
        if candidate.cycles:
            iterations = min(iterations, candidate.cycles * self._digits / 8)
        return self._cost.seconds(candidate.setup) + iterations * self._iteration(candidate)

    def _iteration(self, candidate: Candidate) -> float:
        return self._cost.iteration(self._method(candidate), candidate.application)

    def _method(self, candidate: Candidate) -> str:
        """The Krylov method: MINRES needs a definite M."""
        best = self._methods[0]
        return best if best == "cg" or candidate.is_definite else "bicgstab"

    def _begin(self, candidate: Candidate, why: str = "") -> bool:
        """Whether a candidate could be set up; its run is then the present one."""
        self._remove(candidate)
        warm = self.facts.hermitian or candidate.converges_linearly
        trial = self._start(candidate, self._method(candidate), self.present if warm else None)
        if trial is None:
            return False
        if why:
            self.events.append(f"{candidate.name} takes over: {why}")
        self.trials.append(trial)
        self.present = trial
        advance(trial, FIRST, self._cost, self._seconds_left())
        return True

    def _remove(self, candidate: Candidate) -> None:
        self.untried = [each for each in self.untried if each.name != candidate.name]

    def _rest(self, trial: Trial) -> float:
        """Seconds that a run is predicted to need still."""
        if trial.candidate.converges_linearly:
            return trial.remaining() * trial.iteration
        total = self._predicted(trial) * trial.candidate.share
        return max(1.0, total - trial.iterations) * trial.iteration

    def _predicted(self, trial: Trial) -> float:
        """Iterations with Jacobi that the progress of a run stands for, at most what dominance allows."""
        made, least = trial.iterations / trial.candidate.share, self._known or MANY
        total = made + trial.remaining() / trial.candidate.share
        if trial.is_beyond_horizon:
            total = max(least, HORIZON * (made - least))
        elif self._known:
            weight = KNOWN / (KNOWN + trial.iterations)
            total = total ** (1 - weight) * self._known**weight
        return max(1.0, min(total, self._bound))

    def _replace(self, present: Trial) -> bool:
        """Whether another run has taken over, because it is expected to end sooner."""
        if not present.candidate.converges_linearly:
            self._jacobi = self._predicted(present)
        rest = self._rest(present)
        present.predicted = present.seconds + rest
        why = f"{present.candidate.name} needs more after {present.iterations} iterations"
        return self._take_over(rest / MARGIN, why)

    def _take_over(self, rest: float, why: str = "") -> bool:
        """Whether the best of the others, a candidate or a paused run, is expected to end within `rest`
        seconds: it is then the present one."""
        others = [trial for trial in self.trials if trial is not self.present and not trial.has_failed]
        paused = min(others, key=self._rest, default=None)
        paused_rest = math.inf if paused is None else PAUSED * self._rest(paused)
        while True:
            candidate, seconds = self._best_candidate(rest)
            if min(seconds, paused_rest) >= rest:
                return False
            if paused is not None and paused_rest < seconds:
                self.present = paused
                if why:
                    self.events.append(f"{paused.candidate.name} goes on: {why}")
                self._go_on(paused)
                return True
            if candidate is not None and self._begin(candidate, why):
                return True

    def _go_on(self, present: Trial) -> None:
        """Make iterations until the next look: few beside those made, or what another one would cost."""
        least = min(map(self._expected, self.untried), default=0.0)
        step = max(math.ceil((CHECK - 1) * present.iterations), int(PATIENCE * least / present.iteration))
        advance(present, step, self._cost, self._seconds_left())

    def _is_over(self, failed: Trial) -> bool:
        """Whether no other run would do better than a failed one; what it showed counts for the others."""
        self.events.append(f"{failed.candidate.name} failed after {failed.iterations} iterations")
        is_refuted = failed.status is Status.INDEFINITE and failed.candidate.is_definite
        if is_refuted and failed.method == self._methods[0] != "bicgstab":
            self._methods.pop(0)
            self.untried = list(self._all)  # with the next Krylov method
            if failed.method == "cg":
                self.events.append("A is not positive definite")
        if failed.is_contradicted:
            self.give_up()
        elif failed.is_at_rounding or (failed.candidate.is_direct and self._is_pivoted):
            return True
        elif failed.candidate.is_direct and not failed.is_stale:
            self._is_pivoted = True
            self.untried = [failed.candidate, *self.untried]
        return False


def advance(trial: Trial, step: int, cost: CostModel, seconds_left: float) -> None:
    """Make iterations, at least those that take as long as a look. Within a time limit, a few are timed."""
    step = max(step, int(LOOK * cost.machine.call / trial.iteration))
    if math.isfinite(seconds_left):
        if not trial.elapsed:
            first = min(step, FIRST)
            trial.advance(first)
            step, seconds_left = step - first, seconds_left - trial.elapsed
        step = min(step, max(1, int(seconds_left / trial.pace)))
    if step > 0:
        trial.advance(step)
