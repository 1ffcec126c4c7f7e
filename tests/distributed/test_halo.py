"""Values of other ranks' rows: fetched, and sent back."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from parallel_cases import random_offsets

from linforest_precond.distributed import Halo, simulate


def random_ghosts(n, offsets, rank, rng):
    outside = np.concatenate([np.arange(offsets[rank]), np.arange(offsets[rank + 1], n)])
    return outside[rng.random(outside.size) < 0.4]


@given(n=st.integers(0, 30), size=st.integers(1, 7), seed=st.integers(0, 2**32 - 1))
def test_fetch_gives_the_values_of_the_owners(n, size, seed):
    offsets, rng = random_offsets(n, size, seed), np.random.default_rng(seed)
    shapes = {"i": (n,), "f": (n, 3), "c": (n, 2, 2)}
    whole = {kind: (100 * rng.random(shape)).astype(kind) for kind, shape in shapes.items()}
    ghosts = [random_ghosts(n, offsets, rank, rng) for rank in range(size)]

    def fetch(comm):
        halo = Halo(comm, offsets, ghosts[comm.rank])
        own = slice(offsets[comm.rank], offsets[comm.rank + 1])
        owners = [int(np.flatnonzero((offsets[:-1] <= g) & (g < offsets[1:]))[0]) for g in halo.ghosts]
        assert halo.owners.tolist() == owners
        for values in whole.values():
            found = halo.fetch(values[own])
            assert found.dtype == values.dtype and np.array_equal(found, values[halo.ghosts])

    simulate(size, fetch)


@given(n=st.integers(1, 30), size=st.integers(1, 7), seed=st.integers(0, 2**32 - 1))
def test_places_ascend_with_the_ids(n, size, seed):
    offsets, rng = random_offsets(n, size, seed), np.random.default_rng(seed)
    whole, wanted = rng.random(n), [rng.integers(-1, n, 20) for _ in range(size)]

    def number(comm):
        ids, own = wanted[comm.rank], np.arange(*offsets[comm.rank : comm.rank + 2])
        halo, places = Halo.ascending_numbering(comm, offsets, ids)
        assert halo.ascending_ids.tolist() == np.union1d(own, ids[ids >= 0]).tolist()
        assert np.array_equal(np.where(places < 0, -1, halo.ascending_ids[places]), ids)
        assert np.array_equal(halo.ascending(whole[own]), whole[halo.ascending_ids])

    simulate(size, number)


@pytest.mark.parametrize("combine", ["sum", "min", "max"])
@given(n=st.integers(1, 30), size=st.integers(1, 7), seed=st.integers(0, 2**32 - 1))
def test_send_back_combines_at_the_owner(combine, n, size, seed):
    offsets, rng = random_offsets(n, size, seed), np.random.default_rng(seed)
    ghosts = [random_ghosts(n, offsets, rank, rng) for rank in range(size)]
    values = [rng.integers(-50, 50, ids.size) for ids in ghosts]
    start = rng.integers(-50, 50, n)
    expected = start.copy()
    ufunc = {"sum": np.add, "min": np.minimum, "max": np.maximum}[combine]
    for ids, sent in zip(ghosts, values):
        ufunc.at(expected, ids, sent)

    def send(comm):
        halo = Halo(comm, offsets, ghosts[comm.rank])
        own = slice(offsets[comm.rank], offsets[comm.rank + 1])
        fresh = halo.send_back(values[comm.rank], combine)
        into = halo.send_back(values[comm.rank], combine, start[own].copy())
        assert np.array_equal(ufunc(fresh, start[own]), into)
        return into

    assert np.concatenate(simulate(size, send)).tolist() == expected.tolist()


@pytest.mark.parametrize(
    ("dtype", "least", "largest"), [("f8", -np.inf, np.inf), ("u1", 0, 255), ("?", False, True)]
)
def test_rows_that_nobody_has_stay_neutral(dtype, least, largest):
    def send(comm):
        halo = Halo(comm, np.array([0, 2]), np.empty(0, np.int64))
        return [halo.send_back(np.empty(0, dtype), combine).tolist() for combine in ("max", "min")]

    assert simulate(1, send)[0] == [[least] * 2, [largest] * 2]


def test_messages_go_to_neighbours_only():
    n, size = 40, 4
    offsets = np.arange(size + 1) * 10

    def count(comm):
        ghosts = [g for g in (offsets[comm.rank] - 1, offsets[comm.rank + 1]) if 0 <= g < n]
        halo = Halo(comm, offsets, np.array(ghosts))
        comm.counters.reset()
        halo.fetch(np.zeros(10))
        return comm.counters.messages, comm.counters.message_bytes, comm.counters.collectives

    assert simulate(size, count) == [(1, 8, 0), (2, 16, 0), (2, 16, 0), (1, 8, 0)]
