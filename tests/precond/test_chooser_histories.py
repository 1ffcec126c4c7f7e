"""The choice meets arbitrary histories: residuals that are NaN, infinite, zero, rising, or missing."""

import math
from types import SimpleNamespace

import numpy as np
from chooser_oracle import FACTS, cost_of
from hypothesis import given
from hypothesis import strategies as st

from linforest_precond.chooser.candidates import candidates_on
from linforest_precond.chooser.chooser import TOTAL, Chooser
from linforest_precond.chooser.outcome import Failure, complaint, info_of
from linforest_precond.chooser.report import TrialReport
from linforest_precond.chooser.trials import Trial
from linforest_precond.solvers.history import History
from linforest_precond.solvers.status import Status

NORMS = st.sampled_from([math.nan, math.inf, 0.0, 5e-324, 1e-300, 1e-9, 0.5, 1.0, 7.0, 1e300]) | st.floats(
    0, 10
)
# A step may be a half one, and may go back by one: after a breakdown.
RECORDS = st.lists(st.tuples(st.sampled_from([-0.5, 0.0, 0.5, 1.0]), NORMS, NORMS), max_size=12)
CODES = st.sampled_from([int(status) for status in Status if status <= 0] + [1, 12])
MAXITER = 5
PROBLEM = SimpleNamespace(
    norms=np.array([1.0, 2.0]), targets=np.array([1e-8, 0.0]), b=np.zeros((3, 2)), most_iterations=MAXITER,
    zero_rows={},
)  # fmt: skip


class RecordedTrial(Trial):
    """A trial that reads its records from a list, one at a time, and then ends."""

    def __init__(self, candidate, method, records, codes, cost):
        self.candidate, self.method, self.problem, self.history = candidate, method, PROBLEM, History()
        self.history.begin(method, 3, 2, np.float64, PROBLEM.norms, None)
        self.setup, self.predicted = 0.0, math.nan
        self.iteration = cost.iteration(method, candidate.application)
        self.info, self.is_stale, self._solution, self.digits = None, False, None, []
        self._records, self._codes, self._step, self._run = records, codes, 0.0, SimpleNamespace()
        self._run.joint_iterations = 0

    def advance(self, iterations):
        for _ in range(max(1, iterations)):
            if not self._records:
                self.info = np.array(self._codes)
                break
            (step, *norms), self._records = self._records[0], self._records[1:]
            self._step = max(0.0, self._step + step)
            self.history.add([self._step], [0.0], np.array([norms]), None)
            self._run.joint_iterations += 1
        self.digits = self._missing_digits()


@given(
    st.dictionaries(st.sampled_from(range(8)), st.tuples(RECORDS, CODES, CODES)), st.booleans(), st.booleans()
)
def test_the_choice_ends_whatever_the_residuals_are(drawn, hermitian, settle):
    facts = FACTS.__class__(**{**FACTS.__dict__, "hermitian": hermitian})
    cost, candidates = cost_of(facts.rows), candidates_on("cpu", facts)

    def start(candidate, method, present):
        found = drawn.get(candidates.index(candidate))
        if found is None and candidate.name != "jacobi":
            return None  # it cannot be set up
        records, *codes = found or ([], 0, 0)
        return RecordedTrial(candidate, method, records, codes, cost)

    chooser = Chooser(candidates, facts, cost, start, lambda most: math.inf, 8.0, MAXITER)
    chosen = chooser.run(settle=settle)
    assert chosen is None or chosen.has_converged or settle
    assert sum(trial.iterations for trial in chooser.trials) <= TOTAL * MAXITER + 12
    for trial in chooser.trials:
        assert np.isfinite(trial.digits).all() and (np.diff(trial.digits) <= 0).all()
        assert trial.remaining() >= 0 and isinstance(TrialReport.of(trial).outcome, str)
        assert trial.is_better_than_its_start in (True, False)
    if chosen is None and chooser.trials:
        failed = info_of(chooser, False)
        assert complaint(Failure(chooser, PROBLEM, failed or 1, 1.0, None))
