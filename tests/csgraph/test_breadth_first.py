"""Breadth-first orders against the reference and SciPy; the same for every backend and launch size."""

import numpy as np
import ordering_oracles as oracles
import pytest
import scipy.sparse as sp
import strategies as graphs
import traversal_oracles
from conftest import load_real
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csgraph

import linforest_precond as lf
from linforest_precond.matrix.doors import as_pattern

DTYPES = (np.float64,)
SIZES = [1000, *(pytest.param(size, marks=pytest.mark.slow) for size in (2000, 4000, 8000))]


def layers(count, width):
    """Layers joined one to the next; all but the first are numbered in reverse."""
    numbers = np.arange(count * width).reshape(count, width)[[0, *range(count - 1, 0, -1)]]
    pairs = [np.broadcast_arrays(one[:, None], other) for one, other in zip(numbers, numbers[1:])]
    lows, highs = (np.concatenate([pair[side].ravel() for pair in pairs]) for side in (0, 1))
    return graphs.from_edges(count * width, lows, highs, 1.0)


# Frontiers that soon are as wide as the graph, and frontiers that never are.
GRAPHS = {
    "grid": graphs.grid_graph(40, 30),
    "cube": graphs.shuffled(graphs.grid_graph(12, 12, 12)),
    "rmat": graphs.rmat_graph(11),
    "directed": graphs.random_graph(3000, symmetric=False),
    "dense": graphs.random_graph(300, mean_degree=120),
    "star": graphs.star_graph(3000),
    "path": graphs.path_graph(2000),
    "cliques": graphs.two_cliques_joined(60),
    # Pull: the parents in the frontier come late in their rows.
    "layers": layers(5, 60),
}


def assert_breadth_first(backend, A, source, directed=True):
    """The depths are SciPy's, and the order and the predecessors follow from them."""
    order, predecessors = lf.graph.breadth_first_order(backend.csr(A), source, directed)
    assert all(isinstance(array, backend.xp.ndarray) for array in (order, predecessors))
    assert order.dtype == predecessors.dtype == np.int32
    order, predecessors = backend.host(order), backend.host(predecessors)
    levels = csgraph.dijkstra(abs(A), directed, source, unweighted=True)
    reached = np.flatnonzero(np.isfinite(levels))
    np.testing.assert_array_equal(order, reached[np.argsort(levels[reached], kind="stable")])
    np.testing.assert_array_equal(predecessors, lowest_predecessors(A, levels, directed))


def lowest_predecessors(A, levels, directed):
    coo = A.tocoo()
    rows, columns = coo.row, coo.col
    if not directed:
        rows, columns = np.concatenate([rows, columns]), np.concatenate([columns, rows])
    leads = np.isfinite(levels[rows]) & (levels[columns] == levels[rows] + 1)
    lowest = np.full(levels.size, levels.size)
    np.minimum.at(lowest, columns[leads], rows[leads])
    return np.where(lowest == levels.size, -9999, lowest)


class TestOrder:
    @given(A=graphs.matrices(dtypes=DTYPES), data=st.data())
    def test_against_the_textbook(self, backend, A, data):
        if A.shape[0] == 0:
            return
        source = data.draw(st.integers(0, A.shape[0] - 1))
        for directed, around in ((True, oracles.directed_neighbors(A)), (False, oracles.neighbors(A))):
            order, predecessors = lf.graph.breadth_first_order(backend.csr(A), source, directed)
            found = backend.host(order).tolist(), backend.host(predecessors).tolist()
            assert found == traversal_oracles.breadth_first_order(around, source)

    @pytest.mark.parametrize("graph", GRAPHS)
    def test_against_scipy(self, backend, graph):
        A = GRAPHS[graph]
        assert_breadth_first(backend, A, 5)
        assert_breadth_first(backend, graphs.with_types(A, index_dtype=np.int64), 5, directed=False)

    def test_real_matrices(self, backend, real_name):
        A = load_real(real_name).copy()
        A.data = np.ones(A.nnz)
        for directed in (True, False):
            assert_breadth_first(backend, A, A.shape[0] // 2, directed)

    @pytest.mark.parametrize("density", [0.1, 0.45, 0.65])
    @pytest.mark.parametrize("size", SIZES)
    def test_densities(self, backend, size, density):
        A = sp.random_array((size, size), density=density, rng=np.random.default_rng(size), format="csr")
        assert_breadth_first(backend, A, 0)
        assert_breadth_first(backend, A, 0, directed=False)

    @pytest.mark.slow
    def test_skewed_degrees(self, backend):
        A = lf.matrices.rmat(20, 16)
        assert_breadth_first(backend, A, int(np.argmax(np.diff(A.indptr))))
        assert_breadth_first(backend, A, int(A.indices[0]))

    @pytest.mark.slow
    def test_a_long_path(self, backend):
        A = graphs.path_graph(10**6)
        order, predecessors = lf.graph.breadth_first_order(backend.csr(A), 0)
        np.testing.assert_array_equal(backend.host(order), np.arange(10**6))
        np.testing.assert_array_equal(backend.host(predecessors)[1:], np.arange(10**6 - 1))

    def test_many_components(self, backend):
        A = graphs.packed_small_graphs(3000)
        assert_breadth_first(backend, A, 77)

    @pytest.mark.parametrize("scale", [9, pytest.param(16, marks=pytest.mark.slow)])
    def test_fifty_runs(self, backend, scale):
        A = backend.csr(graphs.rmat_graph(scale))
        first = lf.graph.breadth_first_order(A, 3)
        for _ in range(50):
            again = lf.graph.breadth_first_order(A, 3)
            assert all(bool((one == other).all()) for one, other in zip(first, again, strict=True))

    def test_the_order_alone(self, backend):
        A = backend.csr(graphs.path_graph(4))
        assert lf.graph.breadth_first_order(A, 1, return_predecessors=False).tolist() == [1, 0, 2, 3]

    def test_a_single_vertex(self, backend):
        order, predecessors = lf.graph.breadth_first_order(backend.csr(sp.csr_array((1, 1))), 0)
        assert (order.tolist(), predecessors.tolist()) == ([0], [-9999])

    def test_a_dense_array(self, backend):
        A = backend.array(np.array([[0, 1.0, np.nan], [0, 0, 2.0], [0, np.inf, 0]]))
        order, predecessors = lf.graph.breadth_first_order(A, 0)
        assert (order.tolist(), predecessors.tolist()) == ([0, 1, 2], [-9999, 0, 1])

    @pytest.mark.parametrize("wrong", [-1, 4])
    def test_start_outside(self, backend, wrong):
        with pytest.raises(ValueError, match="i_start must be a vertex of A, in \\[0, 4\\), got"):
            lf.graph.breadth_first_order(backend.csr(graphs.path_graph(4)), wrong)
        with pytest.raises(TypeError, match="i_start must be an integer, got float"):
            lf.graph.breadth_first_order(backend.csr(graphs.path_graph(4)), 1.5)


@pytest.mark.gpu
class TestFronts:
    SIZES = (
        {"blocks": 1},
        {"narrow": 0, "wide": 0, "block": 64},
        {"narrow": 3, "wide": 7, "block": 64},
        {"narrow": 2**31, "wide": 2**31},
    )

    @pytest.mark.parametrize("graph", GRAPHS)
    def test_of_all_sizes(self, cuda, graph):
        """Narrow and wide frontiers, push and pull, give the same depths and parents."""
        from linforest_precond.backends.cuda.csgraph import breadth_first, sorted_neighbors

        A = GRAPHS[graph]
        pattern = as_pattern(cuda.csr(A), directed=True)
        expected = [lf.graph.bfs_levels(A, 5), lf.graph.breadth_first_order(A, 5)[1]]
        plain, source = sorted_neighbors.plain_rows(pattern), cuda.array(np.array([5], np.int32))
        for sizes in self.SIZES:
            found = cuda.xp.empty(pattern.n, np.int32)
            parents = cuda.xp.full(pattern.n, breadth_first.NO_PREDECESSOR, np.int32)
            options = {"parents": parents, "symmetric": pattern.symmetric, "dead_end": 0}
            breadth_first.search_rows(
                plain, source, found, breadth_first.queue_for(plain), **options, **sizes
            )
            np.testing.assert_array_equal(cuda.host(found), expected[0], err_msg=str(sizes))
            np.testing.assert_array_equal(cuda.host(parents), expected[1], err_msg=str(sizes))
