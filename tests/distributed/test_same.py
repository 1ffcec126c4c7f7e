"""Values that must agree between ranks."""

import pytest

from linforest_precond.distributed import simulate


def test_a_nan_of_each_rank_is_the_same_value():
    simulate(3, lambda comm: comm.same("strength", ("auto", float("nan"))))


def test_the_first_rank_that_differs_is_named():
    with pytest.raises(ValueError, match="seed must be the same on all ranks.* 2 on rank 1"):
        simulate(3, lambda comm: comm.same("seed", [1, 2, 3][comm.rank]))
