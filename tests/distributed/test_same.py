"""Values that must agree between ranks."""

import numpy as np
import pytest

import linforest_precond as lf
from linforest_precond import distributed
from linforest_precond.distributed import scatter, simulate


def test_a_nan_of_each_rank_is_the_same_value():
    simulate(3, lambda comm: comm.same("strength", ("auto", float("nan"))))


def test_the_first_rank_that_differs_is_named():
    with pytest.raises(ValueError, match="seed must be the same on all ranks.* 2 on rank 1"):
        simulate(3, lambda comm: comm.same("seed", [1, 2, 3][comm.rank]))


A = lf.matrices.poisson((8, 8))
DIFFERING = {
    "seed": lambda own, rank: distributed.tridiagonal(own, seed=rank),
    "m": lambda own, rank: distributed.block_tridiagonal(own, m=1 + rank),
    "scope": lambda own, rank: distributed.tridiagonal(own, scope=("global", "local")[rank]),
    "gather_below": lambda own, rank: distributed.multilevel(own, gather_below=10 + rank),
    "cycle": lambda own, rank: distributed.multilevel(own, cycle="VW"[rank]),
    "batches": lambda own, rank: distributed.matching(own, batches=1 + rank),
    "rtol": lambda own, rank: distributed.cg(own, np.ones(own.n_local), rtol=0.1**rank),
    "solver": lambda own, rank: (distributed.cg, distributed.gmres)[rank](own, np.ones(own.n_local)),
}


@pytest.mark.parametrize("name", DIFFERING)
def test_the_option_that_differs_is_named(name):
    """And no others, nor the records that the functions keep options in."""
    with pytest.raises(ValueError, match="must be the same on all ranks, but.* on rank 1$") as caught:
        simulate(2, lambda comm: DIFFERING[name](scatter(A, comm), comm.rank))
    message = str(caught.value)
    assert name in message
    assert not any(mark in message for mark in "{}(=") and len(message) < 120


def test_an_option_that_one_rank_does_not_give_is_named():
    with pytest.raises(ValueError, match="but atol is not given on rank 0 and 0.5 on rank 1"):
        simulate(
            2,
            lambda comm: distributed.cg(
                scatter(A, comm), np.ones(32), **({"atol": 0.5} if comm.rank else {})
            ),
        )


def test_matrices_of_other_values_are_not_mixed():
    def work(comm):
        return scatter(A * (1.0 + comm.rank), comm)

    with pytest.raises(ValueError, match="A, by a digest of its entries, must be the same on all ranks"):
        simulate(2, work)
