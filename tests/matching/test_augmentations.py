"""Augmented matchings, against plain Python, the optimum, and their upper bounds."""

import numpy as np
import pytest
import scipy.sparse as sp
import strategies as graphs
from augmentation_oracles import augmented, has_augmentation
from conftest import load_real
from hypothesis import given
from hypothesis import strategies as st
from matching_oracles import assert_is_matching, assert_is_maximal_matching, edges_of, largest_weight
from scipy.optimize import linear_sum_assignment

import linforest_precond as lf


def with_random_weights(A, seed=0):
    lo, hi = sp.triu(A, 1).nonzero()
    return graphs.from_edges(A.shape[0], lo, hi, np.random.default_rng(seed).random(lo.size))


def geometric_graph(size, seed=0):
    points = np.random.default_rng(seed).random((size, 2))
    near = np.linalg.norm(points[:, None] - points, axis=2) < np.sqrt(8 / np.pi / size)
    return with_random_weights(sp.csr_array(near.astype(float)), seed)


GRAPHS = {
    "geometric": geometric_graph(400),
    "grid": with_random_weights(graphs.grid_graph(20, 20)),
    "R-MAT": with_random_weights(graphs.rmat_graph(9)),
    # The optimum takes NetworkX cubic time.
    "large geometric": geometric_graph(800),
    "large grid": with_random_weights(graphs.grid_graph(28, 28)),
}


def assert_augmented(backend, A, seed=0, max_rounds=None):
    edges = edges_of(A)
    r = lf.graph.matching(backend.csr(A), "augmented", seed=seed, max_rounds=max_rounds)
    mate, rounds, maximal = augmented(edges, A.shape[0], seed, max_rounds)
    assert backend.host(r.mate).tolist() == mate
    assert (r.iterations, r.maximal) == (rounds, maximal)
    assert_is_matching(edges, mate)
    assert_covers(edges, backend.host(r.duals) / r.scale)
    assert 0 <= r.weight <= r.upper_bound and 0 <= r.gap <= 1
    if maximal:
        assert_is_maximal_matching(edges, mate)
        assert not has_augmentation(edges, mate, seed)
    return r


def assert_covers(edges, duals):
    assert (duals >= 0).all()
    for (lo, hi), weight in edges.items():
        assert (duals[lo] + duals[hi]) * (1 + 2.0**-40) + 2.0**-1070 >= float(weight)


class TestAugmented:
    @given(A=graphs.matrices(), seed=st.integers(0, 99), max_rounds=st.sampled_from([None, 1, 2]))
    def test_hypothesis_graphs(self, backend, A, seed, max_rounds):
        r = assert_augmented(backend, A, seed, max_rounds)
        best = largest_weight(edges_of(A))
        assert best <= r.upper_bound * (1 + 1e-12)
        if max_rounds is None:
            assert r.weight >= 2 / 3 * best * (1 - 1e-12)

    @pytest.mark.parametrize("name", graphs.quick(GRAPHS, 3))
    def test_gap_is_at_most_half_of_the_locally_dominant_one(self, backend, name):
        A = GRAPHS[name]
        best = largest_weight(edges_of(A))
        dominant, r = lf.graph.matching(backend.csr(A)), assert_augmented(backend, A)
        assert best - r.weight <= 0.5 * (best - dominant.weight)
        assert best <= r.upper_bound <= 1.15 * best

    def test_bipartite_graphs(self, backend):
        rng = np.random.default_rng(0)
        weights = rng.random((60, 70)) * (rng.random((60, 70)) < 0.2)
        rows, columns = linear_sum_assignment(weights, maximize=True)
        best = weights[rows, columns].sum()
        A = sp.csr_array(sp.block_array([[None, weights], [weights.T, None]]))
        r = assert_augmented(backend, A)
        assert 0.9 * best <= r.weight <= best * (1 + 1e-12) <= r.upper_bound * (1 + 1e-12)

    @pytest.mark.parametrize(("dtype", "index_dtype"), graphs.quick(graphs.TYPES))
    @pytest.mark.parametrize("symmetric", [True, False])
    def test_types(self, backend, dtype, index_dtype, symmetric):
        A = graphs.random_graph(400, "ties", 5, symmetric=symmetric, dtype=dtype, index_dtype=index_dtype)
        r = assert_augmented(backend, A)
        assert r.mate.dtype == index_dtype and r.duals.dtype == np.float64

    @pytest.mark.parametrize("kind", ["unit", "ties", "unique"])
    def test_more_than_a_block(self, backend, kind):
        assert_augmented(backend, graphs.random_graph(3000, kind, 1))

    @pytest.mark.parametrize("kind", ["ties", "unique"])
    def test_long_rows(self, backend, kind):
        assert_augmented(backend, graphs.rmat_graph(10, kind=kind))
        weights = graphs.weights_of(kind, 3000, np.random.default_rng(0))
        assert_augmented(backend, graphs.shuffled(graphs.star_graph(3000, weights), 1))

    def test_dense_rows(self, backend):
        dense = np.random.default_rng(0).choice([1.0, 2.0, 3.0], (70, 70))
        assert_augmented(backend, sp.csr_array(dense + dense.T))

    @pytest.mark.parametrize(
        ("weights", "mate"),
        [
            ([2, 3, 2], [1, 0, 3, 2]),  # both arms of the middle edge
            ([2, 3, 2, 0.5, 2, 3, 2], [1, 0, 3, 2, 5, 4, 7, 6]),
            ([1, 3, 1], [-1, 2, 1, -1]),
        ],
    )
    def test_paths(self, backend, weights, mate):
        r = assert_augmented(backend, graphs.path_graph(len(weights) + 1, np.array(weights, float)))
        assert backend.host(r.mate).tolist() == mate

    def test_a_cycle(self, backend):
        A = graphs.from_edges(4, [0, 1, 2, 0], [1, 2, 3, 3], [5.0, 4.9, 3.0, 4.0])
        r = assert_augmented(backend, A)
        assert backend.host(r.mate).tolist() == [3, 2, 1, 0] and r.iterations == 1
        assert r.upper_bound == pytest.approx(8.9, rel=0.05)

    @pytest.mark.parametrize("dtype", graphs.quick([np.float64, np.float32]))
    def test_subnormal_weights_and_the_end_of_the_range(self, backend, dtype):
        limits = np.finfo(dtype)
        for unit in (limits.smallest_subnormal, limits.max / dtype(4)):
            A = graphs.path_graph(4, np.array([2, 3, 2]) * float(unit))
            A = graphs.with_types(sp.csr_array(sp.triu(A, 1) + sp.tril(A, -1)), dtype=dtype)
            r = lf.graph.matching(backend.csr(A), "augmented")
            assert backend.host(r.mate).tolist() == [1, 0, 3, 2]
            assert r.weight <= r.upper_bound

    def test_the_bound_of_a_subnormal_edge(self, backend):
        least = np.finfo(float).smallest_subnormal
        r = lf.graph.matching(backend.csr(graphs.from_edges(2, [0], [1], [least])), "augmented")
        assert r.weight == least <= r.upper_bound

    @pytest.mark.parametrize("size", [0, 1, 5])
    def test_without_edges(self, backend, size):
        r = lf.graph.matching(backend.csr(sp.csr_array((size, size))), "augmented")
        assert backend.host(r.mate).tolist() == [-1] * size
        assert (r.iterations, r.maximal, r.upper_bound, r.gap) == (0, True, 0.0, 0.0)

    def test_real_matrices(self, backend, small_real_name):
        assert_augmented(backend, load_real(small_real_name))

    def test_print(self, backend):
        r = lf.graph.matching(backend.csr(GRAPHS["grid"]), "augmented")
        assert f"gap         at most {r.gap:.4f} of the optimum is missing" in str(r)
        dominant = lf.graph.matching(backend.csr(GRAPHS["grid"]))
        assert dominant.gap is dominant.upper_bound is None and "gap" not in str(dominant)


@pytest.mark.gpu
@pytest.mark.parametrize("name", GRAPHS)
def test_the_same_bits_on_the_gpu(cuda, name):
    for A in (GRAPHS[name], graphs.with_types(GRAPHS[name], np.float32)):
        wanted, found = lf.graph.matching(A, "augmented"), lf.graph.matching(cuda.csr(A), "augmented")
        np.testing.assert_array_equal(cuda.host(found.mate), wanted.mate)
        assert cuda.host(found.duals).tobytes() == wanted.duals.tobytes()
        assert (found.weight, found.upper_bound) == (wanted.weight, wanted.upper_bound)


@pytest.mark.gpu
@pytest.mark.slow
def test_more_vertices_than_the_gpu_holds_threads(cuda):
    A = graphs.rmat_graph(19, kind="ties")
    wanted, found = lf.graph.matching(A, "augmented"), lf.graph.matching(cuda.csr(A), "augmented")
    np.testing.assert_array_equal(cuda.host(found.mate), wanted.mate)
    assert found.iterations == wanted.iterations
