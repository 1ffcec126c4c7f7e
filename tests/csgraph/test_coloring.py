"""Vertex colourings against sequential first fit, and their checker against the definition."""

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
from linforest_precond.backends import cuda as cuda_backend

color = lf.graph.vertex_coloring
DTYPES = (np.float64,)
METHODS = "JP", "LDF"


def assert_as_on_the_cpu(backend, A, method):
    """The CPU colours sequentially; the checker is independent of it."""
    colors = color(backend.csr(A), method)
    assert isinstance(colors, backend.xp.ndarray) and colors.dtype == np.int32
    assert lf.graph.is_coloring(backend.csr(A), colors)
    if backend is not CPU:
        np.testing.assert_array_equal(backend.host(colors), color(A, method))


class TestColors:
    @given(A=graphs.matrices(dtypes=DTYPES), method=st.sampled_from(METHODS), seed=st.integers(-1, 2**64))
    def test_against_the_sequential_program(self, backend, A, method, seed):
        colors = color(backend.csr(A), method, seed)
        expected = oracles.coloring(ordering_oracles.neighbors(A), seed % 2**64, method == "LDF")
        assert isinstance(colors, backend.xp.ndarray) and colors.dtype == np.int32
        assert backend.host(colors).tolist() == expected
        assert lf.graph.is_coloring(backend.csr(A), colors)

    @pytest.mark.parametrize("method", METHODS)
    @pytest.mark.parametrize("name", cases.SMALL)
    def test_larger_graphs(self, backend, name, method):
        A = cases.SMALL[name]()
        expected = oracles.coloring(ordering_oracles.neighbors(A), 5, method == "LDF")
        for B in (A, graphs.with_types(A, index_dtype=np.int64)):
            np.testing.assert_array_equal(backend.host(color(backend.csr(B), method, seed=5)), expected)

    @pytest.mark.gpu
    @pytest.mark.parametrize("method", METHODS)
    @pytest.mark.parametrize("name", cases.LONG_ROWS)
    @pytest.mark.parametrize("piece", [32, 128])
    def test_rows_in_many_pieces(self, cuda, piece, name, method, monkeypatch):
        """Whole rows are listed from 64 entries on."""
        monkeypatch.setattr(cuda_backend.csgraph.coloring, "PIECE", piece)
        A = cases.SMALL[name]()
        np.testing.assert_array_equal(cuda.host(color(cuda.csr(A), method)), color(A, method))

    @pytest.mark.gpu
    @pytest.mark.parametrize("piece", [256, 4096])
    def test_more_colors_than_a_warp_counts_at_once(self, cuda, piece, monkeypatch):
        monkeypatch.setattr(cuda_backend.csgraph.coloring, "PIECE", piece)
        clique = sp.csr_array(np.ones((1200, 1200)))
        np.testing.assert_array_equal(cuda.host(color(cuda.csr(clique))), color(clique))

    @pytest.mark.parametrize("length", [8, 31, 62, 63, 64, 127, 128, 129])
    @pytest.mark.parametrize("method", METHODS)
    def test_rows_of_one_length(self, backend, length, method):
        """Cliques whose rows have all the same length, around the bounds between the ways to scan them."""
        A = sp.csr_array(sp.kron(sp.eye_array(40), np.ones((length, length))))
        assert_as_on_the_cpu(backend, A, method)

    @pytest.mark.parametrize("density", [0.1, 0.45, 0.65])
    @pytest.mark.parametrize("size", [1000, *(graphs.slow(size) for size in (2000, 4000, 8000))])
    def test_densities(self, backend, size, density):
        assert_as_on_the_cpu(backend, graphs.directed_graph(size, density), "JP")

    @pytest.mark.slow
    @pytest.mark.parametrize("method", METHODS)
    @pytest.mark.parametrize("name", cases.LARGE)
    def test_large_graphs(self, backend, name, method):
        assert_as_on_the_cpu(backend, cases.LARGE[name](), method)

    @pytest.mark.parametrize("method", METHODS)
    def test_real_matrices(self, backend, medium_real_name, method):
        assert_as_on_the_cpu(backend, load_real(medium_real_name), method)

    @pytest.mark.parametrize("size", [500, graphs.slow(200_000)])
    def test_many_runs(self, backend, size):
        A = backend.csr(graphs.shuffled(graphs.random_graph(size, mean_degree=8)))
        first = color(A, seed=3)
        for _ in range(50):
            assert bool((color(A, seed=3) == first).all())

    @pytest.mark.parametrize("method", METHODS)
    def test_how_many_colors(self, backend, method):
        """A clique needs one for each vertex; a colour is never above the degree."""
        clique = backend.csr(sp.csr_array(np.ones((150, 150))))
        assert sorted(backend.host(color(clique, method)).tolist()) == list(range(150))
        A = graphs.rmat_graph(9)
        degrees = np.diff(A.indptr) - 1
        assert (backend.host(color(backend.csr(A), method)) <= degrees).all()
        assert int(color(backend.csr(graphs.star_graph(900)), method).max()) == 1

    def test_large_degrees_first_need_fewer(self, backend):
        A = backend.csr(graphs.rmat_graph(11))
        assert int(color(A, "LDF").max()) <= int(color(A, "JP").max())

    def test_any_matrix(self, backend):
        A = graphs.random_graph(300)
        expected = color(A)
        messy = graphs.in_disorder(A)
        messy.data[:] = np.nan
        for B in (backend.csr(messy), backend.array(A.toarray())):
            np.testing.assert_array_equal(backend.host(color(B)), expected)

    def test_no_vertices_and_one(self, backend):
        assert color(backend.csr(sp.csr_array((0, 0)))).shape == (0,)
        for A in (sp.csr_array((1, 1)), sp.csr_array(np.ones((1, 1)))):
            assert color(backend.csr(A), "LDF").tolist() == [0]

    def test_wrong_arguments(self, backend):
        A = backend.csr(graphs.path_graph(4))
        with pytest.raises(ValueError, match='method must be "JP" or "LDF", got \'MIS\''):
            color(A, "MIS")
        with pytest.raises(TypeError, match="seed must be an integer"):
            color(A, seed=0.5)


class TestChecker:
    @given(A=graphs.matrices(max_size=10, dtypes=DTYPES), data=st.data())
    def test_against_the_definition(self, backend, A, data):
        size, around = A.shape[0], ordering_oracles.neighbors(A)
        colors = data.draw(st.lists(st.integers(-1, 8), min_size=size, max_size=size))
        if data.draw(st.booleans()):
            colors = oracles.coloring(around, 0, False)
        expected = all(colors[v] >= 0 and all(colors[u] != colors[v] for u in around[v]) for v in range(size))
        assert lf.graph.is_coloring(backend.csr(A), backend.array(np.array(colors, int))) is expected

    def test_wrong_arguments(self, backend):
        with pytest.raises(ValueError, match=r"colors must have shape \(4,\)"):
            lf.graph.is_coloring(backend.csr(graphs.path_graph(4)), backend.array([1, 0, 1]))
