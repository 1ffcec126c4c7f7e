"""PageRank against a reference implementation and networkx; the same bits on every device."""

import graph_cases as cases
import numpy as np
import pytest
import scipy.sparse as sp
import strategies as graphs
import vertex_oracles as oracles
from conftest import CPU, load_real
from hypothesis import given
from hypothesis import strategies as st

import linforest_precond as lf

rank = lf.graph.pagerank
DTYPES = (np.float64, np.float32)


def positive(A):
    A = A.copy()
    A.data = np.abs(A.data)
    return A


def directed(A):
    return sp.csr_array(sp.triu(A))


# Rows of more entries than a piece, than 32 pieces; more vertices than a chunk of a sum.
GRAPHS = {
    "random": lambda: positive(graphs.random_graph(3000)),
    "directed": lambda: positive(graphs.random_graph(3000, symmetric=False)),
    "rmat": lambda: graphs.rmat_graph(10),
    "half of rmat": lambda: directed(graphs.rmat_graph(10)),
    "star": lambda: graphs.star_graph(5000),
    "into the star": lambda: directed(graphs.star_graph(5000)),
    "out of the star": lambda: sp.csr_array(directed(graphs.star_graph(5000)).T),
    "cliques": lambda: graphs.two_cliques_joined(80),
    "isolated": lambda: sp.csr_array((500, 500)),
}
LARGE = cases.LARGE | {
    "half of rmat": lambda: directed(graphs.large_rmat()),
    "many chunks": lambda: directed(graphs.path_graph(5 * 10**6)),
}


def on(backend, options):
    return {
        name: backend.array(value) if isinstance(value, np.ndarray) else value
        for name, value in options.items()
    }


def assert_same_bits(backend, A, **options):
    """On the GPU as on the CPU; the ranks are a distribution."""
    ranks = rank(backend.csr(A), **on(backend, options))
    assert isinstance(ranks, backend.xp.ndarray) and ranks.dtype == np.float64
    ranks = backend.host(ranks)
    assert abs(ranks.sum() - 1.0) < 1e-12 and (ranks >= 0).all()
    if backend is not CPU:
        np.testing.assert_array_equal(ranks, rank(A, **options))
    return ranks


class TestRanks:
    @given(A=graphs.matrices(dtypes=DTYPES), alpha=st.floats(0.0, 0.95), data=st.data())
    def test_against_the_textbook(self, backend, A, alpha, data):
        A, size = positive(A), A.shape[0]
        A.data[A.data < 1e-300] = 0
        if not size:
            return
        options = {"alpha": alpha, "tol": 1e-7, "max_iter": 500}
        weights = st.lists(st.floats(0.0, 9.0), min_size=size, max_size=size).filter(lambda x: sum(x) > 1e-3)
        for name in data.draw(st.sets(st.sampled_from(("personalization", "nstart", "dangling")))):
            options[name] = np.array(data.draw(weights))
        ranks = assert_same_bits(backend, A, **options)
        assert np.abs(ranks - oracles.pagerank(A.astype(float), **options)).max() < 1e-12

    @pytest.mark.parametrize(
        ("dtype", "index_dtype"), graphs.quick([(np.float64, np.int32), (np.float32, np.int64)])
    )
    @pytest.mark.parametrize("name", GRAPHS)
    def test_larger_graphs(self, backend, name, dtype, index_dtype):
        A = GRAPHS[name]()
        weights = np.random.default_rng(1).random(A.shape[0])
        for options in (
            {},
            {"tol": 1e-14, "max_iter": 1000},
            {"tol": 1e-10, "personalization": weights, "dangling": weights**2, "nstart": weights**3},
        ):
            expected = oracles.pagerank(A, **options)
            ranks = assert_same_bits(backend, graphs.with_types(A, dtype, index_dtype), **options)
            # Weights are rounded to single precision.
            exact = dtype == np.float64 or A.data.astype(dtype).astype(A.dtype).tolist() == A.data.tolist()
            assert np.abs(ranks - expected).max() < (1e-12 if exact else 1e-6)

    @pytest.mark.parametrize("name", GRAPHS)
    def test_against_networkx(self, backend, name):
        networkx = pytest.importorskip("networkx")
        A = GRAPHS[name]()
        graph = networkx.from_scipy_sparse_array(A, create_using=networkx.DiGraph)
        weights = np.random.default_rng(2).random(A.shape[0])
        named = dict(enumerate(weights.tolist()))
        for vectors, dicts in (({}, {}), ({"personalization": weights}, {"personalization": named})):
            expected = networkx.pagerank(graph, tol=1e-10, **dicts)
            ranks = rank(backend.csr(A), tol=1e-10, **on(backend, vectors))
            assert np.abs(backend.host(ranks) - list(expected.values())).max() < 1e-12

    def test_weights_of_one_are_as_good_as_others(self, backend):
        A = graphs.rmat_graph(9, kind="unit")
        ranks = [rank(backend.csr(factor * A), tol=1e-12) for factor in (1.0, 4.0)]
        assert bool((ranks[0] == ranks[1]).all())

    def test_integers_and_bool(self, backend):
        A = graphs.rmat_graph(8, kind="unit")
        A.data[:] = 1
        expected = rank(backend.csr(A))
        for kind in (np.int64, bool):
            dense = backend.array(A.toarray().astype(kind))
            assert bool((rank(dense) == expected).all())

    @pytest.mark.slow
    @pytest.mark.parametrize("name", LARGE)
    def test_large_graphs(self, backend, name):
        assert_same_bits(backend, LARGE[name](), tol=1e-12, max_iter=500)

    @pytest.mark.slow
    @pytest.mark.parametrize("density", [0.1, 0.45, 0.65])
    @pytest.mark.parametrize("size", [1000, 8000])
    def test_densities(self, backend, size, density):
        assert_same_bits(backend, graphs.directed_graph(size, density), tol=1e-12)

    def test_real_matrices(self, backend, medium_real_name):
        A = load_real(medium_real_name)
        if A.dtype.kind != "c":
            assert_same_bits(backend, positive(A), tol=1e-10)

    @pytest.mark.parametrize("size", [500, graphs.slow(200_000)])
    def test_many_runs(self, backend, size):
        A = backend.csr(positive(graphs.random_graph(size, mean_degree=8, symmetric=False)))
        first = rank(A)
        for _ in range(50):
            assert bool((rank(A) == first).all())

    def test_any_matrix(self, backend):
        A = positive(graphs.random_graph(300, symmetric=False))
        expected = rank(A)
        for B in (backend.csr(graphs.in_disorder(A)), backend.array(A.toarray())):
            np.testing.assert_array_equal(backend.host(rank(B)), expected)
        zeros = graphs.in_disorder(A)
        zeros.data[::2] *= 2
        zeros.data[1::2] = 0
        np.testing.assert_array_equal(backend.host(rank(backend.csr(zeros))), expected)

    def test_no_vertices_and_one(self, backend):
        assert rank(backend.csr(sp.csr_array((0, 0)))).shape == (0,)
        for A in (sp.csr_array((1, 1)), sp.csr_array(np.ones((1, 1)))):
            assert rank(backend.csr(A)).tolist() == [1.0]


class TestWrongArguments:
    @pytest.mark.parametrize(
        "options, message",
        [
            ({"alpha": 1.5}, r"alpha must lie in \[0, 1\], got 1.5"),
            ({"alpha": np.nan}, "alpha must lie in"),
            ({"tol": -1.0}, r"tol must lie in \[0, inf\], got -1"),
            ({"max_iter": 0}, "max_iter must be at least 1, got 0"),
            ({"personalization": np.zeros(4)}, "personalization must hold finite weights"),
            ({"nstart": np.array([1.0, -1.0, 2.0, 0.0])}, "nstart must hold finite weights"),
            ({"dangling": np.array([1.0, np.inf, 2.0, 0.0])}, "dangling must hold finite weights"),
            ({"dangling": np.array([1.0, np.nan, 2.0, 0.0])}, "dangling must hold finite weights"),
            ({"nstart": np.ones(3)}, r"nstart must have shape \(4,\), one number a vertex, got \(3,\)"),
        ],
    )
    def test_values(self, backend, options, message):
        with pytest.raises(ValueError, match=message):
            rank(backend.csr(graphs.path_graph(4)), **on(backend, options))

    @pytest.mark.parametrize(
        "options, message",
        [
            ({"alpha": "much"}, "alpha must be a number, got 'much'"),
            ({"max_iter": 2.5}, "max_iter must be an integer"),
            ({"nstart": np.ones(4, complex)}, "nstart must hold real numbers, got complex128"),
        ],
    )
    def test_types(self, backend, options, message):
        with pytest.raises(TypeError, match=message):
            rank(backend.csr(graphs.path_graph(4)), **on(backend, options))

    def test_weights(self, backend):
        A = graphs.path_graph(4)
        with pytest.raises(ValueError, match=r"A must have no negative weights, got -2.0; pass abs\(A\)"):
            rank(backend.csr(-A))
        with pytest.raises(TypeError, match="A must have real weights"):
            rank(backend.csr(A.astype(complex)))

    def test_sums_that_have_no_inverse(self, backend):
        A = 1e-310 * directed(graphs.path_graph(4))
        with pytest.raises(ValueError, match="A must have rows whose sums can be inverted"):
            rank(backend.csr(A))

    def test_no_convergence(self, backend):
        A = backend.csr(directed(graphs.path_graph(50)))
        with pytest.raises(RuntimeError, match="in iteration 3, .* raise max_iter or tol"):
            rank(A, max_iter=3, tol=1e-12)

    @pytest.mark.gpu
    def test_other_device(self, cuda):
        with pytest.raises(TypeError, match="nstart must be on A's device"):
            rank(cuda.csr(graphs.path_graph(4)), nstart=np.ones(4))
