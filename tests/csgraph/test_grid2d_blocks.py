"""Push and pull along the edges of listed rows of a block, against loops in Python."""

import math

import numpy as np
import pytest

from linforest_precond.backends import backend_of

ROWS, IDS = 40, 60


def block(backend, density=0.2):
    """CSR arrays with empty rows and a long one, whose columns are local ids."""
    rng = np.random.default_rng(1)
    pattern = rng.random((ROWS, IDS)) < density
    pattern[::7], pattern[5] = False, True
    indptr = np.concatenate([[0], pattern.sum(axis=1).cumsum()])
    indices = pattern.nonzero()[1]
    host = indptr, indices, rng.random(indices.size) * 10.0 ** rng.integers(-9, 9, indices.size)
    return host, [backend.array(part) for part in host]


def column(backend, numbers):
    """An array that is not contiguous."""
    return backend.array(np.column_stack([numbers, numbers]).astype(np.int64))[:, 0]


def functions(backend):
    return backend_of(backend.array(np.zeros(1))).csgraph.grid_blocks


@pytest.mark.parametrize("rows", [[], [0], [5], [39, 3, 5, 7, 6], range(ROWS)], ids=len)
def test_rows_are_expanded(backend, rows):
    (indptr, *_), (own, *_) = block(backend)
    found = functions(backend).expanded_rows(own, column(backend, rows))
    expected = [(place, slot) for place, r in enumerate(rows) for slot in range(indptr[r], indptr[r + 1])]
    assert list(zip(*(backend.host(part).tolist() for part in found))) == expected


@pytest.mark.parametrize("is_pull", [False, True])
@pytest.mark.parametrize("shared", [False, True])
def test_states_are_lowered(backend, is_pull, shared):
    (indptr, indices, _), (own_indptr, own_indices, _) = block(backend)
    rng, rows, first_row = np.random.default_rng(2), np.array([5, 2, 30, 11, 7]), 15
    state = rng.integers(-9, 100, IDS)
    values = state if shared else rng.integers(0, 100, IDS)
    expected = state.copy()
    for r in rows:
        for slot in range(indptr[r], indptr[r + 1]):
            ends = indices[slot], r + first_row
            source, target = ends if is_pull else ends[::-1]
            expected[target] = min(expected[target], values[source])
    own = backend.array(state.copy())
    given = own if shared else backend.array(values)
    arguments = own_indptr, own_indices, column(backend, rows), first_row, is_pull, given, own
    ids = backend.host(functions(backend).lower_along(*arguments))
    assert np.array_equal(backend.host(own), expected)
    assert set(ids.tolist()) == set(np.flatnonzero(expected != state).tolist())


@pytest.mark.parametrize("has_weights", [False, True])
def test_shares_are_added_in_fixed_point(backend, has_weights):
    (indptr, indices, weights), own = block(backend)
    shares = np.random.default_rng(3).random(ROWS) * 1e-12
    shares[3] = 0
    units, lower = [0] * IDS, [0] * IDS
    for r in range(ROWS):
        for slot in range(indptr[r], indptr[r + 1]):
            scaled = (weights[slot] * shares[r] if has_weights else shares[r]) * 2.0**40
            units[indices[slot]] += math.floor(scaled)
            lower[indices[slot]] += math.floor((scaled - math.floor(scaled)) * 2.0**32)
    arguments = own[0], own[1] + 7, 7, backend.array(shares), own[2] if has_weights else None, IDS, 40, 32
    assert backend.host(functions(backend).add_along(*arguments)).tolist() == [units, lower]


def test_rows_have_their_largest_weights(backend):
    (indptr, _, weights), own = block(backend)
    expected = [max(weights[a:b], default=0.0) for a, b in zip(indptr, indptr[1:])]
    assert backend.host(functions(backend).row_maxima(own[0], own[2])).tolist() == expected


def test_repeated_ids_are_combined(backend):
    rng = np.random.default_rng(4)
    ids, values, state = rng.integers(0, 9, 5000), rng.integers(-(2**62), 2**62, 5000), np.full(9, 2**60)
    lowest, sums = backend.array(state.copy()), backend.array(state.copy())
    pairs = backend.array(np.column_stack([ids, values]))  # columns are no contiguous arrays
    functions(backend).minimum_at(lowest, pairs[:, 0], pairs[:, 1])
    functions(backend).add_at(sums, pairs[:, 0], pairs[:, 1])
    expected, totals = state.copy(), state.copy()
    np.minimum.at(expected, ids, values)
    np.add.at(totals, ids, values)
    assert np.array_equal(backend.host(lowest), expected) and np.array_equal(backend.host(sums), totals)


def test_runs_are_added_from_left_to_right(backend):
    lengths = np.array([1, 2, 30, 1, 7])
    values = np.random.default_rng(5).standard_normal(lengths.sum()) * 10.0 ** np.arange(lengths.sum())
    begins = np.cumsum(lengths) - lengths
    found = functions(backend).run_sums(backend.array(values), backend.array(begins))
    expected = [sum(values[a + 1 : a + n], values[a]) for a, n in zip(begins, lengths)]
    assert backend.host(found).tolist() == expected


@pytest.mark.parametrize("count", [0, 1, 3000])
def test_keys_are_ordered(backend, count):
    rng = np.random.default_rng(6)
    keys = rng.integers(0, 99, count) / 7, rng.integers(-3, 3, count), rng.integers(0, 9, count)
    found = functions(backend).lexicographic_order(tuple(backend.array(key) for key in keys))
    assert np.array_equal(backend.host(found), np.lexsort(keys))


def test_hashes_are_those_of_the_cpu(backend):
    from conftest import CPU

    ends = np.random.default_rng(7).integers(0, 2**40, (2, 1000))
    found, expected = (
        own.host(functions(own).hashed_edges(*(own.array(end.copy()) for end in ends), np.uint32(77)))
        for own in (backend, CPU)
    )
    assert found.dtype == np.int64 and np.array_equal(found, expected)
