"""What to expect: the rest of a run, from its residuals, and the total of a candidate, from the facts.

Both are iterations times bytes. All iterations are expressed by those that Jacobi would need: a candidate is
expected to need a share of them (`Candidate.reduction`), and so a run with any preconditioner predicts those
of all others.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from linforest_precond.chooser import predicted_iterations
from linforest_precond.chooser.candidates import Candidate
from linforest_precond.chooser.cost_model import CostModel
from linforest_precond.chooser.facts import Facts
from linforest_precond.chooser.trials import Trial

# Iterations with Jacobi to expect where nothing is known of them.
MANY = 500
# Iterations that multigrid is expected to need for 8 digits: where it is trusted, and where it is likely.
MULTIGRID_ITERATIONS, LIKELY_ITERATIONS = 20, 45
# What the boundary of an elliptic problem tells, or else what is usual for its size, counts as much as this
# many iterations that were seen. Where residuals predict less than this share of what is usual, they are
# believed: a graph of small diameter is no mesh.
KNOWN, USUAL, UNUSUAL = 16, 2, 0.25
# Iterations of IDR(s) for one of BiCGStab, which has two products.
IDRS_ITERATIONS = 1.7
# Incomplete factors in the natural order of a grid drop 0.1. Where they drop more, another order may drop
# less; where they drop much more, elimination is not stable in any order, if the given one is not random.
REORDERED = 0.15, 1.0


def is_worth_reordering(trial: Trial, facts: Facts) -> bool:
    """Whether a run with incomplete factors wins something, and another order may be better."""
    low, high = REORDERED
    most = math.inf if facts.is_scattered and not facts.needs_matching else high
    return low < trial.dropped < most and not trial.is_hovering


def has_same_factors(trial: Trial, other: Trial) -> bool:
    """Whether both have incomplete factors in the natural order: no other one was found to drop less."""
    return trial.dropped > 0 and other.dropped > 0


class Outlook:
    """Expectations for one problem.

    Parameters
    ----------
    digits
        Digits by which residuals are to be reduced.

    Attributes
    ----------
    jacobi_iterations
        Those that Jacobi is expected to need, by what was last seen.
    """

    def __init__(self, facts: Facts, cost: CostModel, digits: float) -> None:
        self._facts, self._cost, self._digits = facts, cost, digits
        self.jacobi_iterations = min(facts.elliptic_iterations * digits / 8, self.most_iterations) or float(
            MANY
        )

    @property
    def most_iterations(self) -> float:
        """A bound on the iterations with Jacobi: the eigenvalues of D^-1 A lie in [1 - q, 1 + q]."""
        q = self._facts.row_ratio
        if q >= 1:
            return math.inf
        return 0.5 * math.sqrt((1 + q) / (1 - q)) * (self._digits + 0.3) * math.log(10)

    def see(self, trial: Trial, trials: Sequence[Trial]) -> float:
        """Bytes that a run still needs; its prediction counts for all candidates from now on."""
        if not trial.candidate.is_multigrid:
            self.jacobi_iterations = self._predicted(trial, trials)
        return self.rest(trial, trials)

    def rest(self, trial: Trial, trials: Sequence[Trial]) -> float:
        """Bytes that a run is predicted to need still."""
        if trial.candidate.is_multigrid:
            return trial.rest()
        total = self._predicted(trial, trials) * self._share(trial.candidate, trial.method)
        return max(1.0, total - trial.length) * trial.iteration

    def cautious_rest(self, trial: Trial) -> float:
        """Bytes that a run needs at least, if it does not become faster."""
        rest = trial.rest(predicted_iterations.LINEAR)
        if trial.candidate.name == "jacobi":
            rest = min(rest, max(1.0, self.most_iterations - trial.length) * trial.iteration)
        return rest

    def _predicted(self, trial: Trial, trials: Sequence[Trial]) -> float:
        """Iterations with Jacobi that the progress of a run stands for, at most what dominance allows.

        Nothing is known of runs that have hardly won anything: all are predicted the same iterations.
        """
        most = max(each.length for each in trials)
        left = predicted_iterations.HORIZON * most if trial.is_hovering else trial.remaining()
        total = max(1.0, trial.length + left) / self._share(trial.candidate, trial.method)
        expected = self._facts.expected_iterations * self._digits / 8
        is_known = self._facts.elliptic_iterations > 0
        if expected and (is_known or total >= UNUSUAL * expected):
            prior = KNOWN if is_known else USUAL
            weight = prior / (prior + trial.length)
            total = total ** (1 - weight) * expected**weight
        return min(total, self.most_iterations)

    def total(self, candidate: Candidate, method: str, left: float | None = None) -> float:
        """Bytes of the setup of a candidate and of all its iterations, for the given number of digits."""
        iterations = self.jacobi_iterations * self._share(candidate, method)
        trusted = candidate.is_trusted(self._facts)
        if candidate.is_multigrid and (trusted or candidate.is_likely(self._facts)):
            digits = self._digits if left is None else min(max(left, 1.0), self._digits)
            iterations = min(
                iterations, (MULTIGRID_ITERATIONS if trusted else LIKELY_ITERATIONS) * digits / 8
            )
        return self.setup(candidate) + iterations * self.iteration(candidate, method)

    def relative_iterations(self, trial: Trial, other: Trial) -> float:
        """The iterations to expect of a run, in units of those of another one."""
        return self._share(trial.candidate, trial.method) / self._share(other.candidate, other.method)

    def _share(self, candidate: Candidate, method: str) -> float:
        """The iterations to expect, relative to those of Jacobi with CG or BiCGStab."""
        return candidate.reduction(self._facts) * (IDRS_ITERATIONS if method == "idrs" else 1.0)

    def setup(self, candidate: Candidate) -> float:
        """Bytes of a setup that has not been made."""
        return self._cost.setup_of(candidate)

    def iteration(self, candidate: Candidate, method: str) -> float:
        """Bytes of an iteration, before the setup."""
        application = candidate.application_products * self._cost.product + candidate.latency_bytes
        return self._cost.iteration(method, application)
