"""Label propagation against the definition of its rounds."""

import graph_cases as cases
import numpy as np
import ordering_oracles
import pytest
import scipy.sparse as sp
import strategies as graphs
import vertex_oracles as oracles
from component_oracles import numbered
from conftest import CPU, load_real
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csgraph

import linforest_precond as lf
from linforest_precond.backends import cuda as cuda_backend

propagate = lf.graph.label_propagation
DTYPES = (np.float64,)
# More rounds than convergence takes.
MANY = 10**6


def assert_are_communities(backend, A, labels):
    """Numbered by their lowest vertices, each within a component."""
    assert isinstance(labels, backend.xp.ndarray) and labels.dtype == np.int32
    labels = backend.host(labels)
    lowest = np.unique(labels, return_index=True)[1]
    np.testing.assert_array_equal(labels[lowest], np.arange(lowest.size))
    assert (np.diff(lowest) > 0).all()
    ones = graphs.make_csr(np.ones(A.nnz), A.indices, A.indptr, A.shape[0])
    components = csgraph.connected_components(ones)[1]
    np.testing.assert_array_equal(components, components[lowest][labels])


def assert_as_on_the_cpu(backend, A, max_iter=20):
    labels = propagate(backend.csr(A), max_iter)
    assert_are_communities(backend, A, labels)
    if backend is not CPU:
        np.testing.assert_array_equal(backend.host(labels), propagate(A, max_iter))


class TestLabels:
    @given(A=graphs.matrices(dtypes=DTYPES), max_iter=st.integers(0, 25), seed=st.integers(-1, 2**64))
    def test_against_the_definition(self, backend, A, max_iter, seed):
        labels = propagate(backend.csr(A), max_iter, seed)
        expected = oracles.label_propagation(ordering_oracles.neighbors(A), max_iter, seed % 2**64)
        assert isinstance(labels, backend.xp.ndarray) and labels.dtype == np.int32
        assert backend.host(labels).tolist() == expected

    @pytest.mark.parametrize("name", cases.SMALL)
    def test_larger_graphs(self, backend, name):
        A = cases.SMALL[name]()
        for max_iter in (1, 8):
            expected = oracles.label_propagation(ordering_oracles.neighbors(A), max_iter, 5)
            for B in (A, graphs.with_types(A, index_dtype=np.int64)):
                labels = backend.host(propagate(backend.csr(B), max_iter, seed=5))
                np.testing.assert_array_equal(labels, expected)

    @given(A=graphs.matrices(dtypes=DTYPES), seed=st.integers(0, 9))
    def test_at_the_end_every_label_is_modal(self, backend, A, seed):
        labels = backend.host(propagate(backend.csr(A), MANY, seed)).tolist()
        around = ordering_oracles.neighbors(A)
        assert all(labels[v] in oracles.modal_labels(around, labels, v) for v in range(len(labels)))

    def test_as_many_communities_as_networkx_finds(self, backend):
        """A ring of cliques, joined by single edges: the communities are obvious."""
        networkx = pytest.importorskip("networkx")
        ring = networkx.ring_of_cliques(20, 8)
        A = sp.csr_array(networkx.to_scipy_sparse_array(ring, dtype=float))
        expected = {frozenset(found) for found in networkx.community.label_propagation_communities(ring)}
        labels = backend.host(propagate(backend.csr(A), MANY))
        found = {frozenset(np.flatnonzero(labels == label).tolist()) for label in range(labels.max() + 1)}
        assert found == expected

    @pytest.mark.gpu
    @pytest.mark.parametrize("name", cases.LONG_ROWS)
    def test_rows_in_many_pieces(self, cuda, name, monkeypatch):
        monkeypatch.setattr(cuda_backend.csgraph.label_propagation, "PIECE", 32)
        A = cases.SMALL[name]()
        for max_iter in (1, 2, 20):
            np.testing.assert_array_equal(cuda.host(propagate(cuda.csr(A), max_iter)), propagate(A, max_iter))

    @pytest.mark.parametrize("density", [0.1, 0.45, 0.65])
    @pytest.mark.parametrize("size", [1000, *(graphs.slow(size) for size in (2000, 4000, 8000))])
    def test_densities(self, backend, size, density):
        assert_as_on_the_cpu(backend, graphs.directed_graph(size, density))

    @pytest.mark.slow
    @pytest.mark.parametrize("name", cases.LARGE)
    def test_large_graphs(self, backend, name):
        assert_as_on_the_cpu(backend, cases.LARGE[name]())

    def test_real_matrices(self, backend, medium_real_name):
        assert_as_on_the_cpu(backend, load_real(medium_real_name))

    @pytest.mark.parametrize("size", [500, graphs.slow(200_000)])
    def test_many_runs(self, backend, size):
        A = backend.csr(graphs.shuffled(graphs.random_graph(size, mean_degree=8)))
        first = propagate(A, seed=3)
        for _ in range(50):
            assert bool((propagate(A, seed=3) == first).all())

    def test_two_sides_come_to_rest(self, backend):
        """On complete bipartite graphs the labels would oscillate if all vertices were updated at once."""
        half = np.ones((40, 40))
        A = sp.csr_array(np.block([[0 * half, half], [half, 0 * half]]))
        assert backend.host(propagate(backend.csr(A), MANY)).max() == 0

    def test_any_matrix(self, backend):
        A = graphs.random_graph(300)
        expected = propagate(A)
        messy = graphs.in_disorder(A)
        messy.data[:] = 0
        for B in (backend.csr(messy), backend.array(A.toarray())):
            np.testing.assert_array_equal(backend.host(propagate(B)), expected)

    def test_no_vertices_and_one(self, backend):
        assert propagate(backend.csr(sp.csr_array((0, 0)))).shape == (0,)
        for A in (sp.csr_array((1, 1)), sp.csr_array(np.ones((1, 1)))):
            assert propagate(backend.csr(A)).tolist() == [0]

    def test_no_rounds(self, backend):
        assert propagate(backend.csr(graphs.path_graph(40)), 0).tolist() == numbered(range(40))

    def test_wrong_arguments(self, backend):
        A = backend.csr(graphs.path_graph(4))
        with pytest.raises(ValueError, match=r"max_rounds must lie in \[0, .*, got -1"):
            propagate(A, -1)
        with pytest.raises(TypeError, match="max_rounds must be an integer"):
            propagate(A, 1.5)
