"""Spanning forests against Kruskal's algorithm and SciPy's weights; the same on every backend."""

import numpy as np
import pytest
import scipy.sparse as sp
import strategies as graphs
import traversal_oracles
from conftest import load_real
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csgraph

import linforest_precond as lf
from linforest_precond.matrix.doors import as_csgraph

DTYPES = (np.float64, np.float32)
SIZES = [1000, *(pytest.param(size, marks=pytest.mark.slow) for size in (2000, 4000, 8000))]
GRAPHS = {
    "tiny": graphs.packed_small_graphs(2000),
    "unique": graphs.random_graph(5000, kind="unique"),
    "ties": graphs.random_graph(5000, kind="ties"),
    "directed": graphs.random_graph(5000, kind="unit", symmetric=False),
    "grid": graphs.grid_graph(60, 50),
    "path": graphs.shuffled(graphs.path_graph(5000)),
    "cycles": graphs.union_of_cycles([3, 4, 5, 1000, 2048], kind="ties"),
    "star": graphs.star_graph(5000),
    "cliques": graphs.two_cliques_joined(60, bridge=9.0),
    "rmat": graphs.rmat_graph(11),
    "isolated": sp.csr_array((5000, 5000)),
}
METHODS = {"cpu": ("kruskal", "boruvka", "awerbuch_shiloach"), "cuda": ("boruvka", "awerbuch_shiloach")}
FUNCTIONS = {1: lf.graph.minimum_spanning_tree, -1: lf.graph.maximum_spanning_forest}


def entries(backend, forest):
    """(row, column, value) of a forest's entries."""
    indptr, indices, data = (backend.host(part) for part in (forest.indptr, forest.indices, forest.data))
    rows = np.repeat(np.arange(indptr.size - 1), np.diff(indptr))
    return list(zip(rows.tolist(), indices.tolist(), data.tolist(), strict=True))


def assert_weights_of_scipy(backend, A, sign=1, method="auto"):
    """The forest has the weights of SciPy's, which drops edges of weight 0, and is the same on the CPU."""
    forest = FUNCTIONS[sign](backend.csr(A), method=method)
    data = backend.host(forest.data)
    expected = csgraph.minimum_spanning_tree(sign * sp.csr_array(A))
    np.testing.assert_array_equal(np.sort(sign * data[data != 0]), np.sort(expected.data))
    assert lf.graph.is_spanning_forest(backend.csr(A), forest)
    if backend.name == "cuda":
        assert entries(backend, forest) == entries(_CPU, FUNCTIONS[sign](A))


class _CPU:
    host = staticmethod(np.asarray)


class TestForest:
    @pytest.mark.parametrize("sign", FUNCTIONS)
    @given(A=graphs.matrices(dtypes=DTYPES))
    def test_against_the_textbook(self, backend, sign, A):
        forest = FUNCTIONS[sign](backend.csr(A))
        assert entries(backend, forest) == traversal_oracles.kruskal(A, sign)
        assert forest.dtype == A.dtype and forest.indices.dtype == A.indices.dtype
        assert lf.graph.is_spanning_forest(backend.csr(A), forest)

    @pytest.mark.parametrize("sign", FUNCTIONS)
    @pytest.mark.parametrize("graph", GRAPHS)
    def test_against_kruskal(self, backend, graph, sign):
        A = GRAPHS[graph]
        for B in (A, graphs.with_types(A, np.float32, np.int64)):
            assert entries(backend, FUNCTIONS[sign](backend.csr(B))) == traversal_oracles.kruskal(B, sign)

    def test_real_matrices(self, backend, real_name):
        A = load_real(real_name)
        A = A if A.dtype.kind == "f" else graphs.with_types(abs(A))
        for sign in FUNCTIONS:
            assert_weights_of_scipy(backend, A, sign)

    @pytest.mark.parametrize("density", [0.1, 0.45, 0.65])
    @pytest.mark.parametrize("size", SIZES)
    def test_densities(self, backend, size, density):
        """Few distinct weights: ties broken by slots, which differ between directions, would form cycles."""
        rng = np.random.default_rng(size)
        A = sp.random_array((size, size), density=density, rng=rng, format="csr")
        A.data = np.ceil(8 * A.data)
        assert_weights_of_scipy(backend, A)
        assert_weights_of_scipy(backend, sp.csr_array(A.maximum(A.T)))

    @pytest.mark.slow
    def test_skewed_degrees(self, backend):
        assert_weights_of_scipy(backend, lf.matrices.rmat(20, 16))

    @pytest.mark.slow
    @pytest.mark.parametrize("shuffled", [False, True])
    def test_a_long_path(self, backend, shuffled):
        """All weights equal: every vertex selects the edge to its lower neighbour, a long chain of hooks."""
        A = graphs.path_graph(10**6)
        assert_weights_of_scipy(backend, graphs.shuffled(A) if shuffled else A)

    @pytest.mark.slow
    def test_many_components(self, backend):
        assert_weights_of_scipy(backend, graphs.packed_small_graphs(10**5))

    @pytest.mark.parametrize("scale", [9, pytest.param(16, marks=pytest.mark.slow)])
    def test_fifty_runs(self, backend, scale):
        A = backend.csr(graphs.rmat_graph(scale))
        first = lf.graph.minimum_spanning_tree(A)
        for _ in range(50):
            again = lf.graph.minimum_spanning_tree(A)
            for part in ("indptr", "indices", "data"):
                assert bool((getattr(first, part) == getattr(again, part)).all())


def edges_matrix(size, *edges):
    """The upper triangle of the edges (row, column, weight)."""
    rows, columns, weights = np.array(edges).T
    return sp.csr_array(sp.coo_array((weights.astype(float), (rows, columns)), shape=(size, size)))


class TestMethods:
    @given(A=graphs.matrices(dtypes=DTYPES), sign=st.sampled_from([1, -1]))
    def test_against_the_textbook(self, backend, A, sign):
        for method in METHODS[backend.name]:
            forest = FUNCTIONS[sign](backend.csr(A), method=method)
            assert entries(backend, forest) == traversal_oracles.kruskal(A, sign)
            assert forest.dtype == A.dtype and forest.indices.dtype == A.indices.dtype

    @pytest.mark.parametrize("graph", GRAPHS)
    def test_against_kruskal(self, backend, graph):
        A = GRAPHS[graph]
        for method in METHODS[backend.name][1:]:
            forest = lf.graph.minimum_spanning_tree(backend.csr(A), method=method)
            assert entries(backend, forest) == traversal_oracles.kruskal(A)

    @pytest.mark.parametrize(
        "edges",
        [
            [(0, 3, 1), (0, 4, 1), (0, 6, 2), (1, 2, 3), (1, 4, 2), (1, 5, 1), (2, 5, 2), (2, 6, 1),
             (3, 6, 2), (4, 5, 2)],
            [(0, 2, 3), (0, 3, 2), (0, 6, 3), (0, 8, 2), (0, 10, 1), (0, 13, 2), (1, 9, 3), (1, 10, 3),
             (1, 15, 3), (3, 6, 1), (3, 9, 3), (4, 6, 3), (4, 8, 2), (4, 9, 3), (4, 12, 1), (4, 13, 1),
             (5, 8, 1), (5, 9, 1), (5, 13, 1), (5, 15, 3), (6, 7, 3), (6, 9, 3), (7, 8, 3), (7, 11, 1),
             (8, 9, 3), (8, 10, 1), (8, 11, 1), (8, 12, 3), (8, 15, 3), (10, 12, 1), (10, 13, 1),
             (13, 14, 3), (14, 15, 1)],
        ],
    )  # fmt: skip
    def test_graphs_on_which_the_thesis_never_ends(self, backend, edges):
        """Found with a transcription of Cichra's tnlMSF1: ties, and trees that are taken for stars."""
        A = edges_matrix(max(column for _, column, _ in edges) + 1, *edges)
        forest = lf.graph.minimum_spanning_tree(backend.csr(A), method="awerbuch_shiloach")
        assert entries(backend, forest) == traversal_oracles.kruskal(A)

    @pytest.mark.parametrize("density", [0.1, 0.45, 0.65])
    @pytest.mark.parametrize("size", SIZES)
    def test_densities(self, backend, size, density):
        """Few distinct weights."""
        A = sp.random_array((size, size), density=density, rng=np.random.default_rng(size), format="csr")
        A.data = np.ceil(8 * A.data)
        for method in METHODS[backend.name][1:]:
            assert_weights_of_scipy(backend, A, method=method)

    @pytest.mark.slow
    @pytest.mark.parametrize(
        "make",
        [
            lambda: lf.matrices.rmat(18, 16),
            lambda: graphs.shuffled(graphs.path_graph(10**6)),
            lambda: graphs.path_graph(10**6),
            lambda: graphs.packed_small_graphs(10**5),
        ],
        ids=["rmat", "shuffled path", "path", "small"],
    )
    def test_large(self, backend, make):
        A = make()
        for method in METHODS[backend.name][1:]:
            assert_weights_of_scipy(backend, A, method=method)

    def test_fifty_runs(self, backend):
        A = backend.csr(graphs.rmat_graph(9))
        first = entries(backend, lf.graph.minimum_spanning_tree(A, method="awerbuch_shiloach"))
        for _ in range(50):
            assert entries(backend, lf.graph.minimum_spanning_tree(A, method="awerbuch_shiloach")) == first

    def test_bad_method(self, backend):
        A = backend.csr(graphs.path_graph(4))
        with pytest.raises(ValueError, match=f"method on {backend.name} must be \"auto\", .*, got 'x'"):
            lf.graph.minimum_spanning_tree(A, method="x")
        if backend.name == "cuda":
            with pytest.raises(ValueError, match="on cuda must be .* got 'kruskal'"):
                lf.graph.minimum_spanning_tree(A, method="kruskal")


class TestDirections:
    def test_the_smaller_weight_of_a_pair_counts(self, backend):
        A = sp.csr_array(np.array([[0, 3.0, 0], [-5.0, 0, 2.0], [0, 2.0, 0]]))
        for sign, expected in ((1, [(1, 0, -5.0), (1, 2, 2.0)]), (-1, [(0, 1, 3.0), (1, 2, 2.0)])):
            assert entries(backend, FUNCTIONS[sign](backend.csr(A))) == expected

    def test_signs_that_differ(self, backend):
        """The magnitudes are symmetric, the weights are not."""
        upper = np.triu(np.ones((30, 30)), 1)
        A = sp.csr_array(upper - upper.T)
        assert entries(backend, lf.graph.minimum_spanning_tree(backend.csr(A))) == [
            (row, 0, -1.0) for row in range(1, 30)
        ]

    def test_an_explicit_zero_without_its_mirror_image(self, backend):
        A = graphs.make_csr(np.array([1.0, 0.0, 1.0]), np.array([1, 0, 1]), np.array([0, 1, 2, 3]), 3)
        assert entries(backend, lf.graph.minimum_spanning_tree(backend.csr(A))) == [(1, 0, 0.0), (2, 1, 1.0)]

    def test_both_zeros_are_one_weight(self, backend):
        A = graphs.make_csr(np.array([0.0, -0.0, -0.0]), np.array([1, 2, 2]), np.array([0, 2, 3, 3]), 3)
        for function in FUNCTIONS.values():
            assert [place[:2] for place in entries(backend, function(backend.csr(A)))] == [(0, 1), (0, 2)]

    def test_tiny_weights_are_told_apart(self, backend):
        """Subnormal numbers of single precision."""
        tiny = np.float32(1e-44)
        A = graphs.make_csr(
            np.array([2 * tiny, tiny, tiny], np.float32), np.array([1, 2, 2]), np.array([0, 2, 3, 3]), 3
        )
        assert A.dtype == np.float32
        assert [place[:2] for place in entries(backend, lf.graph.minimum_spanning_tree(backend.csr(A)))] == [
            (0, 2),
            (1, 2),
        ]


class TestFace:
    def test_the_matrix_is_left_alone(self, backend):
        A = backend.csr(graphs.random_graph(50))
        before = A.data.copy()
        lf.graph.minimum_spanning_tree(A, overwrite=True)
        assert bool((A.data == before).all())

    def test_kinds_of_matrices(self):
        A = graphs.grid_graph(4, 5)
        assert isinstance(lf.graph.minimum_spanning_tree(A), sp.csr_array)
        assert isinstance(lf.graph.minimum_spanning_tree(sp.coo_array(A)), sp.csr_array)
        assert isinstance(lf.graph.minimum_spanning_tree(sp.csc_matrix(A)), sp.csr_matrix)
        dense = lf.graph.minimum_spanning_tree(A.toarray())
        assert isinstance(dense, sp.csr_array)
        assert (dense != lf.graph.minimum_spanning_tree(A)).nnz == 0

    @pytest.mark.parametrize("size", [0, 1])
    def test_hardly_any_vertex(self, backend, size):
        forest = lf.graph.minimum_spanning_tree(backend.csr(sp.csr_array((size, size))))
        assert forest.shape == (size, size) and forest.nnz == 0

    def test_self_loops_are_no_edges(self, backend):
        forest = lf.graph.minimum_spanning_tree(backend.csr(sp.csr_array(-np.eye(40))))
        assert forest.nnz == 0

    def test_unsorted_and_repeated_entries(self, backend):
        indptr, indices = np.array([0, 3, 3, 3]), np.array([2, 1, 2])
        A = graphs.make_csr(np.array([1.0, 2.0, 4.0]), indices, indptr, 3)
        assert entries(backend, lf.graph.minimum_spanning_tree(backend.csr(A))) == [(0, 1, 2.0), (0, 2, 5.0)]


class TestGate:
    def test_weights_keep_their_signs(self, backend):
        A = graphs.random_graph(30, symmetric=False)
        csr = as_csgraph(backend.csr(A))
        np.testing.assert_array_equal(backend.host(csr.data), A.data)
        assert as_csgraph(csr) is csr

    def test_dense_arrays(self, backend):
        A = backend.array(np.array([[0, -1.0, np.nan], [np.inf, 0, 0], [0, 3.0, -np.inf]]))
        csr = as_csgraph(A)
        assert (csr.indptr.tolist(), csr.indices.tolist()) == ([0, 1, 1, 2], [1, 1])
        assert csr.data.tolist() == [-1.0, 3.0]

    def test_complex_weights(self, backend):
        A = backend.csr(graphs.random_graph(30, dtype=complex))
        with pytest.raises(TypeError, match="A must have real weights, got complex128; pass abs"):
            as_csgraph(A)

    def test_weights_that_are_no_numbers(self, backend):
        A = backend.csr(sp.csr_array(np.array([[0, np.nan], [1.0, 0]])))
        with pytest.raises(ValueError, match="A must be finite"):
            as_csgraph(A)


class TestChecker:
    def test_what_is_no_spanning_forest(self, backend):
        A = graphs.grid_graph(5, 6)
        forest = lf.graph.minimum_spanning_tree(A)
        other = forest.copy()
        other.data = other.data + 1
        elsewhere = sp.csr_array(sp.coo_array(([1.0], ([0], [29])), shape=A.shape))
        without = sp.csr_array(sp.tril(forest, -1) + sp.triu(forest, 2))
        without.eliminate_zeros()
        answers = {
            "itself": (A, False),
            "the forest": (forest, True),
            "other values": (other, False),
            "an edge that is not there": (forest + elsewhere, False),
            "both directions": (forest + forest.T, False),
            "an edge less": (without, False),
            "nothing": (sp.csr_array(A.shape), False),
        }
        for name, (candidate, expected) in answers.items():
            found = lf.graph.is_spanning_forest(backend.csr(A), backend.csr(sp.csr_array(candidate)))
            assert found is expected, name
        nothing = backend.csr(sp.csr_array((3, 3)))
        assert lf.graph.is_spanning_forest(nothing, nothing)

    def test_shapes_that_differ(self, backend):
        A = graphs.grid_graph(5, 6)
        with pytest.raises(ValueError, match="forest must have A's shape"):
            lf.graph.is_spanning_forest(backend.csr(A), backend.csr(sp.csr_array((3, 3))))
