"""Linear forests: cycles lose their weakest edge, path ids and positions count from the smaller end."""

import numba
import numpy as np
import oracles
import pytest
import scipy.sparse as sp
import strategies as graphs
from conftest import load_real
from hypothesis import given
from hypothesis import strategies as st
from test_factor import paper_seed

import linforest_precond as lf

CYCLE_LENGTHS = [3, 4, 5, 6, 7, 8, 9, 16, 17, 31, 32, 33, 64, 1000, 1024, 1025]


def oracle_forest(A, neighbors):
    edges = oracles.graph_edges(A)
    return oracles.linear_forest(neighbors, lambda lo, hi: edges[lo, hi])


def assert_is_the_walked_forest(backend, A, t, neighbors):
    """Every array and count equals that of the oracle, a sequential walk along the factor."""
    wanted = oracle_forest(A, neighbors)
    rows = backend.host(t.neighbors)
    np.testing.assert_array_equal(rows, oracles.as_rows(wanted.neighbors, 2))
    np.testing.assert_array_equal(backend.host(t.path_id), wanted.path_id)
    np.testing.assert_array_equal(backend.host(t.position), wanted.position)
    order = oracles.order(wanted.path_id, wanted.position)
    np.testing.assert_array_equal(backend.host(t.order), order)
    oracles.assert_is_permutation(backend.host(t.order), backend.host(t.rank))
    assert t.n_paths == wanted.n_paths
    assert t.longest_path == wanted.longest_path
    assert t.n_cycles_broken == wanted.n_cycles_broken
    assert t.coverage == pytest.approx(oracles.coverage(A, wanted.neighbors), rel=1e-6, abs=1e-300)
    for name in ("neighbors", "path_id", "position", "order", "rank"):
        array = getattr(t, name)
        assert isinstance(array, backend.xp.ndarray), name
        assert array.dtype == A.indices.dtype, name
    oracles.assert_is_linear_forest(A, rows, backend.host(t.path_id), backend.host(t.position))
    oracles.assert_is_tridiagonal_after_permutation(rows, backend.host(t.rank))


def whole_factor(backend, A):
    """A graph of maximum degree two as its own factor."""
    A = sp.csr_array(A - sp.diags_array(A.diagonal()))
    A.eliminate_zeros()
    A.sort_indices()
    rows = np.repeat(np.arange(A.shape[0]), np.diff(A.indptr))
    place = np.arange(A.nnz) - np.repeat(A.indptr[:-1], np.diff(A.indptr))
    neighbors = np.full((A.shape[0], 2), -1, dtype=A.indices.dtype)
    weights = np.zeros((A.shape[0], 2))
    neighbors[rows, place] = A.indices
    weights[rows, place] = np.abs(A.data)
    total = float(np.abs(A.data).sum())
    return lf.Factor(backend.array(neighbors), backend.array(weights), None, (1, True), total)


def host_forest(backend, t):
    return [backend.host(x) for x in (t.neighbors, t.path_id, t.position, t.order, t.rank)]


class TestAgainstTheWalk:
    @given(A=graphs.matrices(), iterations=st.sampled_from([1, 2, 5, None, "auto"]), seed=st.integers(0, 99))
    def test_hypothesis_graphs(self, backend, A, iterations, seed):
        f = lf.graph.factor(backend.csr(A), 2, iterations=iterations, seed=seed)
        factor = oracles.as_sets(backend.host(f.neighbors))
        assert_is_the_walked_forest(backend, A, lf.linear_forest(f), factor)
        t = lf.linear_forest(backend.csr(A), iterations=iterations, seed=seed)
        assert_is_the_walked_forest(backend, A, t, factor)
        assert (t.iterations, t.maximal) == (f.iterations, f.maximal)

    @given(A=graphs.matrices())
    def test_the_default_is_auto(self, backend, A):
        factor = oracles.parallel_factor(A, 2, iterations="auto")
        t = lf.linear_forest(backend.csr(A))
        assert_is_the_walked_forest(backend, A, t, factor.neighbors)
        assert (t.iterations, t.maximal) == (factor.iterations, factor.maximal)

    @pytest.mark.parametrize(("dtype", "index_dtype"), graphs.quick(graphs.TYPES))
    @pytest.mark.parametrize("symmetric", [True, False])
    def test_types(self, backend, dtype, index_dtype, symmetric):
        A = graphs.random_graph(900, "ties", 2, symmetric=symmetric, dtype=dtype, index_dtype=index_dtype)
        f = lf.graph.factor(backend.csr(A), 2, iterations=None)
        factor = oracles.as_sets(backend.host(f.neighbors))
        assert_is_the_walked_forest(backend, A, lf.linear_forest(f), factor)

    @pytest.mark.parametrize("kind", ["unit", "ties", "unique"])
    @pytest.mark.parametrize("iterations", graphs.quick(["auto", 1, None]))
    def test_more_than_a_block(self, backend, kind, iterations):
        A = graphs.random_graph(5000, kind, 3)
        factor = oracles.parallel_factor(A, 2, iterations=iterations)
        t = lf.linear_forest(backend.csr(A), iterations=iterations)
        assert_is_the_walked_forest(backend, A, t, factor.neighbors)

    def test_four_thousand_small_graphs_at_once(self, backend):
        A = graphs.packed_small_graphs(4000)
        factor = oracles.greedy_factor(A, 2)
        t = lf.linear_forest(backend.csr(A), m=1, iterations=None)
        assert t.n_cycles_broken > 100
        assert_is_the_walked_forest(backend, A, t, factor)

    def test_real_matrices(self, backend, real_name):
        A = load_real(real_name)
        t = lf.linear_forest(backend.csr(A))
        oracles.assert_is_large_linear_forest(*host_forest(backend, t))
        assert t.n_paths == np.unique(backend.host(t.path_id)).size
        assert t.longest_path == backend.host(t.position).max()

    def test_small_real_matrices(self, backend, small_real_name):
        A = load_real(small_real_name)
        f = lf.graph.factor(backend.csr(A), 2, iterations="auto")
        t = lf.linear_forest(backend.csr(A))
        assert_is_the_walked_forest(backend, A, t, oracles.as_sets(backend.host(f.neighbors)))


class TestCycles:
    @pytest.mark.parametrize("length", CYCLE_LENGTHS)
    @pytest.mark.parametrize("kind", ["unit", "ties", "unique"])
    def test_one_cycle(self, backend, length, kind):
        for seed in range(3):
            A = graphs.union_of_cycles([length], kind, seed)
            t = lf.linear_forest(whole_factor(backend, A))
            assert (t.n_paths, t.longest_path, t.n_cycles_broken) == (1, length, 1)
            assert_is_the_walked_forest(backend, A, t, oracles.greedy_factor(A, 2))

    @pytest.mark.parametrize("length", CYCLE_LENGTHS)
    def test_unit_cycles_in_order_lose_the_edge_of_their_lowest_pair(self, backend, length):
        A = graphs.cycle_graph(length)
        t = lf.linear_forest(backend.csr(A), m=1, iterations=None)
        rows = oracles.as_sets(backend.host(t.neighbors))
        assert rows[0] == {length - 1} and rows[1] == {2}
        np.testing.assert_array_equal(backend.host(t.position), [1, *range(length, 1, -1)])
        np.testing.assert_array_equal(backend.host(t.path_id), 0)
        assert t.coverage == pytest.approx((length - 1) / length)

    @pytest.mark.parametrize("length", [3, 4, 5, 8, 9, 16, 33])
    def test_the_weakest_edge_goes_wherever_it_is(self, backend, length):
        for weakest in range(length):
            weights = np.full(length, 2.0)
            weights[weakest] = 1.0
            t = lf.linear_forest(whole_factor(backend, graphs.cycle_graph(length, weights)))
            lo, hi = sorted((weakest, (weakest + 1) % length))
            assert hi not in backend.host(t.neighbors)[lo]
            assert lo not in backend.host(t.neighbors)[hi]
            assert backend.host(t.position)[[lo, hi]].tolist() == [1, length]

    @pytest.mark.parametrize("kind", ["unit", "ties", "unique"])
    def test_cycles_of_all_lengths_side_by_side(self, backend, kind):
        lengths = [*range(3, 140), 255, 256, 257, 511, 512, 513]
        A = graphs.union_of_cycles(lengths, kind)
        t = lf.linear_forest(whole_factor(backend, A))
        assert (t.n_paths, t.longest_path, t.n_cycles_broken) == (len(lengths), 513, len(lengths))
        assert_is_the_walked_forest(backend, A, t, oracles.greedy_factor(A, 2))

    def test_cycles_beside_paths(self, backend):
        """A long path needs many rounds; cycles whose lengths are powers of two are finished before."""
        cycles = graphs.union_of_cycles([4, 8, 16, 3, 5, 64] * 20, "ties")
        parts = [cycles, graphs.path_graph(3001), sp.eye_array(50)]
        A = graphs.shuffled(sp.block_diag(parts, format="csr"), 5)
        t = lf.linear_forest(whole_factor(backend, A))
        assert (t.n_paths, t.longest_path, t.n_cycles_broken) == (120 + 1 + 50, 3001, 120)
        assert_is_the_walked_forest(backend, A, t, oracles.greedy_factor(A, 2))

    @pytest.mark.slow
    @pytest.mark.parametrize("length", [10**6, 2**20])
    def test_one_cycle_through_a_million_vertices(self, backend, length):
        labels = np.random.default_rng(1).permutation(length)
        weights = np.random.default_rng(2).permutation(length) + 1.0
        A = graphs.from_edges(length, labels, np.roll(labels, -1), weights)
        t = lf.linear_forest(whole_factor(backend, A))
        path = np.roll(labels, -(int(np.argmin(weights)) + 1))
        assert_is_this_path(backend, t, path)
        assert t.n_cycles_broken == 1

    @pytest.mark.slow
    def test_many_cycles_of_many_lengths(self, backend):
        lengths = np.random.default_rng(0).integers(3, 5000, 400)
        t = lf.linear_forest(whole_factor(backend, graphs.union_of_cycles(lengths, "ties")))
        assert (t.n_paths, t.longest_path, t.n_cycles_broken) == (400, lengths.max(), 400)
        oracles.assert_is_large_linear_forest(*host_forest(backend, t))


def assert_is_this_path(backend, t, path):
    """One path through all vertices, given in its order from either end."""
    path = path if path[0] < path[-1] else path[::-1]
    np.testing.assert_array_equal(backend.host(t.order), path)
    np.testing.assert_array_equal(backend.host(t.path_id), path[0])
    np.testing.assert_array_equal(backend.host(t.position)[path], np.arange(1, len(path) + 1))
    np.testing.assert_array_equal(backend.host(t.rank)[path], np.arange(len(path)))
    assert (t.n_paths, t.longest_path) == (1, len(path))


class TestHandCases:
    def test_the_papers_figures_1_and_2(self, backend):
        """The cycle 4 - 7 - 8 - 9 loses {4, 7}; ten vertices, four paths."""
        A = graphs.paper_graph()
        f = lf.graph.factor(backend.csr(A), 2, iterations=1, k_m=1, seed=paper_seed())
        t = lf.linear_forest(f)
        assert (t.n_paths, t.longest_path, t.n_cycles_broken) == (4, 4, 1)
        np.testing.assert_array_equal(backend.host(t.path_id), [0, 0, 0, 3, 4, 3, 6, 4, 4, 4])
        np.testing.assert_array_equal(backend.host(t.position), [1, 2, 3, 1, 1, 2, 1, 4, 3, 2])
        np.testing.assert_array_equal(backend.host(t.order), [0, 1, 2, 3, 5, 4, 9, 8, 7, 6])
        assert t.coverage == pytest.approx(f.coverage - 2 * 0.4 / f.total_weight)

    @pytest.mark.parametrize("size", [1, 2, 3, 31, 32, 33, 1023, 1024, 1025, 3000])
    def test_one_path_in_order(self, backend, size):
        t = lf.linear_forest(backend.csr(graphs.path_graph(size)), m=1, iterations=None)
        assert_is_this_path(backend, t, np.arange(size))
        assert (t.n_cycles_broken, t.coverage) == (0, 1.0)

    @pytest.mark.parametrize("size", [2, 5, 64, 65, 1000, 50_000])
    def test_one_path_with_shuffled_labels(self, backend, size):
        self.assert_shuffled_path(backend, size)

    @pytest.mark.slow
    @pytest.mark.parametrize("size", [10**6, 2**20, 2**20 + 1])
    def test_one_path_through_a_million_vertices(self, backend, size):
        self.assert_shuffled_path(backend, size)

    @staticmethod
    def assert_shuffled_path(backend, size):
        labels = np.random.default_rng(size).permutation(size)
        A = graphs.from_edges(size, labels[:-1], labels[1:], 1.0)
        t = lf.linear_forest(whole_factor(backend, A))
        assert_is_this_path(backend, t, labels)
        assert t.n_cycles_broken == 0

    def test_a_star(self, backend):
        t = lf.linear_forest(backend.csr(graphs.star_graph(30)), m=1, iterations=None)
        assert (t.n_paths, t.longest_path, t.n_cycles_broken) == (29, 3, 0)
        np.testing.assert_array_equal(backend.host(t.order), [1, 0, *range(2, 31)])

    def test_two_cliques_joined(self, backend):
        """The heavy bridge is kept, so one path runs from clique to clique."""
        A = graphs.two_cliques_joined(6, bridge=2.0)
        t = lf.linear_forest(backend.csr(A), m=1, iterations=None)
        assert_is_the_walked_forest(backend, A, t, oracles.greedy_factor(A, 2))
        path_id = backend.host(t.path_id)
        assert path_id[5] == path_id[6]

    def test_isolated_vertices_are_paths_of_one(self, backend):
        A = graphs.from_edges(9, [1, 4], [7, 5], [2.0, 1.0])
        t = lf.linear_forest(backend.csr(A))
        np.testing.assert_array_equal(backend.host(t.path_id), [0, 1, 2, 3, 4, 4, 6, 1, 8])
        np.testing.assert_array_equal(backend.host(t.position), [1, 1, 1, 1, 1, 2, 1, 2, 1])
        np.testing.assert_array_equal(backend.host(t.order), [0, 1, 7, 2, 3, 4, 5, 6, 8])
        assert (t.n_paths, t.longest_path, t.n_cycles_broken, t.coverage) == (7, 2, 0, 1.0)

    @pytest.mark.parametrize("A", [sp.csr_array((0, 0)), sp.csr_array((1, 1)), sp.csr_array(np.eye(7))])
    def test_no_edges(self, backend, A):
        size = A.shape[0]
        t = lf.linear_forest(backend.csr(A))
        np.testing.assert_array_equal(backend.host(t.order), np.arange(size))
        np.testing.assert_array_equal(backend.host(t.position), np.ones(size))
        assert (t.n_paths, t.longest_path, t.n_cycles_broken) == (size, min(size, 1), 0)
        assert t.coverage == 1.0
        assert "0" in str(t)

    @pytest.mark.parametrize("kind", [1, 2, 3])
    def test_aniso_gives_the_strong_lines(self, backend, kind):
        """ANISO1 keeps its n lines of n vertices; of ANISO2 and 3 the longest diagonal is whole."""
        t = lf.linear_forest(lf.matrices.aniso(kind, 50, device=backend.name), m=1, iterations=None)
        oracles.assert_is_large_linear_forest(*host_forest(backend, t))
        assert t.coverage == pytest.approx(0.67, abs=0.01)
        if kind == 1:
            assert t.n_paths <= 50 and t.longest_path >= 50


class TestOneAnswer:
    @pytest.mark.skipif(numba.config.NUMBA_NUM_THREADS < 2, reason="one thread only")
    def test_any_number_of_threads(self, with_threads):
        cycles = graphs.union_of_cycles(np.random.default_rng(0).integers(3, 900, 60), "unit")
        A = sp.block_diag([cycles, graphs.random_graph(30_000, "ties")], format="csr")
        before = numba.get_num_threads()
        try:
            answers = []
            for threads in (1, 2, numba.config.NUMBA_NUM_THREADS):
                numba.set_num_threads(threads)
                answers.append(lf.linear_forest(sp.csr_array(A), iterations=None))
        finally:
            numba.set_num_threads(before)
        for other in answers[1:]:
            for name in ("neighbors", "weights", "path_id", "position", "order", "rank"):
                np.testing.assert_array_equal(getattr(answers[0], name), getattr(other, name))
            for name in ("coverage", "n_paths", "longest_path", "n_cycles_broken", "iterations"):
                assert getattr(answers[0], name) == getattr(other, name)

    def test_the_factor_is_not_changed(self, backend):
        f = whole_factor(backend, graphs.union_of_cycles([5, 8, 30]))
        before = backend.host(f.neighbors).copy(), backend.host(f.weights).copy()
        first, again = (host_forest(backend, lf.linear_forest(f)) for _ in range(2))
        np.testing.assert_array_equal(backend.host(f.neighbors), before[0])
        np.testing.assert_array_equal(backend.host(f.weights), before[1])
        for one, other in zip(first, again, strict=True):
            np.testing.assert_array_equal(one, other)


def test_print_explains(backend):
    A = graphs.union_of_cycles([40, 1300, 7])
    t = lf.linear_forest(backend.csr(A), m=1, iterations=None)
    text = str(t)
    for number in ("1,347", "1,300", "3", f"{t.coverage:.4f}", str(t.iterations)):
        assert number in text
    assert "paths" in text and "cycles broken" in text and "longest path" in text


@pytest.mark.parametrize("n", [1, 3, 4])
def test_a_factor_with_another_n_is_refused(backend, n):
    f = lf.graph.factor(backend.csr(lf.matrices.poisson((4, 4))), n)
    with pytest.raises(ValueError, match="n = 2"):
        lf.linear_forest(f)
