"""The rules of the choice, on residual curves whose ends are known."""

import math
from dataclasses import replace

import numpy as np
import pytest
from chooser_oracle import FACTS, alone, chosen_among, cost_of
from hypothesis import example, given
from hypothesis import strategies as st

import linforest_precond as lf
from linforest_precond.chooser.candidates import candidates_on
from linforest_precond.chooser.chooser import LAST_RESORT, MARGIN, SINGULAR, TOTAL
from linforest_precond.chooser.one_solve import OneSolve
from linforest_precond.chooser.trials import GROWTH, HORIZON, LINEAR, remaining
from linforest_precond.precond.kinds import Cost
from linforest_precond.solvers.status import Status

NAMES = [each.name for each in candidates_on("cpu", FACTS)]
ELLIPTIC = replace(FACTS, dominant_share=1.0, m_matrix_share=1.0, row_ratio=1.0)
SMALL = replace(FACTS, rows=1000, entries=7000, structural_rank=1000)


def same(iterations):
    """All candidates need the same number of iterations, so that the cheapest one is the best."""
    return dict.fromkeys((name for name in NAMES if name != "direct"), iterations)


class TestPredictions:
    @pytest.mark.parametrize("done", [2, 10, 40])
    def test_linear_convergence_is_predicted_exactly(self, done):
        digits = [8.0 * (1 - i / 50) for i in range(done + 1)]
        assert remaining(digits, LINEAR) == pytest.approx(min(50 - done, HORIZON * done))
        assert remaining(digits, LINEAR) <= remaining(digits, GROWTH) <= HORIZON * done

    def test_doublings_that_grow_are_predicted_exactly(self):
        """Digits won by i iterations, c i^p: each doubling wins 2^p times what the one before won."""
        whole = [8.0 - 8.0 * (i / 100) ** math.log2(GROWTH) for i in range(101)]
        assert remaining(whole[:17], GROWTH) == pytest.approx(84)

    def test_bounds(self):
        assert remaining([8.0] * 6, GROWTH) == HORIZON * 5
        assert remaining([8.0], GROWTH) == math.inf
        assert remaining([8.0, 4.0, -0.1], GROWTH) == 0.0


class TestCosts:
    def test_calls_dominate_small_systems_and_bytes_large_ones(self):
        small, large = cost_of(100, "cuda"), cost_of(10**8, "cuda")
        assert small.iteration("cg", Cost(0, 0)) == pytest.approx(
            cost_of(10, "cuda").iteration("cg", Cost(0, 0)), rel=0.01
        )
        moved = large.product + 11 * large.vector
        assert large.iteration("cg", Cost(0, 0)) == pytest.approx(moved / large.machine.bandwidth, rel=0.05)

    def test_factors_cost_entries_and_flops(self):
        cost = cost_of(1000)
        base = cost.factorization(0, 0.0)
        assert cost.factorization(2e6, 0.0) - base == pytest.approx(2 * (cost.factorization(1e6, 0.0) - base))
        assert cost.factorization(0, 1e9) - base == pytest.approx(1e9 / cost.machine.flops)
        assert cost.flops_in(2.0) == cost.machine.flops


def test_the_example_of_the_page_by_hand():
    """Milliseconds in docs/chooser.md: what each candidate is expected to take, and counted factors."""
    solver = lf.Solver(lf.matrices.poisson((100, 100)), calibration="default")
    chooser = OneSolve(solver._system, solver._options, np.ones(10_000)).chooser
    expected = {each.name: 1e3 * chooser._expected(each) for each in chooser.untried}
    assert expected == pytest.approx(
        {
            "direct": 5.0 + 16.3,
            "jacobi": 68.4,
            "tridiagonal": 82.7,
            "ilu": 70.2,
            "approximate_inverse": 137,
            "multilevel": 29.4,
        },
        rel=4e-3,
    )
    assert 1e3 * chooser._forecast(math.inf) == pytest.approx(26.5, rel=1e-3)


@pytest.mark.parametrize("iterations", [1, 3, 8])
@pytest.mark.parametrize("facts", [FACTS, replace(ELLIPTIC, row_ratio=0.3, surplus=0.7)])
def test_easy_systems_are_solved_without_another_trial(iterations, facts):
    _, _, chooser = chosen_among(same(iterations), facts=facts)
    assert len(chooser.trials) == 1


@pytest.mark.parametrize("iterations", [200, 400, 1000])
def test_a_forest_that_holds_the_weight_is_taken_early(iterations):
    facts = replace(FACTS, heavy_share=0.99)
    totals = {**same(iterations), "tridiagonal": iterations // 5}
    found, seconds, _ = chosen_among(totals, facts=facts, power=0.8)
    best = alone("tridiagonal", iterations // 5, facts)
    assert found.candidate.name == "tridiagonal" and seconds <= 1.3 * best


def test_a_forest_that_holds_nearly_all_weight_begins():
    """A grid that is stretched a hundredfold: the iterations follow the root of the weight of the others."""
    totals = {**same(700), "tridiagonal": 10, "multilevel": 22}
    found, _, chooser = chosen_among(totals, facts=replace(ELLIPTIC, heavy_share=0.9999))
    assert found.candidate.name == "tridiagonal" and len(chooser.trials) == 1


def test_a_bound_is_no_expectation():
    """A random walk that ends with probability 0.01 needs far fewer iterations than dominance allows."""
    facts = replace(FACTS, hermitian=False, dominant_share=1.0, m_matrix_share=1.0, row_ratio=0.99)
    _, _, chooser = chosen_among({**same(18), "multilevel": 8}, facts=facts)
    assert [trial.candidate.name for trial in chooser.trials] == ["jacobi"]


def test_cheap_factors_come_first():
    found, seconds, chooser = chosen_among(same(100), facts=SMALL, factor=1e-4)
    assert found.candidate.is_direct and len(chooser.trials) == 1


def test_factors_replace_a_run_whose_rest_is_longer():
    found, _, chooser = chosen_among(same(4000), factor=8.0, power=0.6)
    assert found.candidate.is_direct and len(chooser.trials) > 1
    before = chooser.trials[:-1]
    assert sum(trial.seconds for trial in before) < 8.0


def test_factors_that_take_longer_are_not_begun():
    found, seconds, chooser = chosen_among(same(100), factor=1e4)
    assert not any(trial.candidate.is_direct for trial in chooser.trials) and found.has_converged


def test_factors_are_the_last_resort():
    """Everything else breaks down: a factorization is done that is expected to take ten minutes at most."""
    broken = {name: {"total": 1000, "fails": 30} for name in same(1)}
    found, _, chooser = chosen_among(broken, factor=0.9 * LAST_RESORT)
    assert found.candidate.is_direct
    found, _, chooser = chosen_among(broken, factor=1.1 * LAST_RESORT)
    assert found is None and not any(trial.candidate.is_direct for trial in chooser.trials)


def test_few_iterations_follow_a_proof_that_no_x_solves_the_system():
    totals = {**same(10**5), "direct": {"total": 10, "fails": 1, "status": Status.SINGULAR}}
    found, _, chooser = chosen_among(totals, facts=SMALL, factor=1e-6)
    assert found is None and [trial.candidate.name for trial in chooser.trials][:1] == ["direct"]
    assert {trial.candidate.name for trial in chooser.trials} <= {"direct", "jacobi"}
    assert sum(trial.iterations for trial in chooser.trials) <= 2 * SINGULAR


def test_nothing_fits():
    broken = {name: {"total": 1000, "fails": 30} for name in same(1)}
    found, _, chooser = chosen_among(broken)
    assert found is None and {trial.method for trial in chooser.trials} == {"cg"}
    found, _, chooser = chosen_among(broken, facts=replace(FACTS, hermitian=False))
    assert found is None and {trial.method for trial in chooser.trials} == {"bicgstab"}


def test_multigrid_is_expected_to_solve_elliptic_systems():
    totals = {**same(2000), "multilevel": 15}
    found, seconds, _ = chosen_among(totals, facts=ELLIPTIC, power=0.8)
    assert found.candidate.name == "multilevel" and seconds <= 1.2 * alone("multilevel", 15, ELLIPTIC)


def test_a_run_that_disappoints_is_replaced_again():
    """A forest that wins nothing, against the facts: the paused run goes on."""
    totals = {"jacobi": {"total": 300, "power": 0.8}, "tridiagonal": {"total": 10**5, "power": 0.3}}
    found, _, chooser = chosen_among(totals, facts=replace(FACTS, heavy_share=0.99))
    assert found.candidate.name == "jacobi"
    assert {trial.candidate.name for trial in chooser.trials} == {"jacobi", "tridiagonal"}


def test_an_indefinite_matrix_gets_other_methods():
    totals = {**same(50), "jacobi": {"total": 60, "fails": 4, "status": Status.INDEFINITE}}
    found, _, chooser = chosen_among(totals)
    assert found.has_converged and "A is not positive definite" in chooser.events
    assert found.method in ("minres", "bicgstab")


def test_all_runs_together_are_limited():
    totals = {name: {"total": 10**6, "power": 0.2} for name in same(1)}
    found, _, chooser = chosen_among(totals, maxiter=100)
    assert found is None and sum(t.iterations for t in chooser.trials) <= 2 * TOTAL * 100


@given(
    st.dictionaries(
        st.sampled_from(sorted({*NAMES, "ilu + matching"} - {"direct"})),
        st.fixed_dictionaries(
            {"total": st.integers(1, 3000), "power": st.floats(0.1, 6.0)},
            optional={
                "fails": st.integers(1, 2000),
                "status": st.sampled_from([Status.RHO, Status.INDEFINITE, Status.DIVERGED, Status.MAXITER]),
            },
        ),
        min_size=1,
    ),
    st.sampled_from([10.0**k for k in range(-4, 4)] + [math.inf]),
    st.booleans(),
    st.integers(0, 1000),
    st.floats(0.0, 1.0),
    st.sampled_from(["cpu", "cuda"]),
)
@example({"tridiagonal": {"total": 1, "power": 1.0}}, math.inf, True, 0, 1.0, "cpu")
def test_whatever_histories_are_met(totals, factor, hermitian, zero_diagonal, heavy_share, backend):
    """The choice ends, raises nothing, and finds what converges where one does."""
    facts = replace(SMALL, hermitian=hermitian, zero_diagonal=zero_diagonal, heavy_share=heavy_share)
    found, _, chooser = chosen_among(totals, facts=facts, backend=backend, factor=factor)
    assert found is None or found.has_converged
    if math.isfinite(factor):
        assert found is not None
    assert sum(t.iterations for t in chooser.trials) <= 2 * TOTAL * 5000


def test_the_margin_protects_the_present_run():
    """A candidate that promises hardly anything is not set up, within the horizon of predictions."""
    jacobi = alone("jacobi", 40)
    totals = {"jacobi": {"total": 40, "power": math.log2(1.5)}}
    found, seconds, chooser = chosen_among(totals, factor=0.95 * jacobi)
    assert MARGIN > 1 and seconds <= MARGIN * jacobi
    assert [trial.candidate.name for trial in chooser.trials] == ["jacobi"]


def test_a_run_beyond_the_horizon_of_predictions_expects_what_the_facts_tell():
    """Four iterations that need ten times as many still, at least, are no reason to set up a forest."""
    easy = replace(FACTS, heavy_share=0.9)
    jacobi = alone("jacobi", 500, easy)
    totals = {"jacobi": 500, "tridiagonal": 400}
    found, _, chooser = chosen_among(totals, easy, factor=0.2 * jacobi)
    assert found.candidate.is_direct and [trial.candidate.name for trial in chooser.trials] == [
        "jacobi",
        "direct",
    ]
    assert chooser.trials[0].iterations == 4


def test_fill_is_counted_first_where_that_takes_less_than_a_probe():
    """Factors that were expected to take longer come first."""
    jacobi = alone("jacobi", 500)
    _, _, chooser = chosen_among({"jacobi": 500}, factor=0.02 * jacobi)
    assert cost_of(FACTS.rows).expected_factors(False) > 0.1 * jacobi
    assert [trial.candidate.name for trial in chooser.trials] == ["direct"]
