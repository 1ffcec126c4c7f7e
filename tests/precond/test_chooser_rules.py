"""The rules of the choice, on residual curves whose ends are known."""

import math
from dataclasses import replace

import pytest
from chooser_oracle import COST, FACTS, Curve, alone, chosen_among

from linforest_precond.chooser.candidates import CANDIDATES
from linforest_precond.chooser.chooser import TOTAL, Chooser
from linforest_precond.solvers.status import Status

SAME = {candidate.name: 1 for candidate in CANDIDATES}
ELLIPTIC = replace(FACTS, dominant_share=1.0, m_matrix_share=1.0, row_ratio=1.0)


def same(iterations):
    """All candidates need the same number of iterations, so that the cheapest one is the best."""
    return dict.fromkeys(SAME, iterations)


@pytest.mark.parametrize("iterations", [1, 3, 5, 10, 20, 50, 100, 200, 500, 1000, 5000])
@pytest.mark.parametrize("power", [0.585, 0.8, 1.0])
def test_where_jacobi_is_best_little_is_lost(iterations, power):
    """Incomplete factors that save no iteration, against expectation: their longer iterations are lost."""
    _, work, _ = chosen_among(same(iterations), power=power)
    assert work <= (1.8 if iterations >= 50 else 1.0) * alone("jacobi", iterations)


@pytest.mark.parametrize("iterations", [1, 3, 5, 8])
@pytest.mark.parametrize("facts", [FACTS, replace(ELLIPTIC, row_ratio=0.3, surplus=0.7)])
def test_easy_systems_are_solved_without_a_trial(iterations, facts):
    _, work, chooser = chosen_among(same(iterations), facts=facts)
    assert len(chooser.trials) == 1 and work == alone("jacobi", iterations)


@pytest.mark.parametrize("iterations", [60, 200, 1000])
def test_incomplete_factors_are_taken_early(iterations):
    totals = {**same(iterations), "ilu": iterations // 4}
    found, work, _ = chosen_among(totals, power=0.8)
    assert found.candidate.name == "ilu" and work <= 1.25 * alone("ilu", iterations // 4)


def test_predictions_are_frequent_where_the_usual_iterations_are_known():
    """Nothing but Jacobi can be set up, so that its run is not replaced."""
    _, _, chooser = chosen_among({"jacobi": 40}, facts=ELLIPTIC, power=0.8)
    assert chooser.trials[0].pauses == [3, 4, 5, 6, 7, 9, 10, 12, 14, 17, 20, 24, 28, 34, 40]


@pytest.mark.parametrize(
    "facts, pauses",
    [
        (FACTS, [3, 5, 7, 10, 14, 20, 28, 40]),
        (replace(FACTS, hermitian=False), [2, 3, 5, 7, 10, 14, 20, 28, 40]),
        (replace(ELLIPTIC, longest_row=100), [3, 5, 7, 10, 14, 20, 28, 40]),
    ],
)
def test_elsewhere_predictions_wait_for_comparisons(facts, pauses):
    """Without facts, without CG, and for graphs with hubs."""
    _, _, chooser = chosen_among({"jacobi": 40}, facts=facts, power=0.8)
    assert chooser.trials[0].pauses == pauses


def test_between_comparisons_no_paused_run_is_resumed():
    """The present run has slowed down, but is not due yet; when it is, Jacobi goes on."""
    chooser = Chooser(CANDIDATES, FACTS, COST, None, 8.0, 5000)
    named = {each.name: each for each in CANDIDATES}
    jacobi, forest = Curve(named["jacobi"], "cg", 100), Curve(named["tridiagonal"], "cg", 10**5, power=0.1)
    jacobi.advance(80)
    forest.advance(60)
    chooser.trials, chooser.untried, chooser.present, forest.due = [jacobi, forest], [], forest, 70
    assert not chooser._change(forest) and chooser.present is forest
    forest.advance(10)
    assert chooser._change(forest) and chooser.present is jacobi


def test_a_run_that_was_paused_early_is_not_resumed_for_its_first_residuals():
    """The factors have come farther; few iterations with Jacobi predict less than they still need."""
    chooser = Chooser(CANDIDATES, replace(FACTS, hermitian=False), COST, None, 8.0, 5000)
    named = {each.name: each for each in CANDIDATES}
    jacobi = Curve(named["jacobi"], "bicgstab", 134, power=0.5)
    factors = Curve(named["ilu"], "bicgstab", 90, power=1.2)
    jacobi.advance(5)
    factors.advance(38)
    chooser.trials, chooser.untried, chooser.present = [jacobi, factors], [], factors
    assert chooser._rest(jacobi) < 0.5 * chooser._rest(factors)
    assert not chooser._change(factors)


@pytest.mark.parametrize("hermitian", [True, False])
def test_who_takes_over_starts_from_the_present_x_of_a_hermitian_system(hermitian):
    """Its iterations count with a share of those before; without symmetry it starts from x0."""
    facts = replace(FACTS, hermitian=hermitian)
    found, _, chooser = chosen_among({"jacobi": 300, "ilu": 90}, facts=facts, power=0.8)
    jacobi, ilu = chooser.trials
    credited = math.ceil(0.35 * jacobi.length) if hermitian else 0
    assert found is ilu and ilu.sources == ((jacobi,) if hermitian else ())
    assert ilu.length == ilu.iterations + credited
    assert ilu.digits[credited] <= jacobi.digits[-1] if hermitian else ilu.digits[0] == 8.0


@pytest.mark.parametrize("total, is_resumed", [(40, False), (3000, True)])
def test_the_run_that_another_one_follows_is_resumed_if_it_would_have_won_more(total, is_resumed):
    """Nothing can be compared at the same residuals: the factors began where Jacobi is."""
    chooser = Chooser(CANDIDATES, FACTS, COST, None, 8.0, 5000)
    named = {each.name: each for each in CANDIDATES}
    jacobi = Curve(named["jacobi"], "cg", 100)
    jacobi.advance(20)
    ilu = Curve(named["ilu"], "cg", total, source=jacobi)
    ilu.follow(jacobi, 0.35)
    ilu.advance(200 if is_resumed else 20)
    chooser.trials, chooser.untried, chooser.present = [jacobi, ilu], [], ilu
    assert chooser._regret(ilu) == is_resumed and (chooser.present is jacobi) == is_resumed


def test_a_run_that_follows_another_one_has_won_only_what_its_own_iterations_won():
    named = {each.name: each for each in CANDIDATES}
    jacobi = Curve(named["jacobi"], "cg", 100)
    jacobi.advance(50)
    ilu = Curve(named["ilu"], "cg", 1000, source=jacobi)
    ilu.follow(jacobi, 0.35)
    ilu.advance(5)
    assert ilu.is_hovering and ilu.won == pytest.approx(0.04)
    assert ilu.digits[:18] == [jacobi.digits[i * 50 // 18] for i in range(18)] and ilu.digits[18] == 4.0
    assert ilu.work_from(4.0) == 5 * ilu.iteration
    assert jacobi.work_to(2.0) < jacobi.work_to(0.0) == pytest.approx(50 * jacobi.iteration, rel=0.5)


def test_no_rotation_while_residuals_of_cg_rise():
    """It minimizes another norm: the factors go on, though they win nothing in most of their iterations."""
    totals = {"jacobi": {"total": 1000, "power": 0.8}, "ilu": {"total": 300, "power": 6.0}}
    found, _, chooser = chosen_among(totals)
    assert found.candidate.name == "ilu" and len(chooser.trials) == 2


def test_no_rotation_in_the_first_iterations_without_cg():
    """Residuals of BiCGStab may rise at first."""
    totals = {"jacobi": 500, "tridiagonal": 60, "ilu": {"total": 27, "power": 7.0}}
    found, _, chooser = chosen_among(totals, facts=replace(FACTS, hermitian=False), power=0.8)
    assert found.candidate.name == "ilu" and len(chooser.trials) == 2


def test_a_graph_of_small_diameter_is_no_mesh():
    """Jacobi needs fewer iterations than a mesh of that size, and its residuals show it."""
    _, work, _ = chosen_among(same(14), facts=ELLIPTIC)
    assert ELLIPTIC.usual_iterations > 1000 and work == alone("jacobi", 14)


def test_factors_that_disappoint_lose_their_turn():
    """They win less than Jacobi, which goes on when they have cost little more than was expected of them."""
    totals = {"jacobi": 100, "ilu": {"total": 10**4, "power": 0.4}}
    found, _, chooser = chosen_among(totals, power=0.8)
    jacobi, ilu = chooser.trials
    assert found is jacobi and ilu.work <= 0.5 * jacobi.work


@pytest.mark.parametrize("width, name", [(4, "jacobi"), (40, "ilu"), (1000, "multilevel")])
def test_boundaries_tell_the_size_of_an_elliptic_problem(width, name):
    """The share of rows at the boundary is the reciprocal of the width in grid points."""
    facts = replace(ELLIPTIC, surplus=1 / width, zero_sum_share=1 - 1 / width)
    _, _, chooser = chosen_among(same(5), facts=facts)
    assert chooser.trials[0].candidate.name == name


@pytest.mark.parametrize("width, name", [(4, "jacobi"), (100, "ilu")])
def test_boundaries_tell_the_size_of_convection(width, name):
    facts = replace(ELLIPTIC, hermitian=False, surplus=1 / width, zero_sum_share=1 - 1 / width)
    _, _, chooser = chosen_among(same(5), facts=facts)
    assert chooser.trials[0].candidate.name == name


def test_a_shift_tells_nothing_of_convection():
    facts = replace(ELLIPTIC, hermitian=False, surplus=0.01, zero_sum_share=0.0)
    _, _, chooser = chosen_among(same(5), facts=facts)
    assert facts.elliptic_iterations == 0 and chooser.trials[0].candidate.name == "jacobi"


def test_rows_are_matched_where_nothing_else_wins_anything():
    """The diagonal has zeros: after the first iterations with Jacobi and with incomplete factors."""
    facts = replace(FACTS, zero_diagonal=5, hermitian=False)
    totals = {name: 50 if "matching" in name else 5000 for name in SAME}
    found, work, chooser = chosen_among(totals, facts=facts)
    names = [trial.candidate.name for trial in chooser.trials]
    assert names == ["jacobi", "ilu", "ilu + matching"] and work <= 1.25 * found.work


def test_matched_rows_take_turns_while_they_win_nothing():
    facts = replace(FACTS, zero_diagonal=5, hermitian=False)
    totals = {**same(10**6), "block_tridiagonal + matching": 60}
    found, work, chooser = chosen_among(totals, facts=facts)
    names = [trial.candidate.name for trial in chooser.trials]
    assert found.candidate.name == names[-1] == "block_tridiagonal + matching" and len(names) == 4
    assert work <= 3 * found.work


def test_matched_rows_are_not_given_up_for_others():
    """Jacobi wins a third of a digit at once; matched rows need time, and are compared among themselves."""
    facts = replace(FACTS, zero_diagonal=5, hermitian=False)
    totals = {"jacobi": {"total": 10**5, "power": 0.3}, "ilu + matching": {"total": 400, "power": 1.5}}
    found, work, _ = chosen_among({**same(10**6), **totals}, facts=facts)
    assert found.candidate.name == "ilu + matching" and work <= 1.25 * found.work


def test_rows_that_cannot_be_matched_are_left_out():
    facts = replace(FACTS, zero_diagonal=5, hermitian=False)
    possible = {name: total for name, total in same(50).items() if "matching" not in name}
    found, _, _ = chosen_among(possible, facts=facts)
    assert not found.candidate.is_matched and found.has_converged


def test_what_bicgstab_fails_on_is_tried_with_idrs():
    class Failing(dict):
        def get(self, name):
            return {"total": 30, "fails": 10}

    _, _, chooser = chosen_among(Failing(), facts=replace(FACTS, hermitian=False))
    methods = [trial.method for trial in chooser.trials]
    assert methods == ["bicgstab"] * (len(methods) // 2) + ["idrs"] * (len(methods) // 2)


def test_matrices_like_those_of_helmholtz_are_not_taken_for_definite():
    """Couplings of one sign, and row sums below 0."""
    _, _, chooser = chosen_among(same(50), facts=replace(FACTS, m_matrix_share=1.0, dominant_share=0.1))
    assert chooser.trials[0].method == "minres"


@pytest.mark.parametrize("iterations", [300, 1000, 5000])
def test_multigrid_is_taken_for_hard_elliptic_systems(iterations):
    totals = {**same(iterations), "multilevel": 18}
    facts = replace(ELLIPTIC, surplus=1e-3, zero_sum_share=0.99)
    found, work, _ = chosen_among(totals, facts=facts, power=0.585)
    assert found.candidate.name == "multilevel" and work <= 1.25 * alone("multilevel", 18)


def test_nobody_inherits_a_turn():
    """The facts recommend multigrid, which cannot be set up: Jacobi has no claim to its turn, and incomplete
    factors take over after the first iterations."""
    facts = replace(ELLIPTIC, surplus=1e-3, zero_sum_share=0.999)
    found, _, chooser = chosen_among({"jacobi": 20000, "ilu": 200}, facts=facts, power=0.8)
    assert found.candidate.name == "ilu" and chooser.trials[0].iterations <= 5


def test_a_resumed_run_has_no_turn():
    """Incomplete factors take over and break down: Jacobi goes on, and is compared with a forest as soon as
    one is affordable."""
    totals = {**same(1000), "ilu": {"total": 1000, "fails": 8}, "tridiagonal": 100}
    facts = replace(FACTS, hermitian=False, heavy_share=0.8)
    found, work, chooser = chosen_among(totals, facts=facts, power=0.8)
    assert [trial.candidate.name for trial in chooser.trials] == ["jacobi", "ilu", "tridiagonal"]
    assert work <= 1.45 * alone("tridiagonal", 100, definite=False) and found is chooser.trials[-1]


@pytest.mark.parametrize("iterations", [5000])
def test_a_much_better_forest_is_found(iterations):
    """Where two couplings of each row hold much of the weight, and incomplete factors cannot be made."""
    totals = {name: iterations for name in SAME if "ilu" not in name} | {"tridiagonal": iterations // 3}
    found, work, _ = chosen_among(totals, facts=replace(FACTS, heavy_share=0.7), power=0.585)
    assert found.candidate.name == "tridiagonal" and work <= 1.25 * alone("tridiagonal", iterations // 3)


def test_a_forest_is_taken_at_once_where_it_holds_the_weight():
    facts = replace(ELLIPTIC, heavy_share=0.95)
    found, work, _ = chosen_among({**same(200), "tridiagonal": 20, "multilevel": 15}, facts=facts)
    assert found.candidate.name == "tridiagonal" and work == alone("tridiagonal", 20)


def test_a_hermitian_matrix_of_paths_needs_no_dominance():
    facts = replace(FACTS, heavy_share=0.97)
    found, work, _ = chosen_among({**same(60), "tridiagonal": 8}, facts=facts)
    assert found.candidate.name == "tridiagonal" and work == alone("tridiagonal", 8)


def test_runs_after_the_first_one_are_made_with_idrs_where_rows_are_matched():
    facts = replace(FACTS, zero_diagonal=5, hermitian=False)
    _, _, chooser = chosen_among({**same(10**6), "ilu + matching": 50}, facts=facts)
    assert [trial.method for trial in chooser.trials] == ["bicgstab", "idrs", "idrs"]


@pytest.mark.parametrize(
    "dropped, distance, name",
    [
        (0.1, 0.01, "ilu"),
        (0.4, 0.01, "ilu ordered"),
        (100.0, 0.01, "ilu"),
        (0.1, 0.33, "ilu"),
        (100.0, 0.33, "ilu ordered"),
    ],
)
def test_another_order_where_factors_drop_much(dropped, distance, name):
    """Very much: only where the given order looks random."""
    totals = {**same(2000), "ilu": {"total": 600, "dropped": dropped}, "ilu ordered": 150}
    found, _, _ = chosen_among(totals, facts=replace(FACTS, distance=distance), power=0.8)
    assert found.candidate.name == name


def test_factors_in_no_better_order_are_not_taken():
    """The natural order drops least after all: the run that has these factors goes on."""
    factors = {"total": 600, "dropped": 0.4}
    totals = {**same(2000), "ilu": factors, "ilu ordered": factors}
    found, work, _ = chosen_among(totals, power=0.8)
    assert found.candidate.name == "ilu" and work <= 1.1 * alone("ilu", 600)


def test_dominance_bounds_the_iterations():
    """The prediction of a hovering run would pay for multigrid; a dominant matrix cannot need that many."""
    facts = replace(ELLIPTIC, row_ratio=0.3)
    _, _, chooser = chosen_among({**same(12), "jacobi": {"total": 12, "power": 4.0}}, facts=facts)
    assert [trial.candidate.name for trial in chooser.trials] == ["jacobi"]


def test_a_breakdown_leads_to_the_next_candidate():
    totals = {**same(50), "jacobi": {"total": 50, "fails": 2}}
    found, _, chooser = chosen_among(totals)
    assert found.candidate.name == "ilu" and any("failed" in event for event in chooser.events)


def test_an_indefinite_matrix_is_solved_by_another_method():
    totals = {**same(50), "jacobi": {"total": 50, "fails": 2, "status": Status.INDEFINITE}}
    found, _, chooser = chosen_among(totals)
    assert not chooser.definite and found.method == "minres"


def test_a_run_that_collapses_is_given_up():
    """The forest starts fast and then hardly moves: another run is resumed where it was."""
    totals = {**same(1000), "tridiagonal": {"total": 10**5, "power": 0.05}}
    found, work, chooser = chosen_among(totals, facts=replace(FACTS, hermitian=False))
    assert found.candidate.name != "tridiagonal" and work <= 5 * alone("jacobi", 1000, definite=False)


def test_first_iterations_do_not_flatter_a_paused_run():
    """Compared where Jacobi is, it seems to be the faster one; but the factors have nearly converged."""
    chooser = Chooser(CANDIDATES, replace(FACTS, hermitian=False), COST, None, 8.0, 5000)
    jacobi, ilu = (
        Curve(each, "bicgstab", *{"jacobi": (3000, 0.2), "ilu": (20, 4.0)}[each.name])
        for each in CANDIDATES
        if each.name in ("jacobi", "ilu")
    )
    jacobi.advance(3)
    ilu.advance(19)
    chooser.trials = [jacobi, ilu]
    assert chooser._advantage(jacobi, ilu) < chooser._share and not chooser._regret(ilu)


def test_what_cannot_be_set_up_is_left_out():
    found, _, chooser = chosen_among({"multilevel": 20})
    assert found.candidate.name == "multilevel" and len(chooser.trials) == 1


def test_nothing_converges():
    totals = {name: {"total": 100, "fails": 10} for name in SAME}
    found, _, chooser = chosen_among(totals)
    assert found is None and len(chooser.trials) == sum(each.applies(FACTS) for each in CANDIDATES)


def test_all_trials_together_are_bounded():
    """What converges for nobody ends after a stated number of iterations."""
    found, _, chooser = chosen_among(same(10**6), facts=replace(FACTS, hermitian=False), maxiter=200)
    made = sum(trial.iterations for trial in chooser.trials)
    assert found is None and made <= 1.5 * TOTAL * 200 and "maxiter" in chooser.events[-1]
