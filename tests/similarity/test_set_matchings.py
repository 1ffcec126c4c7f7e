"""Matchings between two sets against textbook ones: greedy's edges, duals, approximation, both devices."""

import join_oracles as oracles
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from linforest_precond.backends import backend_of
from linforest_precond.similarity import match_sets
from linforest_precond.similarity.pairs import SetPairs

SETS = st.sets(st.text("abcd", max_size=6), min_size=1, max_size=6)
APPROXIMATE = ("greedy", "locally_dominant", "paz_schwartzman")


def assert_feasible(block, row_duals, column_duals):
    assert (block <= row_duals[:, None] + column_duals + 1e-12).all()
    assert (row_duals >= 0).all() and (column_duals >= 0).all()


@given(left=SETS, right=SETS, q=st.integers(1, 3), similarity=st.sampled_from(("jaccard", "edit")))
def test_against_the_textbook(left, right, q, similarity):
    block = oracles.weights(left, right, similarity, q)
    best = oracles.heaviest_of_all(block)
    exact = match_sets(left, right, q=q, similarity=similarity, matching="exact")
    np.testing.assert_array_equal(exact.weights, block)
    np.testing.assert_allclose(exact.overlap, best, rtol=1e-12)
    for matching in APPROXIMATE:
        found = match_sets(left, right, q=q, similarity=similarity, matching=matching)
        assert found.overlap <= best * (1 + 1e-12) and best <= found.overlap_bound * (1 + 1e-12)
        assert found.overlap_bound <= 2.01 * found.overlap * (1 + 1e-12)
        assert_feasible(block, found.left_duals, found.right_duals)
        if matching != "paz_schwartzman":
            np.testing.assert_array_equal(found.mates, oracles.greedy(block))


def batch(xp, heights, widths, weights):
    """Blocks of weights one after the other, and the duals and mates of one matching for each."""
    sizes = np.concatenate((heights, widths))
    pairs = SetPairs.of(np.arange(heights.size), heights.size + np.arange(heights.size), sizes)
    backend = backend_of(xp.empty(0))
    return backend, pairs, pairs.on(backend), xp.asarray(weights)


@pytest.mark.parametrize("method", APPROXIMATE)
@pytest.mark.parametrize("ties", [True, False])
def test_batches_of_blocks(backend, method, ties):
    """Blocks of all shapes, wider than a warp, too; the GPU's bits are the CPU's."""
    random = np.random.default_rng(7)
    heights, widths = random.integers(1, 75, 30), random.integers(1, 75, 30)
    cells = int(heights @ widths)
    weights = random.integers(0, 5, cells) / 4 if ties else random.random(cells) ** 4
    results = []
    for xp in (np, backend.xp):
        library, pairs, there, on_device = batch(xp, heights, widths, weights)
        module = library.similarity.set_matchings
        epsilon = (0.5,) if method == "paz_schwartzman" else ()
        mates, *duals = getattr(module, method)(on_device, there, *epsilon)
        given_duals = [dual.copy() for dual in duals]
        results.append(
            [
                backend.host(each) if xp is not np else each
                for each in (
                    mates,
                    *given_duals,
                    module.overlaps(on_device, there, mates),
                    module.dual_bounds(on_device, there, *duals),
                    *duals,
                    module.largest_weight_bounds(on_device, there),
                )
            ]
        )
    for one, other in zip(*results):
        np.testing.assert_array_equal(one, other)
    assert_matchings(pairs, weights, *results[1], greedy=method != "paz_schwartzman")


def assert_matchings(pairs, weights, mates, rows, columns, overlaps, bounds, *duals, greedy):
    *reduced, largest = duals
    for number in range(pairs.starts.size):
        height, width = pairs.rows[number], pairs.columns[number]
        block = weights[pairs.starts[number] :][: height * width].reshape(height, width)
        of_rows, of_columns = (
            slice(start[number], start[number] + size)
            for start, size in ((pairs.row_starts, height), (pairs.column_starts, width))
        )
        own = mates[of_rows]
        if greedy:
            np.testing.assert_array_equal(own, oracles.greedy(block))
        matched = own[own >= 0]
        assert np.unique(matched).size == matched.size
        best = oracles.heaviest(block)
        np.testing.assert_allclose(overlaps[number], block[own >= 0, matched].sum(), rtol=1e-12)
        assert_feasible(block, rows[of_rows], columns[of_columns])
        assert_feasible(block, reduced[0][of_rows], reduced[1][of_columns])
        sum_of_duals = rows[of_rows].sum() + columns[of_columns].sum()
        assert overlaps[number] <= best + 1e-9 and best <= bounds[number] + 1e-9
        assert bounds[number] <= sum_of_duals + 1e-9 and sum_of_duals <= 2.5 * overlaps[number] + 1e-9
        np.testing.assert_allclose(largest[number], min(block.max(1).sum(), block.max(0).sum()), rtol=1e-12)


def test_the_matched_elements_are_named():
    found = match_sets(["matching", "forest"], ["forests", "matchings", "graph"])
    assert [(a, b) for a, b, _ in found.pairs] == [("forest", "forests"), ("matching", "matchings")]
    assert "forest - forests" in str(found)


def test_bad_sets_are_named():
    with pytest.raises(ValueError, match="set_s must not be empty"):
        match_sets(["a"], [])
