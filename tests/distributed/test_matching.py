"""Matchings over ranks are those of one rank."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from parallel_cases import random_matrix, random_offsets

import linforest_precond as lf
from linforest_precond.distributed import matching, scatter, simulate


def assert_matching_of_one_rank(A, size, offsets=None, **options):
    def mates(comm):
        found = matching(scatter(A, comm, offsets), **options)
        assert (found.size, found.weight, found.coverage) == (one.size, one.weight, one.coverage)
        return np.stack([found.mate, found.values])

    one = lf.graph.matching(A, weights=options.get("weights", "magnitude"), seed=options.get("seed", 0))
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
    cut=st.integers(0, 2**16),
    batches=st.sampled_from([None, 1, 2, 5]),
    weights=st.sampled_from(["magnitude", "pattern"]),
)
@settings(max_examples=25)
def test_any_graph(A, size, cut, batches, weights):
    offsets = random_offsets(A.shape[0], size, cut)
    assert_matching_of_one_rank(A, size, offsets, batches=batches, seed=cut, weights=weights)
