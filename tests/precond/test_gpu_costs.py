"""The costs of a GPU, and what is chosen with them: on residual curves, so that no GPU is needed."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from chooser_oracle import FACTS, chosen_among

from linforest_precond.chooser.candidates import CANDIDATES, LEAST_SQUARES, candidates_on
from linforest_precond.chooser.cost_model import (
    LATENCIES,
    MAX_COARSE,
    CostModel,
    MeasuredCost,
    affordable_inverse,
)
from linforest_precond.precond.kinds import faces

ELLIPTIC = replace(FACTS, dominant_share=1.0, m_matrix_share=1.0, row_ratio=1.0)


def cost_of(rows):
    """Of a matrix with 7 entries in each row."""
    return CostModel(rows, 104 * rows, 8 * rows, backend="cuda")


def named(rows, hermitian=True):
    candidates = candidates_on("cuda", cost_of(rows).product, hermitian)
    return {each.name: each for each in candidates}


def chosen_on_gpu(rows, totals, facts):
    cost = cost_of(rows)
    candidates = candidates_on("cuda", cost.product, facts.hermitian)
    return chosen_among(totals, replace(facts, rows=rows), candidates=candidates, cost=cost, power=0.8)


def test_all_candidates_have_costs():
    assert set(named(1000)) == {each.name for each in CANDIDATES}
    assert {each.kind for each in CANDIDATES} <= set(faces())


def test_latencies_dominate_small_systems():
    """40 microseconds for an iteration, as many bytes as 3 TB/s move meanwhile."""
    small, large = cost_of(1000), cost_of(10**7)
    assert small.iteration("cg", 0.0) == pytest.approx(1.2e8, rel=0.01)
    assert large.iteration("cg", 0.0) == pytest.approx(large.product + 11 * large.vector + 1.2e8)
    jacobi, cycle = (named(1000)[name] for name in ("jacobi", "multilevel"))
    assert small.setup_of(cycle) - small.setup_of(jacobi) > 100 * small.iteration("cg", 0.0)
    assert (
        small.unit == pytest.approx(small.product + 1.2e7)
        and replace(small, backend="cpu").unit == small.product
    )
    assert replace(small, backend="cpu").iteration("cg", 0.0) == small.product + 11 * small.vector


def test_measured_times_are_compared_with_latencies():
    """In the unit of these, where a product takes no longer than its launch."""
    A, x = sp.eye_array(1000, format="csr"), np.ones(1000)
    small = MeasuredCost.calibrated(cost_of(1000), A, x)
    assert small.iteration_seen(0.0, 4e-3, 100) == pytest.approx(small.iteration("cg", 0.0), rel=0.01)
    large, on_cpu = (
        MeasuredCost.calibrated(cost, A, x) for cost in (cost_of(10**6), CostModel(1000, 10**5, 8000))
    )
    assert large.seconds_per_byte != small.seconds_per_byte != on_cpu.seconds_per_byte


def test_candidates_are_sorted_by_their_setup():
    for rows in (1000, 10**7):
        cost = cost_of(rows)
        setups = [cost.setup_of(each) for each in named(rows).values() if not each.is_multigrid]
        assert setups == sorted(setups)


def test_short_products_pay_for_more_entries():
    assert named(10**4)["approximate_inverse"].call == "lf.approximate_inverse(A)"
    assert named(10**6)["approximate_inverse"].call == "lf.approximate_inverse(A, 10)"
    found = named(10**6, hermitian=False)["approximate_inverse"]
    assert found.setup_products == LEAST_SQUARES.products


def test_coarsest_matrices_are_as_large_as_they_may_be():
    assert affordable_inverse(1e6, LATENCIES["cuda"]) == MAX_COARSE > affordable_inverse(1e6)


@pytest.mark.parametrize(
    "facts, is_trusted",
    [
        (FACTS, True),
        (replace(FACTS, hermitian=False), True),
        (ELLIPTIC, False),
        (replace(FACTS, constant_share=0.9), False),
    ],
)
def test_inverses_are_trusted_where_multigrid_is_no_better_choice(facts, is_trusted):
    found = named(10**4)
    assert found["approximate_inverse"].is_trusted(facts) == is_trusted
    assert not found["ilu"].is_trusted(facts)
    assert found["multilevel"].is_trusted(facts) == (facts is ELLIPTIC)


@pytest.mark.parametrize("hermitian", [True, False])
def test_inverses_are_taken_for_hard_systems(hermitian):
    totals = {each.name: 1500 for each in CANDIDATES} | {"approximate_inverse": 300}
    found, _, _ = chosen_on_gpu(3000, totals, replace(FACTS, hermitian=hermitian))
    assert found.candidate.name == "approximate_inverse"


def test_few_iterations_pay_for_no_setup():
    """100 iterations with Jacobi would pay for multigrid on a CPU."""
    totals = {each.name: 100 for each in CANDIDATES} | {"multilevel": 12}
    found, _, chooser = chosen_on_gpu(3000, totals, ELLIPTIC)
    assert found.candidate.name == "jacobi" and len(chooser.trials) == 1


def test_multigrid_for_large_elliptic_systems():
    totals = {each.name: 2000 for each in CANDIDATES} | {"multilevel": 20}
    found, _, _ = chosen_on_gpu(10**6, totals, ELLIPTIC)
    assert found.candidate.name == "multilevel"


def test_transport_begins_with_an_approximate_inverse():
    facts = replace(FACTS, hermitian=False, dominant_share=1.0, heavy_share=0.97, zero_sum_share=0.9)
    _, _, chooser = chosen_on_gpu(3000, {each.name: 30 for each in CANDIDATES}, facts)
    assert chooser.trials[0].candidate.name == "approximate_inverse"
