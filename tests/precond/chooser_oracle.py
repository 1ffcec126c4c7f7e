"""Trials with known ends: residual curves instead of solves, to test the choice alone."""

import math

from linforest_precond.backends import backend_named
from linforest_precond.chooser.candidates import candidates_on
from linforest_precond.chooser.chooser import Chooser
from linforest_precond.chooser.costs import CostModel
from linforest_precond.chooser.facts import Facts
from linforest_precond.chooser.machine import Machine
from linforest_precond.chooser.trials import Trial, remaining
from linforest_precond.solvers.status import Status

ROWS = 10**6
FACTS = Facts(
    rows=ROWS, entries=7 * ROWS, hermitian=True, positive_diagonal=True, zero_diagonal=0, tiny_diagonal=0,
    dominant_share=0.5, m_matrix_share=0.5, row_ratio=2.0, heavy_share=0.4, centered=False,
    structural_rank=ROWS,
)  # fmt: skip


def cost_of(rows, backend="cpu"):
    """Of a matrix with 7 entries in each row."""
    own, host = (Machine.of(backend_named(name), "default") for name in (backend, "cpu"))
    return CostModel(rows, 7 * rows, 104 * rows, 8 * rows, own, host, backend_named(backend))


class Curve:
    """A `Trial` whose digits follow a power law, with a known number of iterations; it may fail at one.

    If it starts from the x of another run, then where it would have the same residual.
    """

    is_stale = is_at_rounding = False

    def __init__(
        self, candidate, method, cost, setup, total, power=1.0, fails=None, status=Status.RHO, source=None
    ):
        self.candidate, self.method, self.setup, self.predicted = candidate, method, setup, math.nan
        self.total, self.fails, self._status = total, fails, status
        self.iteration = cost.iteration(method, candidate.application)
        self._digits = [8.0 - 8.0 * (i / total) ** power for i in range(total + 1)]
        self._start = 0 if source is None else sum(each > source.digits[-1] for each in self._digits)
        self.iterations, self.pauses = 0, []

    def advance(self, iterations):
        last = self.fails or self.total - self._start
        self.iterations = min(self.iterations + max(1, iterations), last)
        self.pauses.append(self.iterations)

    digits = property(lambda self: self._digits[self._start : self._start + self.iterations + 1])
    has_converged = property(lambda self: not self.fails and self._start + self.iterations == self.total)
    has_failed = property(lambda self: self.fails is not None and self.iterations == self.fails)
    status = property(lambda self: self._status if self.has_failed else None)
    is_contradicted = property(lambda self: self.candidate.is_direct and self.status is Status.SINGULAR)
    alone = property(lambda self: self.setup + self.total * self.iteration)
    seconds, is_beyond_horizon, remaining = Trial.seconds, Trial.is_beyond_horizon, Trial.remaining


def chosen_among(totals, facts=FACTS, backend="cpu", maxiter=5000, factor=math.inf, **options):
    """The trial that ended the solve, the seconds in all, and the chooser.

    `totals` has the iterations of each candidate by name, or the arguments of `Curve`; `factor` are the
    seconds of a direct factorization.
    """
    cost = cost_of(facts.rows, backend)

    def start(candidate, method, present):
        given = {"direct": 1, **totals}.get(candidate.name)
        if given is None:
            return None
        arguments = given if isinstance(given, dict) else {"total": given}
        setup = factor if candidate.is_direct else cost.seconds(candidate.setup)
        return Curve(candidate, method, cost, setup, source=present, **{**options, **arguments})

    def forecast(most):
        return factor if factor <= most else math.inf

    chooser = Chooser(candidates_on(backend, facts), facts, cost, start, forecast, 8.0, maxiter)
    found = chooser.run()
    return found, sum(trial.seconds for trial in chooser.trials), chooser


def alone(name, total, facts=FACTS, backend="cpu"):
    """The seconds of one candidate without any trial."""
    found, seconds, _ = chosen_among({name: total}, facts, backend)
    return found.alone


__all__ = ["FACTS", "ROWS", "Curve", "alone", "chosen_among", "cost_of", "remaining"]
