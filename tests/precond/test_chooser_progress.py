"""Predictions from residuals: on curves whose end is known."""

import math
from types import SimpleNamespace

import numpy as np
import pytest

from linforest_precond.chooser.predicted_iterations import (
    GROWTH,
    HORIZON,
    LINEAR,
    is_stalled,
    iterations_to,
    remaining,
)
from linforest_precond.chooser.trials import Trial


def linear(digits, iterations, done):
    """A run that wins the same in every iteration, so that none is left after `iterations`."""
    return [digits * (1 - i / iterations) for i in range(done + 1)]


@pytest.mark.parametrize("done", [2, 10, 40])
def test_linear_convergence_is_predicted_exactly(done):
    assert remaining(linear(8.0, 50, done), LINEAR) == pytest.approx(min(50 - done, HORIZON * done))


def test_a_slower_growth_predicts_more():
    digits = linear(8.0, 50, 20)
    assert remaining(digits, LINEAR) < remaining(digits, GROWTH) < HORIZON * 20


def test_doublings_that_grow_are_predicted_exactly():
    """Digits won by i iterations, c i^p: each doubling wins 2^p times what the one before won."""
    power = math.log2(GROWTH)
    whole = [8.0 - 8.0 * (i / 100) ** power for i in range(101)]
    assert remaining(whole[:17], GROWTH) == pytest.approx(84)


def test_nothing_won_is_bounded_by_the_horizon():
    assert remaining([8.0] * 6, GROWTH) == HORIZON * 5


def test_beyond_the_horizon():
    digits = linear(8.0, 1000, 10)
    assert remaining(digits, LINEAR) == HORIZON * 10
    assert remaining(digits, LINEAR, math.inf) == pytest.approx(990)


def test_a_run_that_has_not_begun_or_has_ended():
    assert remaining([8.0], GROWTH) == math.inf
    assert remaining([8.0, 4.0, -0.1], GROWTH) == 0.0


def test_iterations_to_a_residual():
    digits = [8.0, 7.0, 7.0, 5.0]
    assert iterations_to(digits, 8.0) == 0
    assert iterations_to(digits, 7.0) == 1
    assert iterations_to(digits, 6.0) == 2.5
    assert iterations_to(digits, 1.0) == 3


def test_stalled():
    assert is_stalled([8.0, 5.0] + [5.0] * 600)
    assert not is_stalled([8.0, 5.0] + [5.0] * 100)
    assert not is_stalled(linear(8.0, 2000, 600))


@pytest.mark.parametrize(
    "rows, most, won, stalled",
    [(100, 3000, 0.0, True), (1000, 3000, 0.0, False), (1000, 3000, 3.0, True), (10**4, 3000, 0.0, True)],
)
def test_runs_of_small_systems_that_have_won_nothing_may_make_n_iterations(rows, most, won, stalled):
    digits = [8.0] + [8.0 - won] * 600
    problem = SimpleNamespace(b=np.zeros((rows, 1)), most_iterations=most)
    run = SimpleNamespace(info=None, digits=digits, is_hovering=not won, problem=problem)
    assert Trial.has_stalled.fget(run) == stalled
