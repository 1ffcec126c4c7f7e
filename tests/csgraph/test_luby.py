"""The variants of Luby's algorithm against plain Python, and their sets against the checker."""

import graph_cases as cases
import numpy as np
import ordering_oracles
import pytest
import scipy.sparse as sp
import strategies as graphs
import vertex_oracles as oracles
from conftest import CPU, load_real
from hypothesis import given
from hypothesis import strategies as st

import linforest_precond as lf
from linforest_precond.graph.csgraph.independent_set import PATIENCE

mis = lf.graph.maximal_independent_set
VARIANTS = "luby", "luby_lexicographic", "luby_optimized"


def expected_set(A, method, seed):
    around = ordering_oracles.neighbors(A)
    if method == "luby_lexicographic":
        return oracles.lexicographic_set(around)
    rule = {"luby": (0, PATIENCE), "luby_optimized": ((len(around) + 1) // 2, 2**62)}[method]
    return oracles.luby_set(around, seed, *rule)


def assert_valid(backend, A, method, seed=0):
    members = mis(backend.csr(A), seed=seed, method=method)
    assert isinstance(members, backend.xp.ndarray) and members.dtype == np.int32
    assert lf.graph.is_maximal_independent_set(backend.csr(A), members)
    if backend is not CPU:
        np.testing.assert_array_equal(backend.host(members), mis(A, seed=seed, method=method))
    return backend.host(members)


@given(
    A=graphs.matrices(dtypes=(np.float64,)), method=st.sampled_from(VARIANTS), seed=st.integers(0, 2**64 - 1)
)
def test_against_plain_python(backend, A, method, seed):
    assert assert_valid(backend, A, method, seed).tolist() == expected_set(A, method, seed)


@pytest.mark.parametrize("method", VARIANTS)
@pytest.mark.parametrize("name", cases.SMALL)
def test_graphs_of_many_kinds(backend, name, method):
    A = cases.SMALL[name]()
    np.testing.assert_array_equal(assert_valid(backend, A, method, 5), expected_set(A, method, 5))


@pytest.mark.slow
@pytest.mark.parametrize("method", VARIANTS)
@pytest.mark.parametrize("name", cases.SMALL)
def test_wide_indices(backend, name, method):
    A = graphs.with_types(cases.SMALL[name](), index_dtype=np.int64)
    assert_valid(backend, A, method)


@pytest.mark.parametrize("method", VARIANTS)
@pytest.mark.parametrize("density", [0.1, 0.45, 0.65])
@pytest.mark.parametrize("size", [1000, *(graphs.slow(size) for size in (2000, 4000, 8000))])
def test_densities(backend, size, density, method):
    """The sizes and densities of the benchmarks in Cichra's thesis, some of which take it hours."""
    assert_valid(backend, graphs.directed_graph(size, density), method)


@pytest.mark.parametrize("method", VARIANTS)
def test_many_threads(backend, method):
    """Enough vertices for all threads of the CPU and for several rounds."""
    A = graphs.shuffled(graphs.grid_graph(30, 35, 40))
    first = assert_valid(backend, A, method, 3)
    for _ in range(5):
        np.testing.assert_array_equal(backend.host(mis(backend.csr(A), seed=3, method=method)), first)


@pytest.mark.slow
@pytest.mark.parametrize("method", VARIANTS)
@pytest.mark.parametrize("name", cases.LARGE)
def test_large_graphs(backend, name, method):
    assert_valid(backend, cases.LARGE[name](), method)


@pytest.mark.slow
@pytest.mark.parametrize("method", VARIANTS)
def test_real_matrices(backend, medium_real_name, method):
    assert_valid(backend, load_real(medium_real_name), method)


def test_seeds(backend):
    """Random sets depend on the seed, the lexicographic one does not."""
    A = backend.csr(graphs.grid_graph(30, 30))
    for method, count in zip(VARIANTS, (3, 1, 3), strict=True):
        sets = {tuple(backend.host(mis(A, seed=seed, method=method)).tolist()) for seed in (0, 1, 2)}
        assert len(sets) == count


def test_the_default(backend):
    A = backend.csr(graphs.random_graph(300))
    assert bool((mis(A, 2, 7) == mis(A, 2, 7, method="greedy")).all())


@pytest.mark.parametrize("method", VARIANTS)
def test_hardly_a_vertex(backend, method):
    assert mis(backend.csr(sp.csr_array((0, 0))), method=method).shape == (0,)
    for A in (sp.csr_array((1, 1)), sp.csr_array(np.ones((1, 1)))):
        assert mis(backend.csr(A), method=method).tolist() == [1]


def test_wrong_arguments(backend):
    A = backend.csr(graphs.path_graph(4))
    with pytest.raises(ValueError, match='method must be "auto", "greedy", .*, got \'fast\''):
        mis(A, method="fast")
    with pytest.raises(ValueError, match="method='luby' finds sets for k = 1 only, got k = 2"):
        mis(A, 2, method="luby")
