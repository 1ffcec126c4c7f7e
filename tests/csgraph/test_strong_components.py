"""Strongly connected components, against Tarjan's algorithm and SciPy."""

import importlib

import component_oracles as oracles
import numpy as np
import ordering_oracles
import pytest
import scipy.sparse as sp
import strategies as graphs
from conftest import load_real
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csgraph

import linforest_precond as lf
from linforest_precond import matrices

DTYPES = (np.float64,)
METHODS = ("auto", "coloring")


def directed(size, tails, heads):
    """The matrix of an edge list; repeated edges are stored once."""
    return sp.csr_array(sp.coo_array((np.ones(len(tails)), (tails, heads)), shape=(size, size)))


def random_digraph(size, mean_degree, seed=0):
    rng = np.random.default_rng(seed)
    count = int(size * mean_degree)
    return directed(size, rng.integers(0, size, count), rng.integers(0, size, count))


def directed_cycles(lengths, links, seed=0):
    """Cycles of the given lengths, with random edges from earlier cycles to later ones."""
    rng = np.random.default_rng(seed)
    lengths = np.asarray(lengths)
    size = int(lengths.sum())
    first = np.repeat(np.cumsum(lengths) - lengths, lengths)
    here = np.arange(size)
    there = first + (here - first + 1) % np.repeat(lengths, lengths)
    low, high = np.sort(rng.integers(0, size, (2, links)), axis=0)
    keep = first[low] < first[high]
    new = rng.permutation(size)
    return directed(size, new[np.append(here, low[keep])], new[np.append(there, high[keep])])


def directed_path(size):
    return directed(size, np.arange(size - 1), np.arange(1, size))


def sweep_graph(*shape):
    """A grid directed along its axes: no cycles, many paths."""
    return sp.csr_array(sp.triu(graphs.grid_graph(*shape), 1))


def assert_as_scipy(backend, A, method="auto"):
    count, labels = lf.graph.strongly_connected_components(backend.csr(A), method=method)
    expected = csgraph.connected_components(A, connection="strong")
    assert count == expected[0] and isinstance(count, int)
    assert isinstance(labels, backend.xp.ndarray) and labels.dtype == np.int32
    np.testing.assert_array_equal(backend.host(labels), by_lowest_vertex(expected[1]))


def by_lowest_vertex(labels):
    """Labels numbered by their lowest vertices."""
    _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[inverse]


@given(A=graphs.matrices(dtypes=DTYPES), method=st.sampled_from(METHODS))
def test_against_tarjan(backend, A, method):
    expected = oracles.strong_labels(ordering_oracles.directed_neighbors(A))
    count, labels = lf.graph.strongly_connected_components(backend.csr(A), method=method)
    assert backend.host(labels).tolist() == expected
    assert count == len(set(expected)) and isinstance(count, int)


SHAPES = {
    "sparse": random_digraph(4000, 1.0),
    "critical": random_digraph(4000, 1.3),
    "dense": random_digraph(3000, 8),
    "cycle": graphs.shuffled(directed_cycles([5000], 0)),
    "cycle in order": directed(5000, np.arange(5000), (np.arange(5000) + 1) % 5000),
    "many cycles": directed_cycles(np.tile([1, 2, 3, 5], 700), 5000),
    "path": directed_path(5000),
    "shuffled path": graphs.shuffled(directed_path(5000)),
    "sweep": sweep_graph(15, 15, 15),
    "star outwards": sp.csr_array(sp.triu(graphs.star_graph(5000))),
    "clique": directed(150, *np.nonzero(1 - np.eye(150))),
    "tournament": directed(200, *np.triu_indices(200, 1)),
    "rmat": matrices.rmat(11, 8, symmetric=False),
    "symmetric": graphs.random_graph(3000, mean_degree=1.5),
    "isolated": sp.csr_array((3000, 3000)),
}


@pytest.mark.parametrize("name", SHAPES)
def test_against_scipy(backend, name):
    for index_dtype in (np.int32, np.int64):
        assert_as_scipy(backend, graphs.with_types(SHAPES[name], index_dtype=index_dtype))


@pytest.mark.parametrize("name", SHAPES)
def test_forward_backward_searches(backend, name):
    A = SHAPES[name]
    assert_as_scipy(backend, A, "coloring")
    _, labels = lf.graph.strongly_connected_components(backend.csr(A), method="coloring")
    assert lf.graph.is_component_labelling(backend.csr(A), labels, connection="strong")


@pytest.mark.slow
@pytest.mark.parametrize("name", SHAPES)
def test_forward_backward_searches_of_wide_indices(backend, name):
    assert_as_scipy(backend, graphs.with_types(SHAPES[name], index_dtype=np.int64), "coloring")


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("density", [0.1, 0.45, 0.65])
@pytest.mark.parametrize("size", [1000, *(graphs.slow(size) for size in (2000, 4000, 8000))])
def test_densities(backend, size, density, method):
    """The sizes and densities of the benchmarks in Cichra's thesis."""
    assert_as_scipy(backend, graphs.directed_graph(size, density), method)


def test_few_rounds(backend, monkeypatch):
    """Regions are searched at the same time: the rounds grow with the logarithm of the components."""
    rounds = []
    module = importlib.import_module(f"linforest_precond.backends.{backend.name}.csgraph.strong_components")
    original = module.weak_components

    def counted(pattern):
        rounds.append(pattern.nnz)
        return original(pattern)

    monkeypatch.setattr(module, "weak_components", counted)
    for name in ("path", "sweep", "sparse", "isolated"):
        rounds.clear()
        assert_as_scipy(backend, SHAPES[name], "coloring")
        assert len(rounds) <= 40


@pytest.mark.slow
@pytest.mark.parametrize(
    "make",
    [
        lambda: directed_path(10**6),
        lambda: graphs.shuffled(directed_path(10**6)),
        lambda: directed_cycles([10**6], 0),
        lambda: directed_cycles(np.tile([1, 2, 3, 4], 50_000), 500_000),
        lambda: sp.csr_array(sp.triu(graphs.star_graph(10**6))),
        lambda: sweep_graph(100, 100, 100),
        lambda: random_digraph(10**6, 1.2),
        lambda: graphs.large_rmat(symmetric=False),
        lambda: graphs.grid_graph(100, 100, 100),
    ],
    ids=["path", "shuffled path", "cycle", "many", "star", "sweep", "critical", "rmat", "grid"],
)
def test_large(backend, make):
    assert_as_scipy(backend, make())


@pytest.mark.slow
@pytest.mark.parametrize(
    "make",
    [
        lambda: graphs.shuffled(directed_path(10**5)),
        lambda: directed_cycles(np.tile([1, 2, 3, 4], 20_000), 0),
        lambda: random_digraph(10**6, 1.2),
        lambda: graphs.large_rmat(symmetric=False),
    ],
    ids=["shuffled path", "separate cycles", "critical", "rmat"],
)
def test_large_forward_backward_searches(backend, make):
    assert_as_scipy(backend, make(), "coloring")


def test_real_matrices(backend, real_name):
    A = load_real(real_name).copy()
    A.data = np.ones(A.nnz)
    assert_as_scipy(backend, A)
    assert_as_scipy(backend, sp.csr_array(sp.triu(A)))


@pytest.mark.parametrize("size", [2000, graphs.slow(200_000)])
def test_many_runs(backend, size):
    A = backend.csr(random_digraph(size, 1.5))
    count, labels = lf.graph.strongly_connected_components(A)
    for _ in range(50):
        again = lf.graph.strongly_connected_components(A)
        assert again[0] == count and bool((again[1] == labels).all())


def test_by_its_other_name(backend):
    A = backend.csr(random_digraph(500, 1.5))
    count, labels = lf.graph.strongly_connected_components(A)
    again = lf.graph.connected_components(A, connection="strong")
    assert again[0] == count and bool((again[1] == labels).all())
    assert lf.graph.strongly_connected_components(A, return_labels=False) == count
    assert lf.graph.connected_components(A, connection="strong", return_labels=False) == count
    undirected = lf.graph.connected_components(A, directed=False, connection="strong")
    assert undirected[0] == lf.graph.connected_components(A)[0]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("size", [0, 1])
def test_hardly_a_vertex(backend, size, method):
    count, labels = lf.graph.strongly_connected_components(
        backend.csr(sp.csr_array((size, size))), method=method
    )
    assert count == size and backend.host(labels).tolist() == [0] * size and labels.dtype == np.int32


def test_entries_of_all_kinds(backend):
    """Unsorted and repeated entries, explicit zeros, self loops; the matrix stays as it is."""
    indptr, indices = np.array([0, 3, 4, 6]), np.array([2, 0, 2, 1, 0, 0])
    A = backend.csr(graphs.make_csr(np.array([0.0, 1, np.nan, 1, 0, 1]), indices, indptr, 3))
    count, labels = lf.graph.strongly_connected_components(A)
    assert (count, backend.host(labels).tolist()) == (2, [0, 1, 0])
    assert backend.host(A.indices).tolist() == indices.tolist()
    np.testing.assert_array_equal(backend.host(A.data), [0, 1, np.nan, 1, 0, 1])


def test_bad_method(backend):
    with pytest.raises(ValueError, match='method must be "auto" or "coloring", got \'tarjan\''):
        lf.graph.strongly_connected_components(backend.csr(directed_path(3)), method="tarjan")


def test_dense_arrays(backend):
    A = backend.array(np.array([[0.0, 1, 0, np.inf], [0, 0, 1, 0], [0, 1, 0, 0], [1, 0, 0, 0]]))
    assert backend.host(lf.graph.strongly_connected_components(A)[1]).tolist() == [0, 1, 1, 2]
