"""The choice: a run is replaced when another candidate is expected to end sooner.

All is compared in seconds that the cost model predicts; nothing is timed, so that the choice repeats.

1. Expectation. The iterations of every candidate are a share of those with Jacobi: what the facts tell, else
   `MANY`; from the first residuals on, what the present run predicts. The fill of a direct
   factorization is counted before it is begun.
2. First. The candidate with the least expected seconds. Where the facts tell at most a bound of the
   iterations, `FIRST` iterations with Jacobi come before it, if they cost at most `PROBE` of that.
3. Replacement. When the present run has made `CHECK` times the iterations of the last look, its rest is
   predicted. The candidate, or the paused run, with the least expected seconds takes over if `MARGIN` times
   these are below the rest.
4. Failure. When a run breaks down or reaches its limit, the next best takes over. Factors that did not
   suffice are made once more, with a matching or partial pivoting. When CG finds negative curvature, all may
   be tried again, with MINRES where M is definite, else BiCGStab.
5. End. All runs together make at most `TOTAL` times the iterations that one may make, within the time limit.

A run that takes over starts from the present x if A is Hermitian, or if it converges linearly. If A is not
Hermitian, an x with a small residual may be farther from the solution than x0.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from linforest_precond.chooser.candidates import Candidate
from linforest_precond.chooser.costs import CostModel
from linforest_precond.chooser.facts import Facts
from linforest_precond.chooser.trials import HORIZON, Trial
from linforest_precond.precond.preconditioner import Preconditioner
from linforest_precond.solvers.status import Status

# Iterations with Jacobi to expect where nothing is known of them.
MANY = 500
# The facts count as much as this many iterations that were seen.
KNOWN = 16
# The share of the least expected seconds that a few iterations with Jacobi may take, and how many they are.
PROBE, FIRST = 0.15, 4
# The factor by which iterations grow from one look to the next; seconds until the next look, in units of the
# least expected seconds of another candidate; and calls, since a look waits for the device.
CHECK, PATIENCE, LOOK = 1.3, 0.03, 150
# What is expected in place of the present run must be smaller by this factor; by more in place of what an
# earlier solve chose, and what was paused: its first residuals predict too little.
MARGIN, PAUSED = 1.1, 2.0
# The share of the predicted iterations after which a choice is final, where nothing but the choice is wanted.
SETTLED = 0.15
# Iterations of all runs together, in units of the most that one may make; and those that are made still where
# A is known to be singular: enough for a b in its range.
TOTAL, SINGULAR = 6, 120


class Chooser:
    """Trials of candidates on one problem.

    Parameters
    ----------
    start
        Sets up a candidate: `start(candidate, method, present)` gives its trial with a Krylov method, which
        starts from the x of the present one, or None where the setup fails.
    forecast
        The seconds of a factorization, counted; infinite where they are more than the given number, or where
        it does not fit.
    digits, maxiter
        By how many digits residuals are to be reduced, and the most iterations of a trial.
    seconds_left, trials
        The time until the limit, and the list that all trials are appended to.
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
        self.definite, self.events = facts.may_be_definite, list[str]()
        self.trials = list[Trial]() if trials is None else trials
        self.present: Trial | None = None
        self._digits, self._most, self._seconds_left = digits, TOTAL * maxiter, seconds_left
        self.has_no_factors = self._is_pivoted = False
        self._margin = MARGIN
        self._unfit = set[str]()  # for MINRES
        self._factor, self._is_counted = cost.expected_factors(facts.looks_easy, facts.separator), False
        self._known = facts.elliptic_iterations * digits / 8
        self._jacobi = min(self._known or float(MANY), self.most_iterations)
        if facts.structural_rank < facts.rows:
            self._most = min(self._most, SINGULAR)

    @property
    def most_iterations(self) -> float:
        """A bound on the iterations with Jacobi: the eigenvalues of D^-1 A lie in [1 - q, 1 + q]."""
        q = self.facts.row_ratio
        if q >= 1:
            return math.inf
        return 0.5 * math.sqrt((1 + q) / (1 - q)) * (self._digits + 0.3) * math.log(10)

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
            self._begin_any(self._first())
        else:
            self.present, self._margin = first, MARGIN if first.is_stale else PAUSED
            own = {each.name: each for each in self._all}  # of this matrix
            first.candidate = own.get(first.candidate.name, first.candidate)
            if not first.is_stale:
                self._remove(first.candidate)
        while self.present is not None:
            present = self.present
            if present.has_converged:
                return present
            if self._made >= self._most or self._seconds_left() <= 0:
                return None
            if present.has_failed:
                self._replace_failed(present)
            elif not self._replace(present):
                if settle and present.iterations >= SETTLED * (present.iterations + present.remaining()):
                    return present
                present.advance(self._step(present))
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
        probe = self._cost.seconds(jacobi.setup) + FIRST * self._iteration(jacobi)
        if probe <= PROBE * min(map(self._expected, self.untried)):  # before fill is counted
            return jacobi
        best, seconds = self._best_candidate(math.inf)
        return jacobi if probe <= PROBE * seconds else best

    def _begin_any(self, candidate: Candidate | None) -> None:
        """Set up a candidate, or the next best of those that can be."""
        while candidate is not None and not self._begin(candidate):
            candidate, _ = self._best_candidate(math.inf)

    def _best_candidate(self, rest: float) -> tuple[Candidate | None, float]:
        """The candidate with the least expected seconds. The fill of factors is counted before they are it.

        Counting ends where they would take longer than `rest` or the alternatives. Then twice the seconds are
        expected, and the fill is counted again when these are the least.
        """
        while True:
            best = min(self.untried, key=self._expected, default=None)
            seconds = math.inf if best is None else self._expected(best)
            if best is None or seconds >= rest or not best.is_direct or self._is_counted:
                return best, seconds
            others = [self._expected(each) for each in self.untried if not each.is_direct]
            most = min(rest, self._seconds_left(), *others)
            counted = self._forecast(most)
            self._is_counted = math.isfinite(counted)
            self._factor = counted if self._is_counted else max(most, 2 * self._factor)
            is_last_resort = math.isinf(most) or (not others and math.isinf(rest))
            if is_last_resort and not self._is_counted:  # it does not fit
                self._remove(best)

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
        if self.definite:
            return "cg"
        if self.facts.has_definite_diagonal and candidate.is_definite and candidate.name not in self._unfit:
            return "minres"
        return "bicgstab"

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
        begin(trial, self._cost, self._seconds_left())
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
        share = trial.candidate.share
        if trial.is_hovering:
            made, least = trial.iterations / share, self._known or MANY
            return min(max(least, HORIZON * max(0.0, made - least)), self.most_iterations)
        scale = self._digits / max(trial.digits[0], 1.0) if trial.digits[0] < self._digits else 1.0
        total = scale * (trial.iterations + trial.remaining()) / share
        if self._known:
            weight = KNOWN / (KNOWN + trial.iterations)
            total = total ** (1 - weight) * self._known**weight
        return max(1.0, min(total, self.most_iterations))

    def _replace(self, present: Trial) -> bool:
        """Whether another run has taken over, because it is expected to end sooner."""
        if not present.candidate.converges_linearly:
            self._jacobi = self._predicted(present)
        rest = self._rest(present)
        present.predicted = present.seconds + rest
        paused, paused_rest = self._best_paused(present)
        paused_rest *= PAUSED
        candidate, seconds = self._best_candidate(rest / self._margin)
        if not self._margin * min(seconds, paused_rest) < rest:
            return False
        why = f"{present.candidate.name} needs more after {present.iterations} iterations"
        if candidate is not None and seconds <= paused_rest:
            self._begin(candidate, why)
        elif paused is not None:
            self.present = paused
            self.events.append(f"{paused.candidate.name} goes on: {why}")
            paused.advance(self._step(paused))
        return True

    def _best_paused(self, present: Trial) -> tuple[Trial | None, float]:
        """The paused run with the shortest rest, and its seconds."""
        paused = [trial for trial in self.trials if trial is not present and not trial.has_failed]
        best = min(paused, key=self._rest, default=None)
        return best, math.inf if best is None else self._rest(best)

    def _step(self, present: Trial) -> int:
        """Iterations until the next look: few beside those made, or beside what another one would cost."""
        least = min(filter(math.isfinite, map(self._expected, self.untried)), default=0.0)
        step = max(math.ceil((CHECK - 1) * present.iterations), int(PATIENCE * least / present.iteration))
        return _bounded(step, present, self._cost, self._seconds_left())

    def _replace_failed(self, failed: Trial) -> None:
        """Go on with a paused trial or the next candidate; end where rounding errors limit all of them."""
        self.events.append(f"{failed.candidate.name} failed after {failed.iterations} iterations")
        if failed.status is Status.INDEFINITE and failed.candidate.is_definite and self.definite:
            self.definite, self.untried = False, list(self._all)  # with another Krylov method
            self.events.append("A is not positive definite")
        if failed.status is Status.INDEFINITE and failed.method == "minres":
            self._unfit.add(failed.candidate.name)
            self.untried = [failed.candidate, *self.untried]
        if failed.is_contradicted:
            self.give_up()
        elif failed.is_at_rounding or (failed.candidate.is_direct and self._is_pivoted):
            self.present = None
            return
        if failed.candidate.is_direct and not (failed.is_stale or failed.is_contradicted):
            self._is_pivoted = True
            self.untried = [failed.candidate, *self.untried]
        paused, rest = self._best_paused(failed)
        candidate, seconds = self._best_candidate(math.inf)
        if paused is not None and rest <= seconds:
            self.present = paused
            return
        self._begin_any(candidate)
        if self.present is failed:  # nothing could be set up
            self.present = paused


def begin(trial: Trial, cost: CostModel, seconds_left: float, usual: int = 0) -> None:
    """Make the first iterations: more than the usual ones, or one if M is that of an earlier matrix."""
    trial.advance(1 if trial.is_stale else _bounded(max(FIRST, 2 * usual), trial, cost, seconds_left))


def _bounded(step: int, trial: Trial, cost: CostModel, seconds_left: float) -> int:
    """Iterations, at least those that take as long as a look, within the time limit."""
    step = max(step, int(LOOK * cost.machine.call / trial.iteration))
    return max(1, int(min(step, seconds_left / trial.iteration)))
