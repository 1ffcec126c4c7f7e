"""Connected components and breadth-first depths against reference implementations and SciPy."""

import component_oracles as union_find
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
METHODS = ("union", "fastsv", "fastsv_vertices")


def assert_as_scipy(backend, A, method):
    count, labels = lf.graph.connected_components(backend.csr(A), method=method)
    expected = csgraph.connected_components(A, connection="weak")
    assert count == expected[0]
    np.testing.assert_array_equal(backend.host(labels), expected[1])


class TestComponents:
    @given(A=graphs.matrices(dtypes=DTYPES), method=st.sampled_from(METHODS))
    def test_against_the_textbook(self, backend, A, method):
        expected = union_find.weak_labels(oracles.directed_neighbors(A))
        assert expected == oracles.labels(oracles.neighbors(A))
        for directed in (True, False):
            count, labels = lf.graph.connected_components(backend.csr(A), directed, method=method)
            assert isinstance(labels, backend.xp.ndarray) and labels.dtype == np.int32
            assert backend.host(labels).tolist() == expected
            assert count == len(set(expected)) and isinstance(count, int)

    @pytest.mark.parametrize("method", METHODS)
    @pytest.mark.parametrize(
        "A",
        [
            graphs.packed_small_graphs(3000),
            graphs.random_graph(20_000, mean_degree=1.2),
            graphs.random_graph(20_000, mean_degree=1.2, symmetric=False),
            graphs.path_graph(20_000),
            graphs.shuffled(graphs.path_graph(20_000)),
            graphs.star_graph(20_000),
            graphs.two_cliques_joined(100),
            graphs.rmat_graph(11),
            sp.block_diag([graphs.rmat_graph(9, seed=k) for k in range(3)], format="csr"),
            sp.csr_array((5000, 5000)),
        ],
        ids=[
            "tiny", "random", "directed", "path", "shuffled", "star", "cliques", "rmat", "three", "lonely"
        ],
    )  # fmt: skip
    def test_against_scipy(self, backend, A, method):
        for index_dtype in (np.int32, np.int64):
            assert_as_scipy(backend, graphs.with_types(A, index_dtype=index_dtype), method)

    @pytest.mark.parametrize("method", METHODS)
    @pytest.mark.parametrize("density", [0.1, 0.45, 0.65])
    @pytest.mark.parametrize("size", [1000, *(graphs.slow(size) for size in (2000, 4000, 8000))])
    def test_densities(self, backend, size, density, method):
        """The sizes and densities of the benchmarks in Cichra's thesis."""
        assert_as_scipy(backend, graphs.directed_graph(size, density), method)

    @pytest.mark.slow
    @pytest.mark.parametrize("method", METHODS)
    @pytest.mark.parametrize(
        "make",
        [
            lambda: graphs.path_graph(10**6),
            lambda: graphs.shuffled(graphs.path_graph(10**6)),
            lambda: graphs.star_graph(10**6),
            lambda: graphs.union_of_cycles(np.tile([3, 4, 5, 6], 25_000), "unit"),
            lambda: graphs.grid_graph(100, 100, 100),
            lambda: graphs.large_rmat(),
            lambda: graphs.large_rmat(symmetric=False),
        ],
        ids=["path", "shuffled path", "star", "many", "grid", "rmat", "directed rmat"],
    )
    def test_large(self, backend, make, method):
        assert_as_scipy(backend, make(), method)

    def test_real_matrices(self, backend, real_name):
        A = load_real(real_name).copy()
        A.data = np.ones(A.nnz)
        for method in METHODS:
            assert_as_scipy(backend, A, method)

    @pytest.mark.parametrize("method", METHODS)
    @pytest.mark.parametrize("size", [2000, graphs.slow(200_000)])
    def test_many_runs(self, backend, size, method):
        A = backend.csr(graphs.random_graph(size, mean_degree=2, symmetric=False))
        count, labels = lf.graph.connected_components(A, method=method)
        for _ in range(50):
            again = lf.graph.connected_components(A, method=method)
            assert again[0] == count and bool((again[1] == labels).all())

    def test_the_count_alone(self, backend):
        assert lf.graph.connected_components(backend.csr(sp.csr_array((4, 4))), return_labels=False) == 4
        assert lf.graph.connected_components(backend.csr(sp.csr_array((0, 0))))[0] == 0

    def test_bad_choices(self, backend):
        A = backend.csr(graphs.path_graph(4))
        with pytest.raises(ValueError, match='connection must be "weak" or "strong", got \'loose\''):
            lf.graph.connected_components(A, connection="loose")
        choices = '"auto", "union", "fastsv" or "fastsv_vertices"'
        with pytest.raises(ValueError, match=f"method must be {choices}, got 'dfs'"):
            lf.graph.connected_components(A, method="dfs")


class TestLabellings:
    @given(A=graphs.matrices(dtypes=DTYPES), connection=st.sampled_from(["weak", "strong"]), data=st.data())
    def test_against_the_textbook(self, backend, A, connection, data):
        around = oracles.directed_neighbors(A)
        good = (union_find.weak_labels if connection == "weak" else union_find.strong_labels)(around)
        names = data.draw(st.permutations(range(100, 100 + len(good))))
        labels = [names[label] for label in good]
        assert self.judged(backend, A, labels, connection) is True
        if labels:
            labels[data.draw(st.integers(0, len(labels) - 1))] = data.draw(st.sampled_from([*names, 7]))
            right = union_find.numbered(labels) == good
            assert self.judged(backend, A, labels, connection) is right

    def judged(self, backend, A, labels, connection="weak"):
        labels = backend.array(np.array(labels, np.int64))
        return lf.graph.is_component_labelling(backend.csr(A), labels, connection=connection)

    @pytest.mark.parametrize("connection", ["weak", "strong"])
    def test_our_own(self, backend, connection):
        A = backend.csr(graphs.random_graph(5000, mean_degree=1.5, symmetric=False))
        _, labels = lf.graph.connected_components(A, connection=connection)
        assert lf.graph.is_component_labelling(A, labels, connection=connection)
        assert lf.graph.is_component_labelling(A, labels, connection=connection, method="union")
        assert not lf.graph.is_component_labelling(A, labels // 2, connection=connection)
        assert not lf.graph.is_component_labelling(A, backend.xp.arange(5000), connection=connection)

    def test_bad_labels(self, backend):
        A = backend.csr(graphs.path_graph(4))
        with pytest.raises(
            ValueError, match=r"labels must have shape \(4,\), one number a vertex, got \(3,\)"
        ):
            lf.graph.is_component_labelling(A, backend.array(np.zeros(3, int)))
        with pytest.raises(TypeError, match="labels must hold integers, got float64"):
            lf.graph.is_component_labelling(A, backend.array(np.zeros(4)))

    @pytest.mark.gpu
    def test_labels_on_another_device(self, cuda):
        with pytest.raises(TypeError, match="labels must be on A's device"):
            lf.graph.is_component_labelling(cuda.csr(graphs.path_graph(4)), np.zeros(4, int))
        with pytest.raises(TypeError, match="labels must be on A's device"):
            lf.graph.is_component_labelling(graphs.path_graph(4), cuda.array(np.zeros(4, int)))


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
    def test_i_start_outside(self, backend, wrong):
        with pytest.raises(ValueError, match="i_start must be a vertex"):
            lf.graph.bfs_levels(backend.csr(graphs.path_graph(4)), wrong)
        with pytest.raises(ValueError, match="i_start must be a vertex"):
            lf.graph.bfs_levels(backend.csr(sp.csr_array((0, 0))), 0)

    def test_single_vertex(self, backend):
        assert lf.graph.bfs_levels(backend.csr(sp.csr_array((1, 1))), 0).tolist() == [0]
