"""Orderings and bands: copies of A's entries along the forest, with the same bits on both backends."""

import importlib

import numpy as np
import oracles
import pytest
import scipy.sparse as sp
import strategies as graphs
from conftest import CPU, load_real
from hypothesis import given
from hypothesis import strategies as st

import linforest_precond as lf
from linforest_precond.matrix.checked import checked

BANDS = ("lower", "diagonal", "upper")


def module_of(backend, name):
    return importlib.import_module(f"linforest_precond.backends.{backend.name}.{name}")


def assert_same_bits(one, other):
    """Equal types and equal bits, the signs of zeros included."""
    assert one.dtype == other.dtype and one.shape == other.shape
    np.testing.assert_array_equal(one, other)
    assert one.tobytes() == other.tobytes()


def assert_bands(backend, A, t, bands):
    order = backend.host(t.order).tolist()
    neighbors = oracles.as_sets(backend.host(t.neighbors))
    for name, wanted in zip(BANDS, oracles.bands(A, order, neighbors), strict=True):
        band = getattr(bands, name)
        assert isinstance(band, backend.xp.ndarray)
        assert_same_bits(backend.host(band), wanted)


class TestOrdering:
    @given(lengths=st.lists(st.integers(1, 12), max_size=40), seed=st.integers(0, 10**6))
    def test_scan_and_sort_agree(self, backend, lengths, seed):
        self.assert_orders(backend, lengths, seed, np.int32)

    @pytest.mark.parametrize("index_dtype", graphs.quick(graphs.INDEX_DTYPES))
    @pytest.mark.parametrize(
        "lengths",
        [[], [1], [1] * 3000, [5000], [1, 2000, 1, 1, 1025, 3], list(range(1, 120))],
        ids=["none", "one", "lone", "path", "mixed", "all"],
    )
    def test_scan_and_sort_agree_on_more_than_a_block(self, backend, lengths, index_dtype):
        self.assert_orders(backend, lengths, 3, index_dtype)

    @pytest.mark.slow
    def test_scan_and_sort_agree_on_a_million_vertices(self, backend):
        lengths = np.random.default_rng(0).integers(1, 2000, 1000).tolist()
        self.assert_orders(backend, lengths, 3, np.int32)

    @staticmethod
    def assert_orders(backend, lengths, seed, index_dtype):
        size = sum(lengths)
        labels = np.random.default_rng(seed).permutation(size)
        path_id, position = np.empty((2, size), dtype=index_dtype)
        length_at = np.zeros(size, dtype=index_dtype)
        start = 0
        for length in lengths:
            path = labels[start : start + length]
            path = path if path[0] <= path[-1] else path[::-1]
            path_id[path], position[path], length_at[path[0]] = path[0], np.arange(1, length + 1), length
            start += length
        ordering = module_of(backend, "forest.linear_forest")
        arrays = [backend.array(array) for array in (path_id, position, length_at)]
        wanted = np.lexsort((position, path_id))
        rank = np.empty(size, dtype=np.int64)
        rank[wanted] = np.arange(size)
        for method in (ordering.order_by_scan, ordering.order_by_radix_sort):
            order, inverse = method(*arrays)
            np.testing.assert_array_equal(backend.host(order), wanted)
            np.testing.assert_array_equal(backend.host(inverse), rank)
            assert order.dtype == inverse.dtype == index_dtype


class TestBands:
    @given(A=graphs.matrices(), iterations=st.sampled_from([1, None, "auto"]))
    def test_hypothesis_graphs(self, backend, A, iterations):
        t = lf.linear_forest(backend.csr(A), iterations=iterations)
        assert_bands(backend, A, t, lf.extract_bands(backend.csr(A), t))
        forest, bands = lf.pipeline.tridiagonal_bands(backend.csr(A), iterations=iterations)
        np.testing.assert_array_equal(backend.host(forest.order), backend.host(t.order))
        assert_bands(backend, A, forest, bands)

    @given(A=graphs.matrices(max_size=15), B=graphs.matrices(max_size=15))
    def test_another_matrix_along_the_same_forest(self, backend, A, B):
        size = min(A.shape[0], B.shape[0])
        A, B = (graphs.with_types(M[:size, :size]) for M in (A, B))
        t = lf.linear_forest(backend.csr(A))
        assert_bands(backend, B, t, lf.extract_bands(backend.csr(B), t))

    @pytest.mark.parametrize(("dtype", "index_dtype"), graphs.quick(graphs.TYPES))
    @pytest.mark.parametrize("symmetric", [True, False])
    def test_types(self, backend, dtype, index_dtype, symmetric):
        A = graphs.random_graph(3000, "unique", 6, symmetric=symmetric, dtype=dtype, index_dtype=index_dtype)
        t = lf.linear_forest(backend.csr(A))
        assert_bands(backend, A, t, lf.extract_bands(backend.csr(A), t))
        assert_bands(backend, A, *lf.pipeline.tridiagonal_bands(backend.csr(A)))

    def test_dense_by_hand(self, backend):
        """The path 2 - 0 - 1 has the id 1, its smaller end, and the order 1, 0, 2; vertex 3 is isolated."""
        A = np.array([[4.0, -2, -3, 0], [-5, 6, 0.25, 0], [-1, 0.5, 7, 0], [0, 0, 0, 0]])
        t = lf.linear_forest(backend.csr(sp.csr_array(A)))
        np.testing.assert_array_equal(backend.host(t.order), [1, 0, 2, 3])
        bands = lf.extract_bands(backend.csr(sp.csr_array(A)), t)
        np.testing.assert_array_equal(backend.host(bands.lower), [0, -2, -1, 0])
        np.testing.assert_array_equal(backend.host(bands.diagonal), [6, 4, 7, 0])
        np.testing.assert_array_equal(backend.host(bands.upper), [-5, -3, 0, 0])

    def test_they_are_the_permuted_matrix_on_the_forest(self, backend):
        A = graphs.random_graph(400, "unique", 1, symmetric=False)
        t = lf.linear_forest(backend.csr(A), iterations=None)
        bands = lf.extract_bands(backend.csr(A), t)
        order, rank = backend.host(t.order), backend.host(t.rank)
        held = np.zeros(A.shape, dtype=bool)
        for v, around in enumerate(oracles.as_sets(backend.host(t.neighbors))):
            held[rank[v], [rank[w] for w in around]] = True
        wanted = A.toarray()[np.ix_(order, order)] * (held | np.eye(400, dtype=bool))
        lower, diagonal, upper = (backend.host(getattr(bands, name)) for name in BANDS)
        found = np.diag(diagonal) + np.diag(upper[:-1], 1) + np.diag(lower[1:], -1)
        np.testing.assert_array_equal(found, wanted)
        assert lower[0] == 0 and upper[-1] == 0

    def test_unsorted_entries_and_duplicates(self, backend):
        A = sp.csr_array(
            (
                np.array([1.0, 2.0, 4.0, -1.0, 0.5, 0.5, 3.0]),
                np.array([1, 0, 1, 2, 0, 1, 1], dtype=np.int32),
                np.array([0, 3, 6, 7], dtype=np.int32),
            ),
            shape=(3, 3),
        )
        before = A.data.copy(), A.indices.copy()
        B = backend.csr(A)
        t = lf.linear_forest(B)
        bands = lf.extract_bands(B, t)
        np.testing.assert_array_equal(backend.host(t.order), [0, 1, 2])
        np.testing.assert_array_equal(backend.host(bands.lower), [0, 0.5, 3])
        np.testing.assert_array_equal(backend.host(bands.diagonal), [2, 0.5, 0])
        np.testing.assert_array_equal(backend.host(bands.upper), [5, -1, 0])
        np.testing.assert_array_equal(backend.host(B.data), before[0])
        np.testing.assert_array_equal(backend.host(B.indices), before[1])

    def test_real_matrices(self, backend, real_name):
        A = load_real(real_name)
        t, bands = lf.pipeline.tridiagonal_bands(backend.csr(A))
        taken = checked(A)  # exactly symmetric where A is symmetric to rounding
        A = sp.csr_array((taken.data, taken.indices, taken.indptr), shape=A.shape)
        order, rows = backend.host(t.order), backend.host(t.neighbors)
        assert_same_bits(backend.host(bands.diagonal), A.diagonal()[order])
        before, after = order[:-1], order[1:]
        joined = np.any(rows[before] == after[:, None], axis=1)
        upper = np.where(joined, sp.coo_array(A[before, after]).toarray().ravel(), 0)
        lower = np.where(joined, sp.coo_array(A[after, before]).toarray().ravel(), 0)
        np.testing.assert_array_equal(backend.host(bands.upper), np.append(upper, 0))
        np.testing.assert_array_equal(backend.host(bands.lower), np.append(0, lower))
        again = lf.extract_bands(backend.csr(A), t)
        for name in BANDS:
            assert_same_bits(backend.host(getattr(again, name)), backend.host(getattr(bands, name)))

    @pytest.mark.parametrize(
        ("of_matrix", "of_forest"), graphs.quick([(np.int64, np.int32), (np.int32, np.int64)])
    )
    def test_a_forest_with_the_other_index_type(self, backend, of_matrix, of_forest):
        A, B = (lf.matrices.aniso(2, 30, index_dtype=index) for index in (of_matrix, of_forest))
        t = lf.linear_forest(backend.csr(B))
        assert t.neighbors.dtype == of_forest
        bands, wanted = lf.extract_bands(backend.csr(A), t), lf.extract_bands(backend.csr(B), t)
        for name in BANDS:
            assert_same_bits(backend.host(getattr(bands, name)), backend.host(getattr(wanted, name)))

    @pytest.mark.parametrize("diagonal", [[], [0.0], [3.0, 0.0, 5.0]])
    def test_no_edges(self, backend, diagonal):
        A = sp.csr_array(np.diag(diagonal).reshape(len(diagonal), len(diagonal)))
        bands = lf.extract_bands(backend.csr(A), lf.linear_forest(backend.csr(A)))
        np.testing.assert_array_equal(backend.host(bands.diagonal), A.diagonal())
        assert not backend.host(bands.lower).any() and not backend.host(bands.upper).any()

    @pytest.mark.parametrize(("dtype", "index_dtype"), graphs.quick(graphs.TYPES[:2]))
    def test_print_explains(self, backend, dtype, index_dtype):
        A = lf.matrices.poisson(1234, dtype=dtype, index_dtype=index_dtype, device=backend.name)
        text = str(lf.extract_bands(A, lf.linear_forest(A)))
        assert "1,234" in text and np.dtype(dtype).name in text

    def test_bad_arguments_are_named(self, backend):
        A = backend.csr(lf.matrices.poisson((4, 4)))
        t = lf.linear_forest(A)
        with pytest.raises(ValueError, match="forest"):
            lf.extract_bands(backend.csr(lf.matrices.poisson((4, 5))), t)
        with pytest.raises(TypeError, match="forest"):
            lf.extract_bands(A, t.neighbors)

    @pytest.mark.gpu
    def test_mixed_devices_are_refused(self, cuda):
        A = lf.matrices.poisson((4, 4))
        with pytest.raises(TypeError, match="device"):
            lf.extract_bands(A, lf.linear_forest(cuda.csr(A)))
        with pytest.raises(TypeError, match="device"):
            lf.extract_bands(cuda.csr(A), lf.linear_forest(A))


FACTOR_PARTS = ("neighbors", "values", "slots", "iterations", "maximal", "coverage", "total_weight")
FOREST_PARTS = (
    *("neighbors", "values", "slots", "path_id", "position", "order", "rank"),
    *("n_paths", "longest_path", "n_cycles_broken", "iterations", "maximal", "coverage"),
)


def chain(backend, A, **options):
    """Every array and number from the factor to the bands, on the host."""
    B = backend.csr(A)
    found = {"identity": lf.graph.identity_coverage(B)}
    for n in (1, 2, 3, 4):
        f = lf.graph.factor(B, n, **options)
        found |= {f"{n} {name}": getattr(f, name) for name in FACTOR_PARTS}
    t, bands = lf.pipeline.tridiagonal_bands(B, **options)
    found |= {f"forest {name}": getattr(t, name) for name in FOREST_PARTS}
    found |= {f"band {name}": getattr(bands, name) for name in BANDS}
    for key, value in found.items():
        if key.endswith(("neighbors", "path_id", "position", "order", "rank")):
            assert value.dtype == A.indices.dtype, key
    return {key: backend.host(value) if hasattr(value, "dtype") else value for key, value in found.items()}


def assert_backends_agree(cuda, A, **options):
    one, other = chain(CPU, A, **options), chain(cuda, A, **options)
    for key, value in one.items():
        if isinstance(value, np.ndarray):
            assert value.dtype == other[key].dtype, key
            np.testing.assert_array_equal(value, other[key], err_msg=key)
        else:
            assert value == other[key], key


SMALL_GRAPHS = {
    "paper": graphs.paper_graph,
    "path": lambda: graphs.path_graph(1000),
    "shuffled path": lambda: graphs.shuffled(graphs.path_graph(1000)),
    "cycle 64": lambda: graphs.cycle_graph(64),
    "cycle 1025": lambda: graphs.cycle_graph(1025),
    "cycles": lambda: graphs.union_of_cycles([*range(3, 70), 128, 1000], "ties"),
    "star": lambda: graphs.star_graph(3000),
    "cliques": lambda: graphs.two_cliques_joined(90),
    "small graphs": lambda: graphs.packed_small_graphs(3000),
    "skewed": lambda: graphs.rmat_graph(12),
    "tied": lambda: graphs.random_graph(20_000, "ties"),
    "unit": lambda: graphs.random_graph(20_000, "unit"),
    "unique": lambda: graphs.random_graph(20_000, "unique"),
    "nonsymmetric": lambda: graphs.random_graph(20_000, "ties", symmetric=False),
    "dense": lambda: sp.csr_array(np.random.default_rng(0).random((200, 200))),
    "no edges": lambda: sp.csr_array(np.eye(100)),
    "empty": lambda: sp.csr_array((0, 0)),
    "one": lambda: sp.csr_array((1, 1)),
    "aniso1": lambda: lf.matrices.aniso(1, 100),
    "aniso2": lambda: lf.matrices.aniso(2, 100),
    "aniso3": lambda: lf.matrices.aniso(3, 100),
    "uniform 2-D": lambda: lf.matrices.poisson((100, 100)),
    "uniform 3-D": lambda: lf.matrices.poisson((25, 25, 25)),
}

LARGE_GRAPHS = {
    "tied": lambda: graphs.random_graph(10**6, "ties"),
    "unique": lambda: graphs.random_graph(10**6, "unique"),
    "nonsymmetric": lambda: graphs.random_graph(10**6, "ties", symmetric=False),
    "skewed": lambda: graphs.rmat_graph(18),
    "cycles": lambda: graphs.union_of_cycles(np.random.default_rng(0).integers(3, 3000, 660), "ties"),
    "shuffled path": lambda: graphs.shuffled(graphs.path_graph(10**6)),
    "aniso2": lambda: lf.matrices.aniso(2, 1000),
    "uniform 2-D": lambda: lf.matrices.poisson((1000, 1000)),
    "uniform 3-D": lambda: lf.matrices.poisson((100, 100, 100)),
}


@pytest.mark.gpu
class TestBackendsAgree:
    @pytest.mark.parametrize("name", SMALL_GRAPHS)
    @pytest.mark.parametrize("iterations", [1, 5, "auto", None])
    def test_small_graphs(self, cuda, name, iterations):
        assert_backends_agree(cuda, SMALL_GRAPHS[name](), iterations=iterations)

    @pytest.mark.parametrize(("m", "k_m"), [(1, 0), (2, 1), (5, 1)])
    @pytest.mark.parametrize("p", [0.1, 0.7])
    def test_charging(self, cuda, m, k_m, p):
        assert_backends_agree(cuda, graphs.random_graph(20_000, "ties"), m=m, k_m=k_m, p=p, seed=-5)

    @pytest.mark.parametrize(("dtype", "index_dtype"), graphs.TYPES)
    @pytest.mark.parametrize("symmetric", [True, False])
    def test_types(self, cuda, dtype, index_dtype, symmetric):
        A = graphs.random_graph(20_000, "ties", 7, symmetric=symmetric, dtype=dtype, index_dtype=index_dtype)
        assert_backends_agree(cuda, A)

    @pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
    def test_complex_magnitudes(self, cuda, dtype):
        """Random digits and exponents over the whole range: the written-out formula gives the same bits."""
        A = graphs.random_graph(20_000, "unique", 3, symmetric=False, dtype=dtype)
        rng = np.random.default_rng(0)
        reach = 120 if dtype == np.complex64 else 1000
        powers = np.ldexp(1.0, rng.integers(-reach, reach, A.nnz))
        A.data = ((rng.standard_normal(A.nnz) + 1j * rng.standard_normal(A.nnz)) * powers).astype(dtype)
        assert_backends_agree(cuda, A)

    @given(A=graphs.matrices(), iterations=st.sampled_from([1, 5, None, "auto"]), seed=st.integers(0, 2**64))
    def test_hypothesis_graphs(self, cuda, A, iterations, seed):
        assert_backends_agree(cuda, A, iterations=iterations, seed=seed)

    def test_real_matrices(self, cuda, real_name):
        assert_backends_agree(cuda, load_real(real_name))

    @pytest.mark.slow
    @pytest.mark.parametrize("name", LARGE_GRAPHS)
    def test_large_graphs(self, cuda, name):
        assert_backends_agree(cuda, LARGE_GRAPHS[name](), iterations="auto")

    @pytest.mark.slow
    @pytest.mark.parametrize(("dtype", "index_dtype"), graphs.TYPES)
    def test_large_types(self, cuda, dtype, index_dtype):
        A = graphs.random_graph(10**6, "ties", 7, symmetric=False, dtype=dtype, index_dtype=index_dtype)
        assert_backends_agree(cuda, A)
