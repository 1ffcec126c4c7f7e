"""Matchings and coarsenings over ranks are those of one rank."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from parallel_cases import gathered_matrix, joined, random_matrix, random_offsets

import linforest_precond as lf
from linforest_precond.distributed import coarsen, matching, scatter, simulate


def assert_matching_of_one_rank(A, size, offsets=None, *, batches=None, seed=0, weights="magnitude"):
    one = lf.graph.matching(A, weights=weights, seed=seed)

    def mates(comm):
        found = matching(scatter(A, comm, offsets), batches=batches, seed=seed, weights=weights)
        assert (found.size, found.weight, found.coverage) == (one.size, one.weight, one.coverage)
        return np.stack([found.mate.astype(float), found.values])

    mate, values = np.concatenate(simulate(size, mates), axis=1)
    assert np.array_equal(mate, one.mate) and np.array_equal(values, one.values)


@st.composite
def graphs(draw):
    """Few different weights, so that hashes decide; nonsymmetric, with zeros, loops, empty and long rows."""
    n = draw(st.integers(0, 25))
    A = random_matrix(n, draw(st.sampled_from([0.05, 0.2, 0.5])), draw(st.integers(0, 2**16)))
    A.data = np.round(A.data * draw(st.sampled_from([1, 3, 1000])))
    return A + A.T if draw(st.booleans()) else A


@given(
    A=graphs(),
    size=st.integers(1, 7),
    seed=st.integers(0, 2**16),
    batches=st.sampled_from([None, 1, 2, 5]),
    weights=st.sampled_from(["magnitude", "pattern"]),
)
def test_any_graph(A, size, seed, batches, weights):
    offsets = random_offsets(A.shape[0], size, seed)
    assert_matching_of_one_rank(A, size, offsets, batches=batches, seed=seed, weights=weights)


@given(A=graphs(), size=st.integers(1, 5), seed=st.integers(0, 2**16))
def test_coarsening_of_any_graph(A, size, seed):
    offsets = random_offsets(A.shape[0], size, seed)
    mate = lf.graph.matching(A, seed=seed).mate
    one = lf.graph.coarsen(A, mate, seed=seed)

    def coarse(comm):
        found = coarsen(
            scatter(A, comm, offsets), mate[offsets[comm.rank] : offsets[comm.rank + 1]], seed=seed
        )
        whole = gathered_matrix(found.A)
        assert whole.nnz == one.A.nnz and (whole != one.A).nnz == 0
        return found.aggregates

    assert np.array_equal(joined(size, coarse), one.aggregates)


def chain(n):
    """A path with increasing weights: each edge depends on the next one."""
    return sp.diags_array([np.arange(1.0, n), np.arange(1.0, n)], offsets=[-1, 1]).tocsr()


def test_exchanges_follow_the_ranks_and_not_the_chain():
    A = chain(600)
    assert_matching_of_one_rank(A, 4)
    for found in simulate(4, lambda comm: matching(scatter(A, comm))):
        assert found.iterations <= 4 and found.maximal


def test_messages_go_to_neighbours_with_a_pointer_for_each_ghost():
    A = lf.matrices.poisson((20, 20))

    def counted(comm):
        parts = scatter(A, comm)
        matching(parts, weights="pattern")  # sums of weights have messages of their own
        comm.counters.reset()
        rounds = matching(parts).iterations
        return comm.counters.messages, comm.counters.message_bytes, rounds

    for rank, (messages, size, rounds) in enumerate(simulate(4, counted)):
        neighbours = 1 if rank in (0, 3) else 2
        # The sums add at most one message for each of the few levels of their trees.
        assert rounds * neighbours <= messages <= rounds * neighbours + 8
        assert size >= rounds * neighbours * 20 * 8


def test_mates_that_do_not_name_each_other_are_refused_by_all_ranks():
    A = chain(6)

    def coarse(comm, mate):
        parts = scatter(A, comm)
        return coarsen(parts, np.array(mate)[parts.first : parts.first + parts.n_local])

    with pytest.raises(ValueError, match="two vertices that name each other"):
        simulate(2, coarse, [1, 2, 1, -1, -1, -1])
    with pytest.raises(ValueError, match="rank 0: matching must name vertices below 6, or -1"):
        simulate(2, coarse, [6, -1, -1, -1, -1, -1])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"batches": 0}, "batches must be at least 1, got 0"),
        ({"weights": "degree"}, 'weights must be "magnitude" or "pattern"'),
    ],
)
def test_options_are_checked(options, message):
    with pytest.raises(ValueError, match=message):
        simulate(2, lambda comm: matching(scatter(chain(5), comm), **options))


def test_options_that_differ_are_refused():
    with pytest.raises(ValueError, match="must be the same on all ranks"):
        simulate(2, lambda comm: matching(scatter(chain(5), comm), seed=comm.rank))


def test_print_shows_the_whole_matching():
    A = lf.matrices.aniso(1, 30)
    shown = simulate(2, lambda comm: str(matching(scatter(A, comm))))
    assert shown[0] == shown[1] and "matching over ranks" in shown[0]
    assert str(lf.graph.matching(A)).splitlines()[1:4] == shown[0].splitlines()[1:4]


@pytest.mark.slow
@pytest.mark.parametrize("size", [1, 2, 3, 4, 7])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex64, np.complex128])
def test_large_graphs(size, dtype):
    for A in (lf.matrices.aniso(2, 60), lf.matrices.delaunay(3000), random_matrix(800, 0.02, 5)):
        A = sp.csr_array(A.astype(dtype))
        if A.dtype.kind == "c":
            A.data *= np.exp(1j * np.arange(A.nnz)).astype(dtype)
        for seed in range(3):
            assert_matching_of_one_rank(A, size, random_offsets(A.shape[0], size, seed), seed=seed, batches=3)
