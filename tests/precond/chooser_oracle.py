"""Trials with known ends: residual curves instead of solves, to test the choice alone."""

import math

from linforest_precond.chooser import predicted_iterations
from linforest_precond.chooser.candidates import CANDIDATES
from linforest_precond.chooser.chooser import Chooser
from linforest_precond.chooser.cost_model import CostModel
from linforest_precond.chooser.facts import Facts
from linforest_precond.chooser.trials import Trial
from linforest_precond.solvers.status import Status

ROWS = 10**6
COST = CostModel(ROWS, 104 * ROWS, 8 * ROWS)
FACTS = Facts(
    rows=ROWS, entries=7 * ROWS, hermitian=True, positive_diagonal=True, zero_diagonal=0, tiny_diagonal=0,
    dominant_share=0.5, m_matrix_share=0.5, row_ratio=2.0, heavy_share=0.4, centered=False,
)  # fmt: skip


class Curve:
    """A `Trial` whose digits follow a power law, with a known number of iterations; it may fail at one.

    If it starts from the x of another run, then where it would have the same residual.
    """

    def __init__(
        self,
        candidate,
        method,
        total,
        power=1.0,
        fails=None,
        status=Status.RHO,
        dropped=0.0,
        source=None,
        cost=COST,
    ):
        self.candidate, self.method = candidate, method
        self.total, self.power, self.fails, self._status = total, power, fails, status
        self.setup = cost.setup_of(candidate)
        application = candidate.application_products * cost.product + candidate.latency_bytes
        self.iteration = cost.iteration(method, application)
        self._digits = [8.0 - 8.0 * (i / total) ** power for i in range(total + 1)]
        self.iterations, self.predicted, self.is_cold, self.dropped = 0, math.nan, source is None, dropped
        self._start = 0 if source is None else sum(each > source.digits[-1] for each in self._digits)
        self.due, self.pauses, self.sources, self._before = 0, [], (), []

    def advance(self, iterations):
        last = self.fails or self.total - self._start
        self.iterations = min(self.iterations + max(1, iterations), last)
        self.pauses.append(self.iterations)

    @property
    def digits(self):
        return [*self._before, *self.own_digits]

    @property
    def own_digits(self):
        return self._digits[self._start : self._start + self.iterations + 1]

    def _forget_digits(self):
        pass

    has_converged = property(lambda self: not self.fails and self._start + self.iterations == self.total)
    has_failed = property(lambda self: self.fails is not None and self.iterations == self.fails)
    has_stalled = property(
        lambda self: predicted_iterations.is_stalled(self.digits) and not self.has_converged
    )
    is_hovering = property(lambda self: self.won < 0.1)
    is_at_rounding = False
    status = property(lambda self: self._status if self.has_failed else None)
    work = property(lambda self: self.setup + self.iterations * self.iteration)
    alone = property(lambda self: self.setup + self.total * self.iteration)

    def remaining(self, growth=None):
        expected = predicted_iterations.LINEAR if self.candidate.is_multigrid else predicted_iterations.GROWTH
        return 0.0 if self.has_converged else predicted_iterations.remaining(self.digits, growth or expected)

    def rest(self, growth=None):
        return self.remaining(growth) * self.iteration

    is_comparable_to, is_ahead_of = Trial.is_comparable_to, Trial.is_ahead_of
    rest_compared_to, work_to, work_from = Trial.rest_compared_to, Trial.work_to, Trial.work_from
    follow, length, won = Trial.follow, Trial.length, Trial.won


def chosen_among(totals, facts=FACTS, maxiter=5000, candidates=CANDIDATES, cost=COST, **options):
    """The trial that ended the solve, the total work, and the chooser.

    `totals` has the iterations of each candidate by name, or the arguments of `Curve`.
    """

    def start(candidate, method, present):
        given = totals.get(candidate.name)
        if given is None:
            return None
        arguments = given if isinstance(given, dict) else {"total": given}
        source = None if candidate.is_multigrid else present
        return Curve(candidate, method, source=source, cost=cost, **{**options, **arguments})

    chooser = Chooser(candidates, facts, cost, start, 8.0, maxiter)
    found = chooser.run()
    return found, sum(trial.work for trial in chooser.trials), chooser


def alone(name, total, definite=True):
    """The work of one candidate without any trial."""
    candidate = next(each for each in CANDIDATES if each.name == name)
    return Curve(candidate, "cg" if definite else "bicgstab", total).alone
