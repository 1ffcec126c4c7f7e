"""Connected components and breadth-first levels, against the textbook and SciPy."""

import numpy as np
import ordering_oracles as oracles
import pytest
import scipy.sparse as sp
import strategies as graphs
from conftest import load_real
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csgraph

import linforest_precond as lf

DTYPES = (np.float64,)


class TestComponents:
    @given(A=graphs.matrices(dtypes=DTYPES))
    def test_against_the_textbook(self, backend, A):
        expected = oracles.labels(oracles.neighbors(A))
        for directed in (True, False):
            count, labels = lf.graph.connected_components(backend.csr(A), directed)
            assert isinstance(labels, backend.xp.ndarray) and labels.dtype == np.int32
            assert backend.host(labels).tolist() == expected
            assert count == len(set(expected)) and isinstance(count, int)

    @pytest.mark.parametrize(
        "A",
        [
            graphs.packed_small_graphs(3000),
            graphs.random_graph(20_000, mean_degree=1.2),
            graphs.random_graph(20_000, mean_degree=1.2, symmetric=False),
            graphs.shuffled(graphs.path_graph(20_000)),
            graphs.star_graph(20_000),
            sp.csr_array((5000, 5000)),
        ],
        ids=["tiny", "random", "directed", "path", "star", "isolated"],
    )
    def test_against_scipy(self, backend, A):
        for B in (A, graphs.with_types(A, index_dtype=np.int64)):
            count, labels = lf.graph.connected_components(backend.csr(B))
            expected = csgraph.connected_components(A, connection="weak")
            assert count == expected[0]
            np.testing.assert_array_equal(backend.host(labels), expected[1])

    def test_real_matrices(self, backend, medium_real_name):
        A = load_real(medium_real_name).copy()
        A.data = np.ones(A.nnz)
        count, labels = lf.graph.connected_components(backend.csr(A))
        expected = csgraph.connected_components(A, connection="weak")
        assert count == expected[0]
        np.testing.assert_array_equal(backend.host(labels), expected[1])

    def test_the_count_alone(self, backend):
        assert lf.graph.connected_components(backend.csr(sp.csr_array((4, 4))), return_labels=False) == 4
        assert lf.graph.connected_components(backend.csr(sp.csr_array((0, 0))))[0] == 0

    def test_strong_components_are_not_offered(self, backend):
        A = backend.csr(graphs.path_graph(4))
        with pytest.raises(ValueError, match="strong components are not offered"):
            lf.graph.connected_components(A, connection="strong")
        assert lf.graph.connected_components(A, directed=False, connection="strong", return_labels=False) == 1
        with pytest.raises(ValueError, match='connection must be "weak"'):
            lf.graph.connected_components(A, connection="loose")


class TestLevels:
    @given(A=graphs.matrices(dtypes=DTYPES), data=st.data())
    def test_against_the_textbook(self, backend, A, data):
        if A.shape[0] == 0:
            return
        source = data.draw(st.integers(0, A.shape[0] - 1))
        for directed, around in ((True, oracles.directed_neighbors(A)), (False, oracles.neighbors(A))):
            levels = lf.graph.bfs_levels(backend.csr(A), source, directed)
            assert isinstance(levels, backend.xp.ndarray) and levels.dtype == np.int32
            assert backend.host(levels).tolist() == oracles.levels(around, source)

    @pytest.mark.parametrize(
        "A",
        [
            graphs.grid_graph(90, 80),
            graphs.shuffled(graphs.grid_graph(30, 30, 30)),
            graphs.rmat_graph(13),
            graphs.random_graph(20_000, symmetric=False),
            graphs.star_graph(20_000),
            graphs.path_graph(20_000),
        ],
        ids=["grid", "cube", "rmat", "directed", "star", "path"],
    )
    def test_against_scipy(self, backend, A):
        expected = csgraph.shortest_path(abs(A), unweighted=True, indices=5, method="D")
        expected = np.where(np.isfinite(expected), expected, -1)
        for B in (A, graphs.with_types(A, index_dtype=np.int64)):
            np.testing.assert_array_equal(backend.host(lf.graph.bfs_levels(backend.csr(B), 5)), expected)

    def test_many_runs(self, backend):
        A = backend.csr(graphs.shuffled(graphs.grid_graph(30, 30, 30)))
        first = lf.graph.bfs_levels(A, 3)
        for _ in range(20):
            assert bool((lf.graph.bfs_levels(A, 3) == first).all())

    @pytest.mark.parametrize("wrong", [-1, 4])
    def test_source_outside(self, backend, wrong):
        with pytest.raises(ValueError, match="source must be a vertex"):
            lf.graph.bfs_levels(backend.csr(graphs.path_graph(4)), wrong)
        with pytest.raises(ValueError, match="source must be a vertex"):
            lf.graph.bfs_levels(backend.csr(sp.csr_array((0, 0))), 0)

    def test_single_vertex(self, backend):
        assert lf.graph.bfs_levels(backend.csr(sp.csr_array((1, 1))), 0).tolist() == [0]
