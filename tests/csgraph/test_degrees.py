"""Degrees against sets of neighbours, and against the degrees that the gate finds."""

import graph_cases as cases
import numpy as np
import ordering_oracles
import pytest
import scipy.sparse as sp
import strategies as graphs
from conftest import load_real
from hypothesis import given

import linforest_precond as lf
from linforest_precond.matrix.doors import as_pattern

degrees = lf.graph.degrees
DTYPES = (np.float64,)


def oracle(A):
    """The size of each vertex's set of neighbours."""
    return [len(others) for others in ordering_oracles.neighbors(A)]


def assert_degrees(backend, A, expected):
    found = degrees(A)
    assert isinstance(found, backend.xp.ndarray) and found.dtype == np.int32
    np.testing.assert_array_equal(backend.host(found), expected)


def assert_as_in_the_gate(backend, A):
    A = backend.csr(A)
    assert_degrees(backend, A, backend.host(as_pattern(A).degrees))


def test_by_hand(backend):
    """Edges 0-1 in both directions, 0-2 in one, 2-3 an explicit zero; loops at 0 and 3; 4 is isolated."""
    rows, columns = np.array([0, 0, 0, 1, 3, 3]), np.array([0, 1, 2, 0, 2, 3])
    A = sp.csr_array(sp.coo_array((np.array([5.0, 1, 1, 1, 0, 5]), (rows, columns)), shape=(5, 5)))
    assert A.nnz == 6
    assert_degrees(backend, backend.csr(A), [2, 1, 2, 1, 0])


@given(A=graphs.matrices(dtypes=DTYPES))
def test_against_sets_of_neighbors(backend, A):
    assert_degrees(backend, backend.csr(A), oracle(A))


@pytest.mark.parametrize("name", cases.SMALL)
def test_larger_graphs(backend, name):
    A = cases.SMALL[name]()
    expected = oracle(A)
    for B in (A, graphs.with_types(A, index_dtype=np.int64)):
        assert_degrees(backend, backend.csr(B), expected)
        assert_as_in_the_gate(backend, B)


@pytest.mark.slow
@pytest.mark.parametrize("name", cases.LARGE)
def test_more_rows_than_threads(backend, name):
    assert_as_in_the_gate(backend, cases.LARGE[name]())


def test_real_matrices(backend, medium_real_name):
    assert_as_in_the_gate(backend, load_real(medium_real_name))


def test_any_matrix(backend):
    A = graphs.random_graph(300, symmetric=False)
    expected = oracle(A)
    messy = graphs.in_disorder(A)
    messy.data[:] = np.nan
    for B in (backend.csr(messy), backend.array(A.toarray())):
        assert_degrees(backend, B, expected)


@pytest.mark.parametrize("size", [0, 1, 7])
def test_no_edges(backend, size):
    for A in (sp.csr_array((size, size)), sp.csr_array(np.eye(size))):
        assert_degrees(backend, backend.csr(A), np.zeros(size))


def test_wrong_shape(backend):
    with pytest.raises(ValueError, match="A must be square"):
        degrees(backend.csr(sp.csr_array((3, 4))))
