"""The choice: a run is replaced when another way is expected to end sooner.

All is compared in seconds that the cost model predicts; nothing is timed, so that the choice repeats.

0. Small. Where an order and factors are expected, and then counted, to take less than `SMALL` calls, they are
   made at once: to find the facts and choose would take as long.
1. Expectation. The iterations of every candidate are a share of those that Jacobi would need. These are what
   the facts tell (boundaries, a shift, the size of a mesh), and else `MANY` or `MORE`; from the first
   residuals on, what the present run predicts. A direct factorization has no iterations: its fill and flops
   are counted before it is begun. That takes time, too; before it is done, the factors are expected to have
   as many times the entries of A as a row of A has entries, but not more than `MOST_FILL` times, and those of
   a mesh at least the dense block of a cut through it.
2. First. The candidate with the least expected seconds. Where the facts tell nothing of the iterations, a few
   with Jacobi come first, if they cost at most `PROBE` of that.
3. Replacement. When the present run has made `CHECK` times the iterations of the last look, its rest is
   predicted. The candidate, or the paused run, with the least expected seconds takes over if `MARGIN` times
   these are below the rest. A run that has won nothing predicts nothing, until it has made the iterations
   that were expected.
4. Failure. When a run breaks down or reaches its limit, the next best takes over. Factors with diagonal
   pivots that did not suffice are made again with a matching or partial pivoting; where these do not suffice
   either, the solve ends. When CG finds negative curvature, all may be tried again, with MINRES where M is
   definite and BiCGStab elsewhere.
5. End. All runs together make at most `TOTAL` times the iterations that one may make, and take no longer than
   the time limit.

A run that takes over starts from the present x if A is Hermitian, or if it is multigrid or direct. If A is
not Hermitian, an x with a small residual may be farther from the solution than x0.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from linforest_precond.chooser.candidates import Candidate
from linforest_precond.chooser.costs import CostModel
from linforest_precond.chooser.facts import Facts
from linforest_precond.chooser.trials import HORIZON, Trial
from linforest_precond.solvers.status import Status

# Calls that factors may take before anything else is known of the system.
SMALL = 16_000
# Iterations with Jacobi to expect where nothing is known of them: where A looks easy, and where it does not.
MANY, MORE = 500, 1000
# The facts count as much as this many iterations that were seen: of boundaries or a shift, and of a size.
KNOWN, USUAL = 16, 2
# The factor by which the seconds of factors must grow before they are counted again.
RECOUNT = 2.0
# The share of the least expected seconds that a few iterations with Jacobi may take, and how many they are.
PROBE, FIRST = 0.1, 4
# The factor by which iterations grow from one look to the next; seconds until the next look, in units of the
# least expected seconds of another candidate; and calls, since a look waits for the device.
CHECK, PATIENCE, LOOK = 1.3, 0.03, 150
# What is expected in place of the present run must be smaller by this factor; by more in place of what an
# earlier solve chose, and what was paused: its first residuals predict too little.
MARGIN, PAUSED = 1.1, 2.0
# The share of the predicted iterations after which a choice is final, where nothing but the choice is wanted.
SETTLED = 0.15
# Iterations of all runs together, in units of the most that one may make.
TOTAL = 6


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
    digits
        Digits by which residuals are to be reduced.
    maxiter
        The most iterations of a trial.
    seconds_left
        Until the time limit.
    trials
        The list that all trials are appended to.
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
        cut = facts.separator
        factors = cost.factorization(max(cost.expected_entries, cut**2), 2 / 3 * cut**3)
        self._factor = cost.ordering(facts.looks_easy) + factors
        self._is_counted = False
        self._many = float(MANY if facts.looks_easy else MORE)
        self._jacobi = min(facts.elliptic_iterations * digits / 8 or self._many, self.most_iterations)

    @property
    def most_iterations(self) -> float:
        """A bound on the iterations with Jacobi: the eigenvalues of D^-1 A lie in [1 - q, 1 + q]."""
        q = self.facts.row_ratio
        if q >= 1:
            return math.inf
        return 0.5 * math.sqrt((1 + q) / (1 - q)) * (self._digits + 0.3) * math.log(10)

    def run(self, first: Trial | None = None, usual: int = 0, settle: bool = False) -> Trial | None:
        """The trial that converged; None where none did.

        `first` is a run to begin with, which is looked at after more than its usual iterations, or after one
        if its M is that of an earlier matrix. With `settle`, the present one ends when it has made enough
        iterations to be trusted.
        """
        if first is None:
            self._begin_any(self._first())
        else:
            self._margin = MARGIN if first.is_stale else PAUSED
            self.untried = [
                each for each in self.untried if each.name != first.candidate.name or first.is_stale
            ]
            self._go_on(first, usual)
        while self.present is not None:
            present = self.present
            if present.has_converged:
                return present
            if self.is_exhausted or self._seconds_left() <= 0:
                return None
            if present.has_failed:
                self._replace_failed(present)
            elif not self._replace(present):
                if settle and present.iterations >= SETTLED * (present.iterations + present.remaining()):
                    return present
                present.advance(self._step(present))
        return None

    @property
    def found_singular(self) -> bool:
        """Whether factors do not exist, or did not solve the system."""
        made = [trial for trial in self.trials if trial.candidate.is_direct and not trial.is_stale]
        return self.has_no_factors or any(trial.has_failed for trial in made)

    @property
    def is_limited(self) -> bool:
        """Whether a run ended because it had made as many iterations as it may."""
        return any(trial.status is Status.MAXITER for trial in self.trials)

    @property
    def is_exhausted(self) -> bool:
        """Whether all trials together have made as many iterations as they may."""
        return sum(trial.iterations for trial in self.trials) >= self._most

    def _begin_any(self, candidate: Candidate | None) -> None:
        """Set up a candidate, or the next best of those that can be."""
        while candidate is not None and not self._begin(candidate):
            candidate, _ = self._best_candidate(math.inf)

    def _first(self) -> Candidate | None:
        best, seconds = self._best_candidate(math.inf)
        jacobi = next((each for each in self.untried if each.name == "jacobi"), None)
        is_known = self.facts.expected_iterations or math.isfinite(self.most_iterations)
        if jacobi is None or is_known:
            return best
        probe = self._cost.seconds(jacobi.setup) + FIRST * self._iteration(jacobi)
        return jacobi if probe <= PROBE * seconds else best

    def _best_candidate(self, rest: float) -> tuple[Candidate | None, float]:
        """The candidate with the least expected seconds, if they are below `rest`.

        Where that is the direct factorization, its fill is counted first. Counting ends where it would take
        longer than the alternatives; it is done again when more time would pay.
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
            self._factor = counted if self._is_counted else max(most, RECOUNT * self._factor)
            if not self._is_counted and (
                math.isinf(most) or (not others and math.isinf(rest))
            ):  # does not fit
                self.untried = [each for each in self.untried if not each.is_direct]

    def _expected(self, candidate: Candidate) -> float:
        """Seconds of the setup of a candidate and of all its iterations."""
        if candidate.is_direct:
            return self._factor
        iterations = self._jacobi * candidate.share(self.facts)
        cycles = candidate.cycles(self.facts) * self._digits / 8
        return self._cost.seconds(candidate.setup) + (
            min(iterations, cycles) if cycles else iterations
        ) * self._iteration(candidate)

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
        self.untried = [each for each in self.untried if each is not candidate]
        warm = self.facts.hermitian or candidate.is_multigrid or candidate.is_direct
        trial = self._start(candidate, self._method(candidate), self.present if warm else None)
        if trial is not None:
            if why:
                self.events.append(f"{candidate.name} takes over: {why}")
            self._go_on(trial)
        return trial is not None

    def _go_on(self, trial: Trial, usual: int = 0) -> None:
        self.trials.append(trial)
        self.present = trial
        step = 1 if trial.is_stale else max(FIRST, 2 * usual, self._least_step(trial))
        trial.advance(self._within_time(trial, step))

    def _rest(self, trial: Trial) -> float:
        """Seconds that a run is predicted to need still."""
        if trial.candidate.is_multigrid or trial.candidate.is_direct:
            return trial.remaining() * trial.iteration
        total = self._predicted(trial) * trial.candidate.share(self.facts)
        return max(1.0, total - trial.iterations) * trial.iteration

    def _predicted(self, trial: Trial) -> float:
        """Iterations with Jacobi that the progress of a run stands for, at most what dominance allows."""
        known, share = self.facts.expected_iterations * self._digits / 8, trial.candidate.share(self.facts)
        if trial.is_hovering:
            made, least = trial.iterations / share, known or self._many
            return min(max(least, HORIZON * max(0.0, made - least)), self.most_iterations)
        scale = self._digits / max(trial.digits[0], 1.0) if trial.digits[0] < self._digits else 1.0
        total = scale * (trial.iterations + trial.remaining()) / share
        if known:
            prior = KNOWN if self.facts.elliptic_iterations else USUAL
            weight = prior / (prior + trial.iterations)
            total = total ** (1 - weight) * known**weight
        return max(1.0, min(total, self.most_iterations))

    def _replace(self, present: Trial) -> bool:
        """Whether another run has taken over, because it is expected to end sooner."""
        if not (present.candidate.is_multigrid or present.candidate.is_direct):
            self._jacobi = self._predicted(present)
        rest = self._rest(present)
        present.predicted = present.seconds + rest
        paused = min(self._alive(present), key=self._rest, default=None)
        paused_rest = math.inf if paused is None else PAUSED * self._rest(paused)
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

    def _alive(self, present: Trial) -> list[Trial]:
        return [trial for trial in self.trials if trial is not present and not trial.has_failed]

    def _step(self, present: Trial) -> int:
        """Iterations until the next look: few beside those made, or beside what another one would cost."""
        least = min((self._expected(each) for each in self.untried), default=0.0)
        least = least if math.isfinite(least) else 0.0
        step = max(math.ceil((CHECK - 1) * present.iterations), int(PATIENCE * least / present.iteration))
        return self._within_time(present, max(step, self._least_step(present)))

    def _least_step(self, trial: Trial) -> int:
        return max(1, int(LOOK * self._cost.machine.call / trial.iteration))

    def _within_time(self, trial: Trial, step: int) -> int:
        left = self._seconds_left()
        return step if math.isinf(left) else max(1, min(step, int(left / trial.iteration)))

    def _replace_failed(self, failed: Trial) -> None:
        """Go on with a paused trial or the next candidate; end where rounding errors limit all of them."""
        self.events.append(f"{failed.candidate.name} failed after {failed.iterations} iterations")
        if failed.status is Status.INDEFINITE and failed.candidate.is_definite and self.definite:
            self._become_indefinite()
        if failed.method == "minres" and failed.status is Status.INDEFINITE:
            self._unfit.add(failed.candidate.name)
            self.untried = [failed.candidate, *self.untried]
        if failed.is_at_rounding or (failed.candidate.is_direct and self._is_pivoted):
            self.present = None
            return
        if failed.candidate.is_direct and not failed.is_stale:
            self._is_pivoted = True
            self.untried = [failed.candidate, *self.untried]
        paused = min(self._alive(failed), key=self._rest, default=None)
        candidate, seconds = self._best_candidate(math.inf)
        if paused is not None and self._rest(paused) <= seconds:
            self.present = paused
            return
        self._begin_any(candidate)
        if self.present is failed:  # nothing could be set up
            self.present = paused

    def _become_indefinite(self) -> None:
        """A is not definite: all candidates may be tried again, with another Krylov method."""
        self.definite = False
        self.events.append("A is not positive definite")
        self.untried = list(self._all)
