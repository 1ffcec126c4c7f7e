"""The choice: trials one after the other, each paid for by the work that it may save.

The rules of an online (ski-rental) algorithm, all in counted bytes:

1. The first candidate is what the facts recommend (`Chooser._first`), and Jacobi where they say nothing. A
   trial is paused, not ended, and goes on where it was.
2. Trust. Where the facts make success likely, a candidate needs no budget. Incomplete factors, whose setup is
   cheap, are tried as soon as their expected total is below what the present trial may need if it slows down
   (`SLOWDOWN`); multigrid, on elliptic matrices, when its expected total is below `GAIN` times the predicted
   rest.
3. Exploration. Any other candidate is tried when it is expected to need less than the predicted rest, and
   its setup and `TRIAL` iterations, with all work before that was lost to a comparison, cost at most `RISK`
   of what the present trial has done and, by a cautious prediction, still has to do.
4. A new trial takes over when its predicted rest is clearly smaller, a trusted one unless it is larger. It
   may run until rule 3's budget is spent, and is continued later if not known to be worse. Multigrid starts
   from the present x, others from x0: a restart would lose the superlinear convergence of Krylov methods.
5. Regret. When the predicted rest of the present trial exceeds `COLLAPSE` times that of a paused one (less
   where both have passed the same residuals), the paused one is resumed.
6. Failure. When a run breaks down, diverges or stalls, the next candidate is tried: matched rows, then
   trusted candidates, then the one that is expected to need least. When CG finds negative curvature, all may
   be tried again, with MINRES where M is definite and BiCGStab elsewhere; in the end, with IDR(s).

What this costs where the first candidate is the best one, with the work W alone: rule 3 allows `RISK` W, if
no prediction exceeds the true rest, and rule 2 one setup of incomplete factors, 20 products with A, and
`TRIAL` iterations: more than a tenth of W where Jacobi needs less than some 300 products. Not covered are
predictions that are too large, and wrong takeovers (rule 4).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from linforest_precond.precond.chooser import progress
from linforest_precond.precond.chooser.candidates import Candidate
from linforest_precond.precond.chooser.cost_model import CostModel
from linforest_precond.precond.chooser.facts import Facts
from linforest_precond.precond.chooser.trials import Trial
from linforest_precond.solvers.status import Status

# The share of the predicted work that may be spent on candidates that are not taken in the end.
RISK = 0.03
# A trusted candidate is tried when its expected total is below this share of the predicted rest.
GAIN, GAIN_WITHOUT_SYMMETRY = 0.6, 0.2
# Runs slow down: the iterations to fear, in units of those that the mean rate so far predicts.
SLOWDOWN = 1.7
# A trial takes over when its predicted rest is below this share of the present one's, a smaller one where
# residuals are not those of CG, which are smoother. It ends early when it is clearly below.
TAKE, TAKE_WITHOUT_CG, CLEAR = 0.75, 0.5, 0.4
# A pause after less than this share of the present iterations says nothing.
YOUNG = 0.25
# Others wait for a trusted candidate while its expected total is below this many times the predicted rest.
SOON = 2.0
# A paused trial is resumed when it promises to end this many times sooner, by predictions alone.
COLLAPSE = 50.0
# Iterations of the first trial before anything is predicted, and the least iterations of others.
FIRST, FIRST_WITHOUT_CG, TRIAL = 4, 3, 4
# Predictions are made anew when the iterations of the present trial have grown by this factor.
CHECK = 1.4
# The share of the predicted iterations after which a choice is final, where nothing but the choice is wanted.
SETTLED = 0.15
# Iterations with Jacobi to expect where nothing is known of them; products of a setup that others precede.
MANY, EXPENSIVE = 500, 500
# Iterations that multigrid is expected to need on elliptic systems.
MULTIGRID_ITERATIONS = 20
# Weight on two couplings of each row from which on a forest comes first, and iterations that make it pay.
HEAVY, NEARLY_ALL, WORTH_A_FOREST = 0.9, 0.95, 12


class Chooser:
    """Trials of candidates on one problem.

    Parameters
    ----------
    candidates
        From the cheapest setup to the most expensive one.
    start
        Sets up a candidate: `start(candidate, method, present)` gives its trial with a Krylov method, which
        starts from the x of the present one, or None where the setup fails.
    digits
        Digits by which residuals are to be reduced, for bounds on iterations.
    """

    def __init__(
        self,
        candidates: Sequence[Candidate],
        facts: Facts,
        cost: CostModel,
        start: Callable[[Candidate, str, Trial | None], Trial | None],
        digits: float,
    ) -> None:
        self.facts, self.cost, self._start, self._digits = facts, cost, start, digits
        self.untried = [candidate for candidate in candidates if candidate.applies(facts)]
        self.definite, self.trials = facts.may_be_definite, list[Trial]()
        self.present: Trial | None = None
        self._last: Trial | None = None
        self.events = list[str]()
        self._jacobi_iterations, self._explored = math.inf, 0.0
        self._robust, self._unfit = False, set[str]()

    def run(self, settle: bool = False) -> Trial | None:
        """The trial that converged; None where none did. With `settle`, the present one when nothing else
        is worth a trial any more."""
        self._begin(self._first())
        while self.present is not None:
            present = self.present
            if present.has_converged:
                return present
            if present.has_failed:
                self._replace_failed(present)
                continue
            if self._regret(present) or self._explore(present):
                continue
            if settle and self._is_settled(present):
                return present
            self._go_on(present)
        return None

    def _first(self) -> Candidate:
        """Jacobi; or what the facts recommend.

        - Matched rows, where the diagonal has zeros.
        - Where two couplings of each row hold most of the weight of a dominant matrix: the forest; but
          incomplete factors for transport, a nonsymmetric matrix with row sums of 0.
        - For an elliptic matrix, the candidate with the least work for the iterations to expect.
        """
        facts = self.facts
        if facts.needs_matching:
            return self._next()
        if facts.dominant_share >= 0.9 and self._most_iterations() > WORTH_A_FOREST:
            if facts.heavy_share >= (HEAVY if facts.hermitian else NEARLY_ALL):
                flows = not facts.hermitian and facts.zero_sum_share >= 0.5
                return self._named("ilu" if flows else "tridiagonal")
        if facts.elliptic_iterations:
            expected = facts.elliptic_iterations * self._digits / 8
            self._jacobi_iterations = min(expected, self._most_iterations())
            known = [each for each in self.untried if each.name == "jacobi" or each.is_trusted(facts)]
            return min(known, key=self._expected_total)
        return self.untried[0]

    def _named(self, name: str) -> Candidate:
        return next(each for each in self.untried if each.name == name)

    def _most_iterations(self) -> float:
        """A bound on the iterations with Jacobi: the eigenvalues of D^-1 A lie in [1 - q, 1 + q]."""
        q = self.facts.row_ratio
        if q >= 1:
            return math.inf
        return 0.5 * math.sqrt((1 + q) / (1 - q)) * (self._digits + 0.3) * math.log(10)

    def _begin(self, candidate: Candidate) -> Trial | None:
        """Set up a candidate; the present trial changes where there is none."""
        self.untried.remove(candidate)
        warm = candidate.is_multigrid or self.present is None or self.present.has_stalled
        trial = self._start(candidate, self._method(candidate), self._last if warm else None)
        if trial is not None:
            self.trials.append(trial)
            first = FIRST if self.definite else FIRST_WITHOUT_CG
            trial.advance(first if self.present is None else TRIAL)
            if self.present is None:
                self.present = self._last = trial
        elif self.present is None and self.untried:
            return self._begin(self.untried[0])
        return trial

    def _method(self, candidate: Candidate) -> str:
        """The Krylov method: minres needs a definite M; IDR(s) is for what BiCGStab has failed on."""
        if self.definite:
            return "cg"
        if self.facts.has_definite_diagonal and candidate.is_definite and candidate.name not in self._unfit:
            return "minres"
        return "idrs" if self._robust else "bicgstab"

    def _go_on(self, present: Trial) -> None:
        present.advance(math.ceil((CHECK - 1) * present.iterations))

    def _rest(self, trial: Trial, growth: float | None = None) -> float:
        """Predicted bytes, not above what diagonal dominance guarantees.

        Nothing is known of trials that have hardly won anything: all are predicted the same iterations.
        """
        if trial.is_hovering:
            most = max(each.iterations for each in self.trials)
            rest = progress.HORIZON * most * trial.iteration
        else:
            rest = trial.rest(growth)
        if trial.candidate.name == "jacobi":
            rest = min(rest, max(1.0, self._most_iterations() - trial.iterations) * trial.iteration)
        return rest

    def _regret(self, present: Trial) -> bool:
        """Whether another trial takes over, because the present one has slowed down or stalled."""
        others = [trial for trial in self.trials if trial is not present and not trial.has_failed]
        if present.has_stalled and not self.untried and all(each.has_stalled for each in others):
            self._become_robust()
        if present.has_stalled and (self.untried or others):
            return self._replace_stalled(present, others)
        moving = [trial for trial in others if not trial.has_stalled]
        best = min(moving, key=lambda trial: self._regretted(trial, present), default=None)
        if best is None or self._regretted(best, present) >= 1:
            return False
        self._take(best, f"{present.candidate.name} slowed down after {present.iterations} iterations")
        self._go_on(best)
        return True

    def _regretted(self, paused: Trial, present: Trial) -> float:
        """Below 1, a paused trial is resumed.

        The prediction of a pause is old, and most predictions grow: it counts `COLLAPSE` times. Where the
        present trial has passed the same residuals, the comparison there counts; with CG it counts alone,
        because all runs from x0 slow down at the same residuals.
        """
        old = COLLAPSE * self._rest(paused) / max(self._rest(present), 1.0)
        if not paused.is_comparable_to(present):
            return old if paused.iterations >= YOUNG * present.iterations else math.inf
        compared = self._advantage(paused, present) / self._share
        return compared if self.definite else min(old, compared)

    def _replace_stalled(self, present: Trial, others: list[Trial]) -> bool:
        """Try the next candidate; after the last, go on with whichever trial has done least."""
        reason = f"{present.candidate.name} stalled after {present.iterations} iterations"
        trial = self._begin(self._next()) if self.untried else min(others, key=lambda each: each.work)
        if trial is None or trial.work >= present.work:
            return trial is None
        self._take(trial, reason)
        self._go_on(trial)
        return True

    def _explore(self, present: Trial) -> bool:
        """Whether a new trial has been made."""
        rest = self._rest(present)
        present.predicted = present.work + rest
        budget = self._budget(present, self._rest(present, progress.LINEAR))
        if not present.candidate.is_multigrid:
            self._jacobi_iterations = self._doubtful_rest(present) / present.candidate.reduction(self.facts)
        worth = [each for each in self.untried if self._is_worth(each, rest, budget)]
        candidate = min(worth, key=self._preference, default=None)
        if candidate is None:
            return self._reconsider(present, budget)
        trial = self._begin(candidate)
        if trial is None:
            return True
        while not self._is_decided(trial, present) and trial.work + trial.iteration <= budget:
            affordable = int((budget - trial.work) / trial.iteration)
            trial.advance(min(math.ceil(trial.iterations / 2), affordable))
        self._judge(trial, present, trial.work)
        return True

    def _reconsider(self, present: Trial, budget: float) -> bool:
        """Whether a paused trial that is not known to be worse has been continued: doubled, if affordable."""
        for trial in self.trials:
            if trial is present or trial.has_failed or trial.iterations * trial.iteration > budget:
                continue
            if trial.is_hovering or self._advantage(trial, present) < 1:
                before = trial.work
                trial.advance(trial.iterations)
                self._judge(trial, present, trial.work - before)
                return True
        return False

    def _judge(self, trial: Trial, present: Trial, work: float) -> None:
        """Let a trial take over if it is predicted to end sooner; else its work counts as lost."""
        trial.predicted = trial.work + self._rest(trial)
        share = 1.0 if trial.candidate.is_trusted(self.facts) else self._share
        if trial.has_converged or (not trial.has_failed and self._advantage(trial, present) < share):
            self._take(trial, f"{present.candidate.name} needs more after {present.iterations} iterations")
            work = present.work
        self._explored += work

    @property
    def _share(self) -> float:
        return TAKE if self.definite else TAKE_WITHOUT_CG

    def _is_decided(self, trial: Trial, present: Trial) -> bool:
        """Whether a trial has ended, or is clearly the better one."""
        return trial.has_converged or trial.has_failed or self._advantage(trial, present) < CLEAR

    def _advantage(self, trial: Trial, present: Trial) -> float:
        """The predicted rest of a trial over that of the present one.

        Comparable trials are compared by the cautious prediction of the present one's total: if that is too
        small, then the faster one of the two gains even more. A trial that is already ahead of the present
        one is compared where that is now.
        """
        if trial.is_ahead_of(present):
            same = progress.iterations_to(trial.digits, present.digits[-1])
            return same * trial.iteration / (present.iterations * present.iteration)
        if trial.is_comparable_to(present):
            return trial.rest_compared_to(present) / max(self._rest(present, progress.LINEAR), 1.0)
        return self._rest(trial) / max(self._rest(present), 1.0)

    def _budget(self, present: Trial, rest: float) -> float:
        """Bytes that may be spent on other candidates now."""
        return RISK * (present.work + rest) - self._explored

    def _doubtful_rest(self, present: Trial) -> float:
        """Iterations that the present trial may still need: `SLOWDOWN` times what its mean rate says, and not
        fewer than an elliptic matrix lets expect."""
        digits = present.digits
        mean = digits[-1] * present.iterations / max(digits[0] - digits[-1], 1e-3)
        expected = min(self.facts.elliptic_iterations, self._most_iterations())
        known = expected * present.candidate.reduction(self.facts) - present.iterations
        feared = max(min(SLOWDOWN * mean, progress.HORIZON * present.iterations), known)
        most = self._most_iterations() if present.candidate.name == "jacobi" else math.inf
        return min(feared, max(1.0, most - present.iterations))

    def _preference(self, candidate: Candidate) -> tuple[bool, float]:
        """Trusted candidates first, by what they are expected to cost; others by their setup."""
        if candidate.is_trusted(self.facts):
            return False, self._expected_total(candidate)
        return True, candidate.setup_products

    def _next(self) -> Candidate:
        """The candidate to try where the present trial has failed."""
        if self._robust:
            return self.untried[0]
        if not math.isfinite(self._jacobi_iterations):
            self._jacobi_iterations = MANY
        matched = (each for each in self.untried if each.is_matched and each.setup_products < EXPENSIVE)
        trusted = [each for each in self.untried if each.is_trusted(self.facts)]
        return next(matched, None) or min(trusted or self.untried, key=self._expected_total)

    def _is_worth(self, candidate: Candidate, rest: float, budget: float) -> bool:
        setup, iteration = self._expected_cost(candidate)
        total = self._expected_total(candidate)
        assert self.present is not None
        if candidate.is_trusted(self.facts) and not self.present.candidate.is_multigrid:
            if not candidate.is_multigrid:
                return total < self._doubtful_rest(self.present) * self.present.iteration
            cautious = rest if self.definite else self._rest(self.present, progress.LINEAR)
            return total < (GAIN if self.facts.hermitian else GAIN_WITHOUT_SYMMETRY) * cautious
        trusted = (each for each in self.untried if each.is_trusted(self.facts))
        if any(self._expected_total(each) < SOON * rest for each in trusted if each.is_multigrid):
            return False
        if not candidate.is_matched and any(each.candidate.is_matched for each in self.trials):
            return False
        return total < rest and setup + TRIAL * iteration <= budget

    def _expected_total(self, candidate: Candidate) -> float:
        """Bytes of the setup and of all iterations that are expected."""
        iterations = self._jacobi_iterations * candidate.reduction(self.facts)
        if candidate.is_multigrid and candidate.is_trusted(self.facts):
            iterations = min(iterations, MULTIGRID_ITERATIONS)
        setup, iteration = self._expected_cost(candidate)
        return setup + iterations * iteration

    def _expected_cost(self, candidate: Candidate) -> tuple[float, float]:
        """Bytes of the setup and of an iteration, before the setup."""
        method = self._method(candidate)
        application = candidate.application_products * self.cost.product + candidate.latency_bytes
        return self.cost.setup_of(candidate), self.cost.iteration(method, application)

    def _is_settled(self, present: Trial) -> bool:
        """Whether a sixth of the predicted iterations is done, and no other candidate would be tried later if
        the prediction came true."""
        if present.iterations < SETTLED * (present.iterations + present.remaining()):
            return False
        budget = self._budget(present, self._rest(present))
        return not any(self._is_worth(each, self._rest(present), budget) for each in self.untried)

    def _replace_failed(self, failed: Trial) -> None:
        """Go on with a paused trial or the next candidate; end where rounding errors limit all of them."""
        self.events.append(f"{failed.candidate.name} failed after {failed.iterations} iterations")
        if failed.status is Status.INDEFINITE and failed.candidate.is_definite and self.definite:
            self._become_indefinite()
        if failed.method == "minres" and failed.status is Status.INDEFINITE:
            self._unfit.add(failed.candidate.name)
            self.untried.insert(0, failed.candidate)
        if failed.is_at_rounding:
            self.present = None
            return
        paused = [trial for trial in self.trials if not trial.has_failed]
        self.present = min(paused, key=self._rest, default=None)
        if self.present is None and not self.untried:
            self._become_robust()
        if self.present is None and self.untried:
            self._begin(self._next())

    def _become_indefinite(self) -> None:
        """A is not definite: all candidates may be tried again, with another Krylov method."""
        self.definite, self._explored = False, 0.0
        self.events.append("A is not positive definite")
        known = [trial.candidate for trial in self.trials]
        self.untried = sorted([*self.untried, *known], key=lambda each: each.setup_products)

    def _become_robust(self) -> None:
        """All have failed or stalled: those with BiCGStab are tried again with IDR(s), the best one first."""
        if self._robust:
            return
        self._robust = True
        failed = [trial for trial in self.trials if trial.method in ("bicgstab", "minres")]
        failed.sort(key=lambda trial: trial.digits[-1])
        self._unfit |= {trial.candidate.name for trial in failed}
        self.untried = [trial.candidate for trial in failed]
        self.events.append("nothing has converged: IDR(s) instead of BiCGStab")

    def _take(self, trial: Trial, why: str) -> None:
        self.present = self._last = trial
        self.events.append(f"{trial.candidate.name} takes over: {why}")
