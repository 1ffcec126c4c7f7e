"""Gap metrics by their definitions."""

import math

import gap_oracles as oracles
import numpy as np
import ordering_oracles
import pytest
import scipy.sparse as sp
import strategies as graphs
from hypothesis import given
from hypothesis import strategies as st

import linforest_precond as lf
from linforest_precond.backends import backend_of

METRICS = {
    lf.graph.linear_gap: (oracles.gaps, oracles.linear),
    lf.graph.log_gap: (oracles.gaps, oracles.logarithmic),
    lf.graph.linear_arrangement: (oracles.lengths, oracles.linear),
    lf.graph.log_arrangement: (oracles.lengths, oracles.logarithmic),
}


def assert_as_defined(backend, A, order):
    around = ordering_oracles.neighbors(A)
    rank = oracles.ranks(range(len(around)) if order is None else order)
    for metric, (distances, total) in METRICS.items():
        found = metric(backend.csr(A), None if order is None else np.array(order, np.int32))
        expected = total(distances(around, rank))
        assert type(found) is (int if total is oracles.linear else float)
        assert found == expected if total is oracles.linear else found == pytest.approx(expected, rel=1e-9)


@given(A=graphs.matrices(max_size=25, dtypes=(np.float64,)), data=st.data())
def test_against_the_definitions(backend, A, data):
    order = data.draw(st.one_of(st.none(), st.permutations(range(A.shape[0]))))
    assert_as_defined(backend, A, order)


@pytest.mark.parametrize(
    "A",
    [graphs.star_graph(300), graphs.rmat_graph(8), graphs.random_graph(200, symmetric=False)],
    ids=["star", "rmat", "directed"],
)
def test_larger_graphs(backend, A):
    order = np.random.default_rng(0).permutation(A.shape[0])
    assert_as_defined(backend, A, order)
    assert_as_defined(backend, graphs.with_types(A, index_dtype=np.int64), order)


def test_by_hand(backend):
    """Neighbours of 0: 1, 2, 5; of 5: 0; of 1: 0 and 4; of 2: 0; of 4: 1; 3 has a loop alone."""
    rows, columns = np.array([0, 0, 0, 1, 3]), np.array([1, 2, 5, 4, 3])
    A = backend.csr(sp.csr_array(sp.coo_array((np.ones(5), (rows, columns)), shape=(6, 6))))
    assert lf.graph.linear_gap(A) == (1 + 3) + 4
    assert lf.graph.log_gap(A) == pytest.approx(math.log(3) + math.log(4))
    assert lf.graph.linear_arrangement(A) == 1 + 2 + 5 + 3
    assert lf.graph.log_arrangement(A) == pytest.approx(math.log(2) + math.log(5) + math.log(3))


def test_same_bits_of_logarithms(backend):
    """Large and small numbers, and more of them than a 64-bit sum of fixed-point logarithms holds."""
    numbers = np.r_[1 : 2**12, 2 ** np.arange(31), 2**31 - 1].astype(np.int32)
    log_sum = backend_of(backend.array(numbers)).reordering.gap_metrics.log_sum
    for number in numbers[:: 1 if backend.name == "cpu" else 100]:
        fixed = log_sum(backend.array(np.array([number], np.int32)))
        assert fixed == oracles.fixed([number]) and abs(fixed - 2**32 * math.log(number)) < 0.51
    assert log_sum(backend.array(numbers)) == oracles.fixed(numbers)


@pytest.mark.slow
def test_sums_beyond_64_bits(backend):
    numbers = np.full(2**27, 2**31 - 1, np.int32)
    log_sum = backend_of(backend.array(numbers)).reordering.gap_metrics.log_sum
    assert log_sum(backend.array(numbers)) == 2**27 * oracles.fixed(numbers[:1]) > 2**63


@pytest.mark.parametrize("metric", METRICS)
def test_bad_input(backend, metric):
    A = backend.csr(graphs.path_graph(4))
    for wrong, reason in {(0, 1, 2): "one number for each row", (0, 1, 2, 2): "twice"}.items():
        with pytest.raises(ValueError, match=reason):
            metric(A, np.array(wrong))
    with pytest.raises(TypeError, match="ordering must be an array of integers"):
        metric(A, np.array([0.0, 1, 2, 3]))
    with pytest.raises(ValueError, match="A must be square"):
        metric(backend.csr(sp.csr_array((3, 4))))


@pytest.mark.parametrize("metric", METRICS)
def test_without_edges(backend, metric):
    for size in (0, 1, 3):
        assert metric(backend.csr(sp.csr_array(np.eye(size)))) == 0
