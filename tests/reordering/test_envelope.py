"""Bandwidth, profile and wavefront by their definitions."""

import numpy as np
import ordering_oracles as oracles
import pytest
import scipy.sparse as sp
import strategies as graphs
from hypothesis import given
from hypothesis import strategies as st

import linforest_precond as lf


@given(A=graphs.matrices(max_size=25, dtypes=(np.float64,)), data=st.data())
def test_against_the_textbook(backend, A, data):
    order = data.draw(st.one_of(st.none(), st.permutations(range(A.shape[0]))))
    bandwidth, profile, (maximum, root_mean_square) = oracles.envelope(A, order)
    B = backend.csr(A)
    order = None if order is None else backend.array(np.array(order, np.int32))
    assert lf.graph.bandwidth(B, order) == bandwidth
    assert lf.graph.profile(B, order) == profile
    found = lf.graph.wavefront(B, order)
    assert found.maximum == maximum and found.root_mean_square == pytest.approx(root_mean_square)


def test_by_hand(backend):
    """A grid of 3 x 4: rows reach back to the row above, the first ones to their left neighbour."""
    A = backend.csr(graphs.grid_graph(3, 4))
    assert lf.graph.bandwidth(A) == 4
    assert lf.graph.profile(A) == 3 * 1 + 8 * 4
    assert lf.graph.wavefront(A).maximum == 5


def test_profile_is_the_wavefronts_sum(backend):
    A = graphs.random_graph(400, symmetric=False)
    first = lf.graph.profile(backend.csr(A)) + 400
    assert lf.graph.wavefront(backend.csr(A)).root_mean_square >= first / 400


def test_an_order_on_the_host_will_do(backend):
    A = graphs.random_graph(100)
    order = np.random.default_rng(0).permutation(100)
    assert lf.graph.bandwidth(backend.csr(A), order) == lf.graph.bandwidth(lf.permute(A, order))


@pytest.mark.parametrize("measure", [lf.graph.bandwidth, lf.graph.profile, lf.graph.wavefront])
def test_wrong_orders(backend, measure):
    A = backend.csr(graphs.path_graph(4))
    reasons = {(0, 1, 2): "one number for each row", (0, 1, 2, 2): "twice", (0, 1, 2, 4): "to 3"}
    for wrong, reason in reasons.items():
        with pytest.raises(ValueError, match=reason):
            measure(A, np.array(wrong))
    with pytest.raises(TypeError, match="integers"):
        measure(A, np.array([0.0, 1, 2, 3]))


def test_without_entries(backend):
    for size in (0, 1, 3):
        A = backend.csr(sp.csr_array((size, size)))
        assert lf.graph.bandwidth(A) == lf.graph.profile(A) == 0
        assert lf.graph.wavefront(A) == (min(size, 1), min(size, 1))
