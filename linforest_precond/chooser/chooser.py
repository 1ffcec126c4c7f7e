"""The choice: runs one after the other, each replaced when another is expected to end sooner.

The rules of an online (ski-rental) algorithm, all in counted bytes:

1. First. Jacobi; where the facts say more, what they recommend (`first_candidate`). A run is paused, not
   ended, and goes on where it was.
2. Expectation. Whenever iterations have grown by `CHECK`, the rest of the present run is predicted, and with
   it the totals of all candidates (`Outlook`). Trusted candidates take over as soon as `MARGIN` times the
   expected total is below the predicted rest; more is asked of the first predictions (`CAUTION`). With CG,
   where the facts tell what is usual, predictions are made whenever iterations have grown by `LOOK`: they
   rest on more than a few residuals, and what is done before a change is lost.
   Trusted are incomplete factors, on a GPU approximate inverses; another order, if the factors have won most
   but drop much, and it drops less; and, for Hermitian elliptic matrices, multigrid. Their first residuals
   are not compared with those of others: they tell less than what is known of such matrices.
3. Turn. Who takes over goes on until its work is `TURN` times what was expected of it, and so does what the
   facts recommend; a run keeps its budget only until it is replaced. Until then only rule 2 applies; not even
   that to Jacobi, where the
   facts say that few iterations suffice. Then rules 4 to 7 apply, when iterations have grown by `CHECK`.
4. Rotation. Of runs that have won less than a tenth of a digit nothing can be predicted. When the work of
   the present one is `ROTATE` times the setup of the next candidate, or the work of a paused run, that one
   goes on; not before `RISING` iterations, for residuals may rise at first, and not with CG, which minimizes
   another norm of the error. Where the diagonal has zeros, incomplete factors are next, at once; if they win
   nothing in their first iterations either, matched rows, and only these until they stall.
5. Exploration. Any other candidate is tried when it is expected to need less than the predicted rest, and its
   setup and `TRIAL` iterations, with all work before that was lost to a comparison, cost at most `RISK` of
   what the present run has done and, by a cautious prediction, still has to do (`LIKELY` for multigrid
   where A maps constants to 0). It takes over when its
   predicted rest is below `TAKE` times that of the present one.
6. Regret. A paused run is resumed when it reached the residual of the present one with less than `TAKE` of
   its work. One that did not may have been paused after a few iterations, whose residuals predict too little:
   its rest, both as compared at the same residuals and as predicted from its own, must be below `DOUBT` times
   `TAKE` of the present one's. If the present run started from its x, then the work that the one did from
   there on is compared with what is predicted for the other. Among matched rows, as in rule 4, only these are
   resumed.
7. Failure. When a run breaks down, diverges or stalls, the next candidate is tried: matched rows, then
   trusted candidates, then the one that is expected to need least. When CG finds negative curvature, all may
   be tried again, with MINRES where M is definite and BiCGStab elsewhere; in the end, and after the first run
   where rows have to be matched, with IDR(s).
8. End. All runs together make at most `TOTAL` times the iterations that one may make.

Multigrid starts from the present x; so does a run that takes over by rule 2, if A is Hermitian: what was won
in a few iterations is more than what a restart loses of the superlinear convergence of Krylov methods. If A
is not Hermitian, an x with a small residual may be farther from the solution than x0. All others start from
x0, to be compared.

What this costs where the first candidate is the best one, with the work W alone: rule 5 allows `RISK` W, if
no prediction exceeds the true rest. A wrong expectation in rule 2 costs up to `TURN` / `MARGIN` times the
predicted rest.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from linforest_precond.chooser import predicted_iterations
from linforest_precond.chooser.candidates import Candidate
from linforest_precond.chooser.cost_model import CostModel
from linforest_precond.chooser.facts import Facts
from linforest_precond.chooser.first_choice import first_candidate
from linforest_precond.chooser.outlook import Outlook, has_same_factors, is_worth_reordering
from linforest_precond.chooser.trials import Trial
from linforest_precond.solvers.status import Status

# Iterations of the first run before anything is predicted (BiCGStab's cost twice as much), and of others.
FIRST, FIRST_WITHOUT_CG, TRIAL = 3, 2, 4
# The factors by which iterations grow from one comparison with other runs to the next, and from one
# prediction to the next with CG, where the facts tell what is usual.
CHECK, LOOK = 1.4, 1.2
# Iterations before the next prediction, in units of the latency of a setup.
PATIENCE = 0.1
# What is expected in place of the present run must be smaller by this factor: for incomplete factors, which
# slow down less than Jacobi does, for approximate inverses and for multigrid. `CAUTION` is divided by the
# square of the iterations; it is less for those of BiCGStab, which make two products.
MARGIN, MARGIN_INVERSE, MARGIN_MULTIGRID, CAUTION, CAUTION_WITHOUT_CG = 0.88, 1.0, 1.1, 2.5, 1.0
# The work of a turn, in units of what was expected.
TURN = 1.2
# The work of a run that has won nothing, in units of the work for another one, and its iterations.
ROTATE, RISING = 3.0, 30
# The share of the predicted work that may be spent on candidates that are not taken in the end, more on those
# that the facts speak for, and the share of the present rest that makes a run the better one: less where
# residuals are not those of CG, which are smoother, and for a run that was paused early.
RISK, LIKELY, TAKE, TAKE_WITHOUT_CG, DOUBT = 0.03, 0.15, 0.75, 0.5, 0.5
# The share of the predicted iterations after which a choice is final, where nothing but the choice is wanted.
SETTLED = 0.15
# Iterations of all runs together, in units of the most that one may make.
TOTAL = 6


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
    maxiter
        The most iterations of a trial.
    """

    def __init__(
        self,
        candidates: Sequence[Candidate],
        facts: Facts,
        cost: CostModel,
        start: Callable[[Candidate, str, Trial | None], Trial | None],
        digits: float,
        maxiter: int,
    ) -> None:
        self.facts, self._start, self._outlook = facts, start, Outlook(facts, cost, digits)
        self.untried = [candidate for candidate in candidates if candidate.applies(facts)]
        self.definite, self.trials = facts.may_be_definite, list[Trial]()
        self.present: Trial | None = None
        self._last: Trial | None = None
        self.events = list[str]()
        self._most, self._explored = TOTAL * maxiter, 0.0
        self._turn: tuple[Candidate | None, float] = None, 0.0  # whose it is, and the work until its end
        self._robust, self._unfit = False, set[str]()

    def run(self, settle: bool = False) -> Trial | None:
        """The trial that converged; None where none did. With `settle`, the present one when nothing else
        is worth a trial any more."""
        first, is_known = first_candidate(self.untried, self.facts, self._outlook, self._expected)
        if is_known:
            self._turn = first, TURN * self._expected(first)
        self._begin(first)
        while self.present is not None:
            present = self.present
            if present.has_converged:
                return present
            if self.is_exhausted:
                self.events.append(f"the end: all trials together have made {TOTAL} times maxiter iterations")
                return None
            if present.has_failed:
                self._replace_failed(present)
            elif not self._change(present):
                if settle and self._is_settled(present):
                    return present
                self._go_on(present)
        return None

    @property
    def is_exhausted(self) -> bool:
        """Whether all trials together have made as many iterations as they may."""
        return sum(trial.iterations for trial in self.trials) >= self._most

    def _expected(self, candidate: Candidate) -> float:
        left = None if self.present is None else self.present.digits[-1]
        return self._outlook.total(candidate, self._method(candidate), left)

    def _rest(self, trial: Trial) -> float:
        return self._outlook.rest(trial, self.trials)

    def _begin(self, candidate: Candidate, follows: bool = False) -> Trial | None:
        """Set up a candidate, which starts from the present x if it `follows`.

        The present trial changes where there is none.
        """
        self.untried.remove(candidate)
        warm = follows or candidate.is_multigrid or self.present is None or self.present.has_stalled
        trial = self._start(candidate, self._method(candidate), self._last if warm else None)
        if trial is not None:
            if follows and self._last is not None and not (trial.is_cold or candidate.is_multigrid):
                trial.follow(self._last, self._outlook.relative_iterations(trial, self._last))
            self.trials.append(trial)
            first = FIRST if self.definite else FIRST_WITHOUT_CG
            trial.advance(max(first if self.present is None else TRIAL, self._least_step(trial)))
            if self.present is None:
                self.present = self._last = trial
        elif self.present is None and self.untried:
            return self._begin(self.untried[0])
        return trial

    def _method(self, candidate: Candidate) -> str:
        """The Krylov method: minres needs a definite M; IDR(s) is for what BiCGStab has failed on, and where
        it often does: where rows have to be matched, and the first run was not enough."""
        if self.definite:
            return "cg"
        if self.facts.has_definite_diagonal and candidate.is_definite and candidate.name not in self._unfit:
            return "minres"
        is_hard = self.facts.needs_matching and self.trials
        return "idrs" if self._robust or is_hard else "bicgstab"

    def _go_on(self, present: Trial) -> None:
        """Iterate until the next prediction, at most until the next comparison."""
        done, least = present.iterations, self._least_step(present)
        if done >= present.due:
            present.due = done + max(least, math.ceil((CHECK - 1) * done))
        is_usual = self.definite and self.facts.expected_iterations > 0
        step = max(least, math.ceil((LOOK - 1) * done)) if is_usual else present.due - done
        present.advance(min(step, present.due - done))

    def _least_step(self, present: Trial) -> int:
        """Iterations that cost little compared to the latency of any setup that may come next."""
        latencies = [each.setup_latency for each in self.untried]
        return max(1, int(PATIENCE * min(latencies, default=0.0) / present.iteration))

    def _take(self, trial: Trial, why: str) -> None:
        self.present = self._last = trial
        self.events.append(f"{trial.candidate.name} takes over: {why}")

    def _change(self, present: Trial) -> bool:
        """Whether another trial has been set up, continued or resumed."""
        rest = self._outlook.see(present, self.trials)
        present.predicted = present.work + rest
        has_turn = self._has_turn(present)
        if has_turn and present.candidate.name == "jacobi":
            return False
        if self._expect_better(present, rest):
            return True
        if present.iterations < present.due or (has_turn and not self._needs_other_rows(present)):
            return False
        if present.has_stalled:
            return self._replace_stalled(present)
        if present.is_hovering:
            return not self._may_rise(present) and self._rotate(present)
        return self._regret(present) or self._explore(present, rest)

    def _has_turn(self, present: Trial) -> bool:
        """Whether the turn is that of the present run, not of one that has failed or was paused."""
        candidate, end = self._turn
        return present.candidate is candidate and present.work < end

    def _expect_better(self, present: Trial, rest: float) -> bool:
        """Whether a trusted candidate has taken over, because it is expected to end sooner."""
        if present.candidate.is_multigrid or self._robust:
            return False
        trusted = [each for each in self.untried if self._is_trusted(each, present)]
        candidate = min(trusted, key=self._expected, default=None)
        if candidate is None:
            return False
        expected = self._expected(candidate)
        if self._margin(candidate, present) * expected >= rest:
            return False
        trial = self._begin(candidate, follows=self.facts.hermitian)
        if trial is not None and not trial.has_failed and not has_same_factors(trial, present):
            self._turn = candidate, TURN * expected
            self._take(trial, f"{present.candidate.name} needs more after {present.iterations} iterations")
        return True

    def _is_trusted(self, candidate: Candidate, present: Trial) -> bool:
        """Whether the facts or, of incomplete factors in another order, what the present ones drop make
        success likely; if these have won more than all before them."""
        is_first = min(self.trials, key=lambda each: each.digits[-1]) is present
        reorders = candidate.name == "ilu ordered" and is_worth_reordering(present, self.facts) and is_first
        return candidate.is_trusted(self.facts) or reorders

    def _margin(self, candidate: Candidate, present: Trial) -> float:
        if candidate.is_multigrid:
            return MARGIN_MULTIGRID
        caution = CAUTION if self.definite else CAUTION_WITHOUT_CG
        margin = MARGIN_INVERSE if candidate.kind == "approximate_inverse" else MARGIN
        return margin * (1 + caution / max(present.iterations, 1) ** 2)

    def _may_rise(self, present: Trial) -> bool:
        """Whether residuals may still rise: those of CG, and of the first iterations of other methods."""
        return self.definite or (present.iterations < RISING and not self.facts.needs_matching)

    def _rotate(self, present: Trial) -> bool:
        """Whether another trial goes on, because the present one has not won anything yet."""
        following = self._next() if self.untried else None
        if following is not None and self._is_due(following, present):
            trial = self._begin(following)
        else:
            trial = min(self._equals(present), key=lambda each: each.work, default=None)
            if trial is None or ROTATE * trial.work > present.work:
                return False
        if trial is not None and not trial.has_failed:
            self._take(trial, f"{present.candidate.name} won nothing in {present.iterations} iterations")
        return True

    def _needs_other_rows(self, present: Trial) -> bool:
        """Whether the run has won nothing, and its diagonal has zeros that rows were not matched for."""
        return self.facts.needs_matching and not present.candidate.is_matched and present.is_hovering

    def _is_due(self, candidate: Candidate, present: Trial) -> bool:
        """Whether the present trial, which has won nothing, has had its share."""
        if present.candidate.is_matched != candidate.is_matched:
            return candidate.is_matched
        return present.work >= ROTATE * self._outlook.setup(candidate)

    def _equals(self, present: Trial) -> list[Trial]:
        """Paused trials that may still win something; among matched rows, only those."""
        paused = [each for each in self._alive(present) if not each.has_stalled]
        return [each for each in paused if each.candidate.is_matched or not present.candidate.is_matched]

    def _alive(self, present: Trial) -> list[Trial]:
        return [trial for trial in self.trials if trial is not present and not trial.has_failed]

    def _next(self) -> Candidate:
        """The candidate to try where the present trial has failed."""
        if self._robust:
            return self.untried[0]
        trusted = [each for each in self.untried if each.is_trusted(self.facts)]
        factors = [each for each in trusted if not each.is_multigrid]
        matched = [each for each in self.untried if each.is_matched and not each.comes_last]
        first = factors or matched if self.facts.needs_matching else []
        return min(first or trusted or self.untried, key=self._expected)

    def _regret(self, present: Trial) -> bool:
        """Whether a paused trial has been resumed, because the present one has slowed down."""
        paused = [each for each in self._equals(present) if not each.is_hovering]
        best = min(paused, key=lambda each: self._cautious_advantage(each, present), default=None)
        if best is None or self._cautious_advantage(best, present) >= self._share:
            return False
        self._take(best, f"{present.candidate.name} slowed down after {present.iterations} iterations")
        self._go_on(best)
        return True

    def _advantage(self, trial: Trial, present: Trial) -> float:
        """The predicted rest of a trial over that of the present one.

        Comparable trials are compared by the cautious prediction of the present one's total: if that is too
        small, then the faster one of the two gains even more. A trial that is already ahead of the present
        one is compared where that is now; one whose x the present one started from, by the work from there.
        """
        if trial in present.sources:
            return trial.work_to(present.digits[-1]) / max(present.work_from(trial.digits[-1]), 1.0)
        if trial.is_ahead_of(present):
            same = predicted_iterations.iterations_to(trial.digits, present.digits[-1])
            return same * trial.iteration / (present.length * present.iteration)
        if trial.is_comparable_to(present):
            return trial.rest_compared_to(present) / max(self._outlook.cautious_rest(present), 1.0)
        return self._rest(trial) / max(self._rest(present), 1.0)

    def _cautious_advantage(self, trial: Trial, present: Trial) -> float:
        """The same for a paused trial; unless it is ahead, at least what its own residuals predict, and more
        by `DOUBT`."""
        advantage = self._advantage(trial, present)
        if trial.is_ahead_of(present):
            return advantage
        return max(advantage, self._rest(trial) / max(self._rest(present), 1.0)) / DOUBT

    @property
    def _share(self) -> float:
        return TAKE if self.definite else TAKE_WITHOUT_CG

    def _explore(self, present: Trial, rest: float) -> bool:
        """Whether a new trial has been made."""
        total = present.work + self._outlook.cautious_rest(present)
        worth = [each for each in self.untried if self._is_worth(each, rest, self._budget(each, total))]
        candidate = min(worth, key=lambda each: each.setup_products, default=None)
        if candidate is None:
            return False
        budget, trial = self._budget(candidate, total), self._begin(candidate)
        if trial is None:
            return True
        while not self._is_decided(trial, present) and trial.work + trial.iteration <= budget:
            affordable = int((budget - trial.work) / trial.iteration)
            trial.advance(min(math.ceil(trial.iterations / 2), affordable))
        self._judge(trial, present)
        return True

    def _budget(self, candidate: Candidate, total: float) -> float:
        """Bytes that may be spent on a candidate now, given the predicted total of the present run."""
        return (LIKELY if candidate.is_likely(self.facts) else RISK) * total - self._explored

    def _is_worth(self, candidate: Candidate, rest: float, budget: float) -> bool:
        setup = self._outlook.setup(candidate)
        trial = TRIAL * self._outlook.iteration(candidate, self._method(candidate))
        return self._expected(candidate) < rest and setup + trial <= budget

    def _is_decided(self, trial: Trial, present: Trial) -> bool:
        return trial.has_converged or trial.has_failed or self._advantage(trial, present) < self._share

    def _judge(self, trial: Trial, present: Trial) -> None:
        """Let a trial take over if it is predicted to end sooner; else its work counts as lost."""
        trial.predicted = trial.work + self._rest(trial)
        if trial.has_converged or (not trial.has_failed and self._advantage(trial, present) < self._share):
            self._take(trial, f"{present.candidate.name} needs more after {present.iterations} iterations")
            self._explored += present.work
        else:
            self._explored += trial.work

    def _is_settled(self, present: Trial) -> bool:
        """Whether enough of the predicted iterations is done, and no other candidate would be tried later if
        the prediction came true."""
        if present.iterations < SETTLED * (present.iterations + present.remaining()):
            return False
        rest = self._rest(present)
        total = present.work + rest
        return not any(self._is_worth(each, rest, self._budget(each, total)) for each in self.untried)

    def _replace_stalled(self, present: Trial) -> bool:
        """Try the next candidate; after the last, go on with whichever trial has done least."""
        others = [each for each in self._alive(present) if not each.has_stalled]
        if not self.untried and not others:
            self._become_robust()
        if not self.untried and not others:
            return False
        reason = f"{present.candidate.name} stalled after {present.iterations} iterations"
        trial = self._begin(self._next()) if self.untried else min(others, key=lambda each: each.work)
        if trial is None or trial.has_failed:
            return True
        if trial.work >= present.work:
            return False
        self._take(trial, reason)
        self._go_on(trial)
        return True

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
        moving = [each for each in self._alive(failed) if not each.has_stalled]
        self.present = min(moving, key=self._rest, default=None)
        if self.present is None and not self.untried:
            self._become_robust()
        if self.present is None and self.untried:
            self._begin(self._next())
        elif self.present is None:
            self.present = min(self._alive(failed), key=self._rest, default=None)

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
