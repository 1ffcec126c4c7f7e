"""[0,n]-factors: compared with oracles, with the paper's numbers, and by the invariants of a factor."""

from dataclasses import replace

import numba
import numpy as np
import oracles
import pytest
import scipy.sparse as sp
import strategies as graphs
from conftest import load_real
from hypothesis import given
from hypothesis import strategies as st

import linforest_precond as lf
from linforest_precond.backends.cpu.forest import factor as cpu_factor
from linforest_precond.graph.forest.factor import check_options
from linforest_precond.matrix.checked import checked
from linforest_precond.matrix.graphs import Begun

CHARGING = [(1, 0), (2, 0), (2, 1), (3, 2), (5, 0), (5, 1), (5, 4)]
RELATIVE = {np.dtype(np.float32): 1e-6, np.dtype(np.float64): 1e-12}


def real_dtype(A):
    return np.zeros(0, dtype=A.dtype).real.dtype


def assert_factor_arrays(backend, A, f, neighbors, n):
    """The wanted neighbors; weights, slots, degrees and coverage consistent with them."""
    assert all(isinstance(x, backend.xp.ndarray) for x in (f.neighbors, f.weights, f.degrees))
    rows = backend.host(f.neighbors)
    np.testing.assert_array_equal(rows, oracles.as_rows(neighbors, n))
    assert rows.dtype == A.indices.dtype
    np.testing.assert_array_equal(backend.host(f.degrees), [len(around) for around in neighbors])

    edges = oracles.graph_edges(A)
    weights = backend.host(f.weights)
    assert weights.dtype == real_dtype(A)
    wanted = np.zeros(rows.shape, dtype=weights.dtype)
    for v, place in np.argwhere(rows >= 0).tolist():
        wanted[v, place] = edges[tuple(sorted((v, int(rows[v, place]))))]
    np.testing.assert_array_equal(weights, wanted)
    np.testing.assert_array_equal(np.abs(backend.host(f.values)), wanted)
    if f.slots is not None:
        assert_slots(A, rows, backend.host(f.slots))
    assert isinstance(f.coverage, float)
    wanted = oracles.coverage(A, neighbors)
    assert f.coverage == pytest.approx(wanted, rel=RELATIVE[real_dtype(A)], abs=1e-300)


def assert_slots(A, rows, slots):
    """Each slot lies in its vertex's row and stores the column of its neighbor; -1 where there is none."""
    held = rows >= 0
    np.testing.assert_array_equal(slots[~held], -1)
    owner = np.broadcast_to(np.arange(A.shape[0])[:, None], rows.shape)[held]
    assert np.all((A.indptr[owner] <= slots[held]) & (slots[held] < A.indptr[owner + 1]))
    np.testing.assert_array_equal(A.indices[slots[held]], rows[held])


def assert_follows_algorithm_2(backend, A, n, **options):
    f = lf.graph.factor(backend.csr(A), n, **options)
    wanted = oracles.parallel_factor(A, n, **options)
    assert_factor_arrays(backend, A, f, wanted.neighbors, n)
    assert (f.iterations, f.maximal) == (wanted.iterations, wanted.maximal)
    return f


def canonical(A):
    A = A.copy()
    A.sort_indices()
    return A


def indices_in_disorder(A):
    """The same matrix with the entries of its longest row in descending order."""
    A, row = A.copy(), int(np.argmax(np.diff(A.indptr)))
    slots = slice(A.indptr[row], A.indptr[row + 1])
    A.indices[slots], A.data[slots] = A.indices[slots][::-1].copy(), A.data[slots][::-1].copy()
    return A


class TestSecondCalls:
    """On the GPU, a factor begins before the matrix is checked, once its program is compiled."""

    @pytest.mark.parametrize(
        "A",
        [
            graphs.random_graph(700, "unique"),
            graphs.random_graph(700, "unique", symmetric=False),
            indices_in_disorder(graphs.random_graph(700, "unique")),
            graphs.star_graph(900),
            graphs.random_graph(300, "ties", mean_degree=40),
        ],
        ids=["symmetric", "nonsymmetric", "unsorted", "long row", "wide rows"],
    )
    def test_matrices_of_all_kinds(self, backend, A):
        wanted = oracles.parallel_factor(canonical(A), 2)
        for _ in range(2):
            f = lf.graph.factor(backend.csr(A), 2)
            np.testing.assert_array_equal(backend.host(f.neighbors), oracles.as_rows(wanted.neighbors, 2))
            assert f.iterations == wanted.iterations

    def test_broken_matrices_are_refused(self, backend):
        A = graphs.random_graph(700, "unique")
        lf.graph.factor(backend.csr(A), 2)
        for field, place, value in (("data", 5, np.nan), ("indices", 9, 10**6), ("indptr", 7, 10**6)):
            broken = A.copy()
            getattr(broken, field)[place] = value
            with pytest.raises(ValueError, match="A"):
                lf.graph.factor(backend.csr(broken), 2)
        assert lf.graph.factor(backend.csr(A), 2).neighbors.shape == (700, 2)

    def test_the_result_of_another_purpose_is_not_taken(self, backend):
        csr = checked(
            backend.csr(graphs.random_graph(300)),
            shared=True,
            begin=lambda graph, _: Begun("other", graph.values, 1000, None),
        )
        graph, options = csr.graph, check_options(2)
        assert (graph.begun is not None) == (backend.name == "cuda") and graph.take_begun(options) is None
        for weights, purpose, result in (
            (graph.values.copy(), options, None),
            (graph.values, check_options(1), None),
            (graph.values, options, "result"),
        ):
            own = replace(graph, values=weights, begun=Begun(options, graph.values, 1000, "result"))
            assert own.take_begun(purpose) == result and own.take_begun(options) is None


class TestAgainstTheTextbook:
    @given(
        A=graphs.matrices(),
        n=st.integers(1, 4),
        charging=st.sampled_from(CHARGING),
        iterations=st.sampled_from([1, 2, 3, 5, 7, None, "auto"]),
        p=st.sampled_from([0.0, 0.25, 0.5, 0.9, 1.0]),
        seed=st.integers(-(2**64), 2**65),
    )
    def test_hypothesis_graphs(self, backend, A, n, charging, iterations, p, seed):
        m, k_m = charging
        options = {"iterations": iterations, "m": m, "k_m": k_m, "p": p, "seed": seed}
        f = assert_follows_algorithm_2(backend, A, n, **options)
        oracles.assert_is_factor(A, backend.host(f.neighbors), n)
        if f.maximal:
            oracles.assert_is_maximal_factor(A, backend.host(f.neighbors), n)

    @pytest.mark.parametrize("n", [1, 2, 3, 4])
    @pytest.mark.parametrize(("m", "k_m"), CHARGING)
    @pytest.mark.parametrize("iterations", graphs.quick(["auto", 1, 5, None]))
    def test_charging(self, backend, n, m, k_m, iterations):
        A = graphs.random_graph(400, "ties", seed=n, mean_degree=10)
        assert_follows_algorithm_2(backend, A, n, iterations=iterations, m=m, k_m=k_m, seed=3)

    @pytest.mark.parametrize(("dtype", "index_dtype"), graphs.quick(graphs.TYPES))
    @pytest.mark.parametrize("symmetric", [True, False])
    def test_types(self, backend, dtype, index_dtype, symmetric):
        A = graphs.random_graph(700, "ties", 5, symmetric=symmetric, dtype=dtype, index_dtype=index_dtype)
        for n in (1, 2, 3, 4):
            assert_follows_algorithm_2(backend, A, n, seed=n)

    @pytest.mark.parametrize("kind", ["unit", "ties", "unique"])
    def test_more_than_a_block(self, backend, kind):
        assert_follows_algorithm_2(backend, graphs.random_graph(5000, kind, 1), 2, iterations="auto")

    @pytest.mark.parametrize("n", [1, 2, 4])
    def test_skewed_rows(self, backend, n):
        A = graphs.rmat_graph(11, kind="ties")
        assert np.diff(A.indptr).max() > 300
        assert_follows_algorithm_2(backend, A, n, iterations="auto")

    @pytest.mark.parametrize("kind", ["unit", "ties", "unique"])
    @pytest.mark.parametrize("n", [1, 2, 4])
    def test_one_row_longer_than_a_block(self, backend, kind, n):
        rng = np.random.default_rng(0)
        A = graphs.shuffled(graphs.star_graph(5000, graphs.weights_of(kind, 5000, rng)), 1)
        assert_follows_algorithm_2(backend, A, n)

    @pytest.mark.parametrize("density", [1.0, 0.6])
    def test_dense_rows(self, backend, density):
        rng = np.random.default_rng(0)
        dense = rng.choice([1.0, 2.0, 3.0], (150, 150)) * (rng.random((150, 150)) < density)
        A = sp.csr_array(dense + dense.T)
        for n in (1, 2, 3, 4):
            assert_follows_algorithm_2(backend, A, n)

    def test_real_matrices(self, backend, small_real_name):
        assert_follows_algorithm_2(backend, load_real(small_real_name), 2)


class TestAutomaticIterations:
    """Uncharged with n = 1: an iteration confirms one edge of a path of increasing weights, and all pairs."""

    @pytest.mark.parametrize(
        ("pairs", "wanted"),
        [(0, 20), (85, 15), (94, 6), (95, 5), (96, 5), (5000, 5)],
    )
    def test_goes_on_while_more_than_one_percent_is_new(self, backend, pairs, wanted):
        path = graphs.path_graph(100, np.arange(1.0, 100.0))
        couple = sp.csr_array([[0.0, 1.0], [1.0, 0.0]])
        A = sp.csr_array(sp.block_diag([path, sp.kron(sp.eye_array(pairs), couple)]))
        f = lf.graph.factor(backend.csr(A), 1, m=1, iterations="auto")
        assert (f.iterations, f.maximal) == (wanted, False)
        assert int(f.degrees.sum()) == 2 * (pairs + wanted)

    @pytest.mark.parametrize("n", [1, 2, 3, 4])
    def test_is_the_default(self, backend, n):
        """With n = 1 an iteration confirms one edge; with more, the whole path is confirmed at once."""
        A = backend.csr(graphs.path_graph(100, np.arange(1.0, 100.0)))
        f, wanted = (lf.graph.factor(A, n, m=1, **options) for options in ({}, {"iterations": "auto"}))
        np.testing.assert_array_equal(backend.host(f.neighbors), backend.host(wanted.neighbors))
        assert (f.iterations, f.maximal) == ((20, False) if n == 1 else (2, True))

    @pytest.mark.parametrize("p", [0.0, 1.0])
    def test_counts_iterations_without_proposals(self, backend, p):
        """With equal charges nothing is proposed in iterations 1 to 4, and the fifth is the last."""
        A = graphs.random_graph(200, "ties", 7)
        assert assert_follows_algorithm_2(backend, A, 2, p=p).iterations == 5

    @pytest.mark.parametrize("dtype", graphs.quick([np.float64, np.float32]))
    def test_weights_of_subnormal_entries(self, backend, dtype):
        least = np.finfo(dtype).smallest_subnormal
        A = graphs.from_edges(2, [0], [1], [-least], dtype=dtype)
        for found in (lf.graph.factor(backend.csr(A), 1), lf.linear_forest(backend.csr(A))):
            np.testing.assert_array_equal(backend.host(found.weights)[:, 0], [least, least])

    def test_stops_at_a_maximal_factor(self, backend):
        f = lf.graph.factor(backend.csr(graphs.path_graph(5, np.arange(1.0, 5.0))), 1, m=1, iterations="auto")
        assert (f.iterations, f.maximal) == (3, True)


def test_more_iterations_than_can_be_counted(backend):
    A = backend.csr(graphs.random_graph(50))
    f, maximal = lf.graph.factor(A, iterations=10**30), lf.graph.factor(A, iterations=None)
    np.testing.assert_array_equal(backend.host(f.neighbors), backend.host(maximal.neighbors))
    assert (f.iterations, f.maximal) == (maximal.iterations, True)


class TestGreedy:
    @given(A=graphs.matrices(), n=st.integers(1, 4))
    def test_hypothesis_graphs(self, backend, A, n):
        wanted = oracles.greedy_factor(A, n)
        g = lf.graph.greedy_factor(backend.csr(A), n)
        assert_factor_arrays(backend, A, g, wanted, n)
        assert g.maximal
        f = lf.graph.factor(backend.csr(A), n, m=1, iterations=None)
        assert_factor_arrays(backend, A, f, wanted, n)
        assert f.maximal

    @pytest.mark.parametrize("n", graphs.quick([2, 1, 3, 4], 2))
    @pytest.mark.parametrize("seed", graphs.quick([0, 1]))
    def test_four_thousand_tied_graphs_at_once(self, backend, n, seed):
        A = graphs.packed_small_graphs(4000, seed)
        wanted = oracles.greedy_factor(A, n)
        assert_factor_arrays(backend, A, lf.graph.greedy_factor(backend.csr(A), n), wanted, n)
        assert_factor_arrays(backend, A, lf.graph.factor(backend.csr(A), n, m=1, iterations=None), wanted, n)

    @pytest.mark.parametrize(("dtype", "index_dtype"), graphs.quick(graphs.TYPES))
    def test_types(self, backend, dtype, index_dtype):
        A = graphs.random_graph(600, "ties", 9, symmetric=False, dtype=dtype, index_dtype=index_dtype)
        self.assert_equal_to_uncharged(backend, A)
        assert_factor_arrays(
            backend, A, lf.graph.greedy_factor(backend.csr(A), 2), oracles.greedy_factor(A, 2), 2
        )

    def test_real_matrices(self, backend, small_real_name):
        self.assert_equal_to_uncharged(backend, load_real(small_real_name), degrees=(2,))

    @pytest.mark.slow
    def test_medium_real_matrices(self, backend, medium_real_name):
        self.assert_equal_to_uncharged(backend, load_real(medium_real_name))

    @staticmethod
    def assert_equal_to_uncharged(backend, A, degrees=(1, 2, 3, 4)):
        for n in degrees:
            g = lf.graph.greedy_factor(backend.csr(A), n)
            f = lf.graph.factor(backend.csr(A), n, m=1, iterations=None)
            for name in ("neighbors", "weights"):
                np.testing.assert_array_equal(backend.host(getattr(f, name)), backend.host(getattr(g, name)))
            assert (f.slots is None) == (g.slots is None)
            if f.slots is not None:
                np.testing.assert_array_equal(backend.host(f.slots), backend.host(g.slots))
            assert f.coverage == g.coverage


class TestThePapersNumbers:
    @pytest.mark.parametrize(("kind", "wanted"), [(1, 52), (2, 51)])
    def test_uncharged_iterations_on_100_x_100(self, backend, kind, wanted):
        self.assert_uncharged(backend, kind, 100, wanted)

    @pytest.mark.slow
    @pytest.mark.parametrize(("kind", "wanted"), [(1, 252), (2, 251)])
    def test_uncharged_iterations_on_500_x_500(self, backend, kind, wanted):
        self.assert_uncharged(backend, kind, 500, wanted)

    @pytest.mark.gpu
    @pytest.mark.slow
    @pytest.mark.parametrize(("kind", "wanted"), [(1, 1252), (2, 1251)])
    def test_uncharged_iterations_on_2500_x_2500(self, cuda, kind, wanted):
        self.assert_uncharged(cuda, kind, 2500, wanted)

    @staticmethod
    def assert_uncharged(backend, kind, size, wanted):
        f = lf.graph.factor(lf.matrices.aniso(kind, size, device=backend.name), 2, m=1, iterations=None)
        assert (f.iterations, f.maximal) == (wanted, True)
        assert f.coverage == pytest.approx(0.67, abs=0.005)

    @pytest.mark.parametrize(("n", "wanted"), [(1, 0.27), (2, 0.67), (3, 0.72), (4, 0.79)])
    @pytest.mark.parametrize("kind", [1, 2, 3])
    def test_aniso_coverage_on_300_x_300(self, backend, kind, n, wanted):
        f = lf.graph.factor(lf.matrices.aniso(kind, 300, device=backend.name), n, iterations=5)
        assert f.iterations == 5
        assert f.coverage == pytest.approx(wanted, abs=0.01)

    @pytest.mark.slow
    @pytest.mark.parametrize(("n", "wanted"), [(1, 0.27), (2, 0.67), (3, 0.72), (4, 0.79)])
    @pytest.mark.parametrize("kind", [1, 2, 3])
    def test_aniso_coverage_on_1000_x_1000(self, backend, kind, n, wanted):
        f = lf.graph.factor(lf.matrices.aniso(kind, 1000, device=backend.name), n, iterations=5)
        assert f.coverage == pytest.approx(wanted, abs=0.01)

    @pytest.mark.gpu
    @pytest.mark.slow
    @pytest.mark.parametrize(("n", "wanted"), [(1, 0.27), (2, 0.67), (3, 0.72), (4, 0.79)])
    @pytest.mark.parametrize("kind", [1, 2, 3])
    def test_aniso_coverage_on_2500_x_2500(self, cuda, kind, n, wanted):
        f = lf.graph.factor(lf.matrices.aniso(kind, 2500, device="cuda"), n, iterations=5)
        assert f.coverage == pytest.approx(wanted, abs=0.01)

    @pytest.mark.parametrize(("n", "wanted"), [(1, 0.21), (2, 0.46), (3, 0.71), (4, 1.00)])
    def test_uniform_coverage_on_300_x_300(self, backend, n, wanted):
        f = lf.graph.factor(lf.matrices.poisson((300, 300), device=backend.name), n, iterations=5)
        assert f.coverage == pytest.approx(wanted, abs=0.02)

    @pytest.mark.slow
    @pytest.mark.parametrize(("n", "wanted"), [(1, 0.21), (2, 0.46), (3, 0.71), (4, 1.00)])
    def test_uniform_coverage_on_1000_x_1000(self, backend, n, wanted):
        f = lf.graph.factor(lf.matrices.poisson((1000, 1000), device=backend.name), n, iterations=5)
        assert f.coverage == pytest.approx(wanted, abs=0.02)

    def test_real_matrices_come_close_to_greedy(self, backend, real_name):
        A = backend.csr(load_real(real_name))
        margin = 0.07 if real_name in ("nos7", "olm1000") else 0.04
        wanted = lf.graph.greedy_factor(A, 2).coverage - margin
        assert lf.graph.factor(A, 2, iterations=5).coverage >= wanted


class TestHandCases:
    def test_the_papers_table_1_without_charging(self, backend):
        """Vertex 4 proposes to 6 and 9, and both propose to it."""
        f = lf.graph.factor(backend.csr(graphs.paper_graph()), 2, iterations=1)
        wanted = [{1}, {0, 2}, {1}, {5}, {6, 9}, {3}, {4}, {8}, {7, 9}, {4, 8}]
        assert oracles.as_sets(backend.host(f.neighbors)) == wanted
        assert (f.iterations, f.maximal) == (1, False)

    def test_the_papers_figure_1_with_charging(self, backend):
        """Vertex 4 (-) proposes to 7 (+) and 9 (+), which closes the cycle 4 - 7 - 8 - 9."""
        seed = paper_seed()
        f = lf.graph.factor(backend.csr(graphs.paper_graph()), 2, iterations=1, k_m=1, seed=seed)
        wanted = [{1}, {0, 2}, {1}, {5}, {7, 9}, {3}, set(), {4, 8}, {7, 9}, {4, 8}]
        assert oracles.as_sets(backend.host(f.neighbors)) == wanted

    @pytest.mark.parametrize("n", [1, 2, 3, 4])
    def test_a_star_keeps_the_lowest_of_equal_leaves(self, backend, n):
        f = lf.graph.factor(backend.csr(graphs.star_graph(50)), n, m=1, iterations=None)
        rows = backend.host(f.neighbors)
        np.testing.assert_array_equal(rows[0], np.arange(1, n + 1))
        np.testing.assert_array_equal(rows[1:, 0], np.where(np.arange(1, 51) <= n, 0, -1))
        assert (f.iterations, f.maximal, f.coverage) == (2, True, n / 50)

    def test_a_star_keeps_its_heaviest_leaves(self, backend):
        weights = np.arange(1.0, 51.0)
        f = lf.graph.factor(backend.csr(graphs.star_graph(50, weights)), 3, m=1)
        np.testing.assert_array_equal(backend.host(f.neighbors)[0], [48, 49, 50])
        assert f.coverage == pytest.approx((48 + 49 + 50) / weights.sum())

    def test_two_cliques_hold_their_heavy_bridge_only_if_it_is_heavy(self, backend):
        for bridge, held in ((2.0, True), (0.5, False)):
            A = graphs.two_cliques_joined(6, bridge)
            f = lf.graph.factor(backend.csr(A), 2, iterations=None)
            assert (6 in backend.host(f.neighbors)[5]) == held
            oracles.assert_is_maximal_factor(A, backend.host(f.neighbors), 2)

    @pytest.mark.parametrize("n", [1, 2, 3, 4])
    @pytest.mark.parametrize("A", [sp.csr_array((0, 0)), sp.csr_array((1, 1)), sp.csr_array(np.eye(7))])
    def test_no_edges(self, backend, A, n):
        for f in (lf.graph.factor(backend.csr(A), n), lf.graph.greedy_factor(backend.csr(A), n)):
            rows = backend.host(f.neighbors)
            assert rows.shape == (A.shape[0], n) and np.all(rows == -1)
            assert f.maximal and f.coverage == 1.0
        assert lf.graph.factor(backend.csr(A), n).iterations == 1

    def test_isolated_vertices_stay_alone(self, backend):
        A = graphs.from_edges(9, [1, 4], [7, 5], [2.0, 1.0])
        f = lf.graph.factor(backend.csr(A), 2)
        wanted = [set(), {7}, set(), set(), {5}, {4}, set(), {1}, set()]
        assert oracles.as_sets(backend.host(f.neighbors)) == wanted
        assert (f.coverage, f.iterations, f.maximal) == (1.0, 5, False)

    def test_explicit_zeros_are_no_edges(self, backend):
        A = graphs.from_edges(4, [0, 1, 2], [1, 2, 3], [1.0, 0.0, 1.0])
        assert A.nnz == 6
        f = lf.graph.factor(backend.csr(A), 2, iterations=None)
        assert oracles.as_sets(backend.host(f.neighbors)) == [{1}, {0}, {3}, {2}]

    def test_a_nonsymmetric_matrix_joins_both_directions(self, backend):
        """|a01| + |a10| = 3 beats |a12| + |a21| = 2.5, although a21 is the largest entry."""
        A = sp.csr_array(np.array([[0, -1.0, 0], [2.0, 0, 0], [0, 2.5, 0]]))
        f = lf.graph.factor(backend.csr(A), 1)
        assert oracles.as_sets(backend.host(f.neighbors)) == [{1}, {0}, set()]
        assert f.coverage == pytest.approx(3 / 5.5)


def paper_seed():
    """A seed under which the first charges are those of figure 1."""
    wanted = [v in graphs.PAPER_POSITIVE for v in range(10)]
    return next(s for s in range(10**5) if [oracles.charge(v, 0, s, 0.5) for v in range(10)] == wanted)


class TestOneAnswer:
    def test_same_seed_same_bits_and_other_seeds_differ(self, backend):
        A = backend.csr(lf.matrices.poisson((40, 40)))
        first, again, other = (backend.host(lf.graph.factor(A, 2, seed=s).neighbors) for s in (1, 1, 2))
        np.testing.assert_array_equal(first, again)
        assert np.any(first != other)

    def test_seeds_count_modulo_two_to_the_64(self, backend):
        A = backend.csr(lf.matrices.poisson((20, 20)))
        for seed, same in ((-1, 2**64 - 1), (2**64 + 5, 5), (np.int64(7), 7), (np.uint64(2**63), 2**63)):
            first, again = (backend.host(lf.graph.factor(A, 2, seed=s).neighbors) for s in (seed, same))
            np.testing.assert_array_equal(first, again)

    @pytest.mark.skipif(numba.config.NUMBA_NUM_THREADS < 2, reason="one thread only")
    @pytest.mark.parametrize("degrees", graphs.quick([[2], [1, 3, 4]]), ids=str)
    @pytest.mark.parametrize("kind", graphs.quick(["unit", "unique"]))
    def test_any_number_of_threads(self, kind, degrees, with_threads):
        A = graphs.random_graph(60_000, kind, 2, symmetric=kind == "unit")
        before = numba.get_num_threads()
        try:
            answers = []
            for threads in (1, 2, numba.config.NUMBA_NUM_THREADS):
                numba.set_num_threads(threads)
                answers.append([lf.graph.factor(A, n, iterations="auto") for n in degrees])
        finally:
            numba.set_num_threads(before)
        for others in answers[1:]:
            for one, other in zip(answers[0], others, strict=True):
                np.testing.assert_array_equal(one.neighbors, other.neighbors)
                np.testing.assert_array_equal(one.weights, other.weights)
                assert (one.iterations, one.coverage) == (other.iterations, other.coverage)

    @pytest.mark.parametrize("iterations", [3, None])
    def test_proposals_are_kept_where_a_search_would_find_them(self, iterations):
        graph = checked(graphs.random_graph(5000, "ties", 3)).graph
        options = {**vars(check_options(2, iterations, 1))}
        searched = cpu_factor.FactorState(graph, options.pop("n"))
        searched.iterate(**options, keep=False)
        neighbors, _, slots, progress = cpu_factor.propose_factor(graph, n=2, **options)
        np.testing.assert_array_equal(neighbors, searched.neighbors)
        np.testing.assert_array_equal(slots, searched.slots)
        np.testing.assert_array_equal(progress, searched.progress[:2])

    @pytest.mark.parametrize("shift", [-900, -100, 100, 960])
    def test_powers_of_two_change_nothing(self, backend, shift):
        """Weights near the largest and smallest numbers, where plain sums overflow or underflow."""
        A = graphs.random_graph(500, "unique", 4, symmetric=False)
        B = A.copy()
        B.data = np.ldexp(B.data, shift)
        f, g = lf.graph.factor(backend.csr(A), 2), lf.graph.factor(backend.csr(B), 2)
        np.testing.assert_array_equal(backend.host(f.neighbors), backend.host(g.neighbors))
        assert f.coverage == g.coverage
        assert lf.graph.identity_coverage(backend.csr(A)) == lf.graph.identity_coverage(backend.csr(B))

    @pytest.mark.parametrize("dtype", graphs.quick(graphs.DTYPES))
    def test_weights_at_the_end_of_the_range(self, backend, dtype):
        """Magnitudes and their sums stay finite: they are clamped to the largest number."""
        largest = np.finfo(dtype).max
        dense = np.zeros((6, 6), dtype=dtype)
        pairs = [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (5, 0)]
        for step, (i, j) in enumerate(pairs):
            dense[i, j] = largest * (1 - 0.1 * step)
            dense[j, i] = largest * (1j if np.dtype(dtype).kind == "c" else 1) * 0.9
        if np.dtype(dtype).kind == "c":
            dense[0, 1] = complex(largest, largest)
        A = sp.csr_array(dense)
        f = lf.graph.factor(backend.csr(A), 1, iterations=None)
        wanted = oracles.parallel_factor(A, 1, iterations=None)
        assert oracles.as_sets(backend.host(f.neighbors)) == wanted.neighbors
        assert np.all(np.isfinite(backend.host(f.weights)))
        assert 0.0 < f.coverage <= 1.0

    def test_coverage_is_summed_by_the_stated_tree(self, backend):
        A = graphs.random_graph(3000, "unique", 8, mean_degree=5)
        rng = np.random.default_rng(0)
        scales = rng.random(A.shape[0])
        A.data *= scales[np.repeat(np.arange(A.shape[0]), np.diff(A.indptr))] * scales[A.indices]
        f = lf.graph.factor(backend.csr(A), 2)
        rows = np.repeat(np.arange(A.shape[0]), np.diff(A.indptr))
        total = oracles.tree_sum(np.where(rows == A.indices, 0.0, np.abs(A.data)))
        assert f.total_weight == total
        assert f.coverage == oracles.tree_sum(backend.host(f.weights).ravel()) / total


class TestIdentityCoverage:
    @given(A=graphs.matrices())
    def test_hypothesis_graphs(self, backend, A):
        wanted = oracles.identity_coverage(A)
        assert lf.graph.identity_coverage(backend.csr(A)) == pytest.approx(
            wanted, rel=RELATIVE[real_dtype(A)], abs=1e-300
        )

    @pytest.mark.parametrize(("kind", "wanted"), [(1, 2 / 3), (2, 0.4 / 3), (3, 2 / 3)])
    def test_aniso(self, backend, kind, wanted):
        A = lf.matrices.aniso(kind, 300, device=backend.name)
        assert lf.graph.identity_coverage(A) == pytest.approx(wanted, abs=0.002)

    def test_real_matrices(self, backend, real_name):
        A = load_real(real_name)
        coo = A.tocoo()
        weights = np.abs(coo.data)
        wanted = weights[np.abs(coo.row - coo.col) == 1].sum() / weights[coo.row != coo.col].sum()
        assert lf.graph.identity_coverage(backend.csr(A)) == pytest.approx(wanted, rel=1e-10)


def test_print_explains(backend):
    A = lf.matrices.aniso(1, 20, device=backend.name)
    f = lf.graph.factor(A, 2)
    text = str(f)
    assert "[0,2]-factor" in text and "400" in text and f"{f.coverage:.4f}" in text
    assert f"{int(f.degrees.sum()) // 2:,}" in text and str(f.iterations) in text
    assert "not proven maximal" in text
    assert "not proven" not in str(lf.graph.factor(A, 2, iterations=None))


@pytest.mark.parametrize(
    ("options", "error", "name"),
    [
        ({"n": 0}, ValueError, "n must"),
        ({"n": 5}, ValueError, "n must"),
        ({"n": -1}, ValueError, "n must"),
        ({"n": 2.0}, TypeError, "n must"),
        ({"n": "2"}, TypeError, "n must"),
        ({"n": None}, TypeError, "n must"),
        ({"iterations": 0}, ValueError, "iterations"),
        ({"iterations": -3}, ValueError, "iterations"),
        ({"iterations": 2.5}, TypeError, "iterations"),
        ({"iterations": "all"}, ValueError, "iterations"),
        ({"m": 0}, ValueError, "m must"),
        ({"m": -1}, ValueError, "m must"),
        ({"m": 2**31}, ValueError, "m must"),
        ({"m": 2.0}, TypeError, "m must"),
        ({"k_m": 5}, ValueError, "k_m"),
        ({"k_m": -1}, ValueError, "k_m"),
        ({"m": 1, "k_m": 1}, ValueError, "k_m"),
        ({"k_m": 0.0}, TypeError, "k_m"),
        ({"p": -0.01}, ValueError, "p must"),
        ({"p": 1.01}, ValueError, "p must"),
        ({"p": float("nan")}, ValueError, "p must"),
        ({"p": float("inf")}, ValueError, "p must"),
        ({"p": "half"}, TypeError, "p must"),
        ({"p": None}, TypeError, "p must"),
        ({"seed": 0.5}, TypeError, "seed"),
        ({"seed": None}, TypeError, "seed"),
        ({"charge": "sha1"}, ValueError, 'charge must be "splitmix64" or "md5", got \'sha1\''),
        ({"charge": None}, ValueError, "charge must"),
        ({"ties": "both"}, ValueError, 'ties must be "auto", "index" or "random", got \'both\''),
    ],
)
def test_bad_options_are_named(backend, options, error, name):
    A = backend.csr(lf.matrices.poisson(5))
    with pytest.raises(error, match=name):
        lf.graph.factor(A, **options)
    if "n" in options:
        with pytest.raises(error, match=name):
            lf.graph.greedy_factor(A, **options)
    else:
        with pytest.raises(error, match=name):
            lf.linear_forest(A, **options)
