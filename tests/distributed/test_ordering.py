"""Values by global ids, sums by the tree of one rank, chains across ranks, and the exchange of vectors."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from linforest_precond.backends.cpu.matrix.sums import tree_sum as sum_of_one_rank
from linforest_precond.distributed import simulate
from linforest_precond.distributed.forest.list_ranking import lesser_rows
from linforest_precond.distributed.forest.ordering import forest_order
from linforest_precond.distributed.partition.chunk_sums import tree_sum
from linforest_precond.distributed.partition.owners import lookup, send_to


def own(comm, offsets, whole):
    return whole[offsets[comm.rank] : offsets[comm.rank + 1]]


def offsets_of(n, size, seed):
    cuts = np.sort(np.random.default_rng(seed).integers(0, n + 1, size - 1))
    return np.concatenate([[0], cuts, [n]])


@pytest.mark.parametrize("n", [0, 1, 2047, 2048, 2049, 5000, pytest.param(5_000_000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("size", [1, 2, 5])
def test_tree_sum_has_the_bits_of_one_rank(n, size):
    x = np.random.default_rng(n).standard_normal(n)
    offsets = offsets_of(n, size, n)
    found = simulate(size, lambda comm: tree_sum(comm, own(comm, offsets, x), 0.25))
    assert set(found) == {sum_of_one_rank(x, 0.25)}


def test_chunk_on_many_ranks():
    x = np.random.default_rng(0).standard_normal(3000)
    offsets = np.array([0, 0, 10, 10, 2000, 2048, 2050, 3000, 3000])
    found = simulate(8, lambda comm: tree_sum(comm, own(comm, offsets, x)))
    assert set(found) == {sum_of_one_rank(x)}


def test_lookup_of_any_ids():
    offsets, whole = np.array([0, 3, 3, 10]), np.arange(20.0).reshape(10, 2)
    ids = [np.array([9, 0, 9]), np.array([4]), np.zeros(0, int)]
    found = simulate(3, lambda comm: lookup(comm, offsets, own(comm, offsets, whole), ids[comm.rank]))
    assert all(np.array_equal(part, whole[each]) for part, each in zip(found, ids))


def test_entries_arrive_in_the_order_of_the_ranks():
    def work(comm):
        sent = 10 * comm.rank + np.arange(3)
        return [part.tolist() for part in send_to(comm, np.array([1, 0, 1]), sent, sent / 2)]

    assert simulate(2, work) == [[[1, 11], [0.5, 5.5]], [[0, 2, 10, 12], [0.0, 1.0, 5.0, 6.0]]]


@given(
    arrays.arrays(np.int64, (5, 3), elements=st.integers(0, 2)),
    arrays.arrays(np.int64, (5, 3), elements=st.integers(0, 2)),
)
def test_lesser_rows(a, b):
    assert lesser_rows(a, b).tolist() == [min(x, y) for x, y in zip(a.tolist(), b.tolist())]


@pytest.mark.parametrize("block_size", [1, 2])
@pytest.mark.parametrize("size", [1, 2, 5])
def test_vectors_move_to_the_order_and_back(block_size, size):
    """Places of a block forest without a vertex get 0."""
    n, blocks = 30, 30 if block_size == 1 else 20
    rng = np.random.default_rng(size)
    offsets = offsets_of(n, size, size)
    # Every block has a vertex at its first place.
    seconds = blocks + rng.permutation(blocks)[: n - blocks]
    flat = np.concatenate([np.arange(blocks) * block_size, (seconds - blocks) * block_size + 1])
    positions = rng.permutation(flat)
    x = rng.standard_normal((n, 3))

    def work(comm):
        places = own(comm, offsets, positions)
        order = forest_order(comm, offsets, places, places // 7, blocks, block_size)
        moved = order.redistribution.forward(own(comm, offsets, x))
        back = order.redistribution.backward(moved)
        vector = order.redistribution.forward(own(comm, offsets, x[:, 0]))
        return order, moved, back, vector

    orders, moved, back, vector = zip(*simulate(size, work))
    whole = np.zeros((blocks * block_size, 3))
    whole[positions] = x
    assert np.array_equal(np.concatenate(moved), whole)
    assert np.array_equal(np.concatenate(back), x)
    assert np.array_equal(np.concatenate(vector), whole[:, 0])
    vertices = np.full(blocks * block_size, -1)
    vertices[positions] = np.arange(n)
    assert np.array_equal(np.concatenate([order.vertices for order in orders]), vertices)
