"""The backends' aggregates, Galerkin products, restriction and prolongation."""

import numba
import numpy as np
import pytest
import scipy.sparse as sp
import strategies as graphs
from coarsening_oracles import (
    aggregates_of,
    assert_are_aggregates,
    assert_is_coarse_matrix,
    coarse_entries,
    run_sum,
)
from conftest import load_real
from hypothesis import given
from hypothesis import strategies as st

import linforest_precond as lf
from linforest_precond.backends import backend_of
from linforest_precond.backends.cpu.runtime import jit
from linforest_precond.graph.matching.matching import tie_key_of
from linforest_precond.matrix.checked import checked


def numbered(groups):
    """Groups of vertices as aggregates: numbered by their lowest vertices."""
    _, first, groups = np.unique(groups, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[groups]


def random_groups(size, count, seed=0):
    return numbered(np.random.default_rng(seed).integers(0, count, size))


def skewed_groups(size, seed=0):
    """Many groups of one vertex, some small ones, and one of half of the vertices."""
    rng = np.random.default_rng(seed)
    return numbered(np.minimum(rng.integers(0, size, size), rng.integers(0, size, size)) ** 3 // size**2)


class TestAggregates:
    def assert_aggregates(self, backend, A, mate, seed):
        graph = checked(backend.csr(A)).graph
        index = graph.indices.dtype
        mates = backend.array(np.asarray(mate, index))
        functions = backend_of(graph.values).multigrid.aggregates
        aggregates, count = functions.of_mates(graph, mates, tie_key_of(seed))
        assert backend.host(mates).tolist() == list(mate)
        assert aggregates.dtype == index and isinstance(count, int)
        host = backend.host(aggregates)
        assert host.tolist() == aggregates_of(A, mate, seed)
        assert_are_aggregates(host, count)
        indptr, members = functions.members_of(aggregates, count)
        assert indptr.dtype == members.dtype == index
        assert backend.host(members).tolist() == np.argsort(host, kind="stable").tolist()
        assert np.array_equal(np.diff(backend.host(indptr)), np.bincount(host, minlength=count))

    @staticmethod
    def some_mates(A, left_out, seed):
        """A matching that leaves out some pairs, so that it is not maximal."""
        mate = lf.graph.matching(A, "suitor", seed=seed).mate.copy()
        broken = np.random.default_rng(seed).random(mate.size) < left_out
        broken |= broken[mate] & (mate >= 0)
        mate[broken] = -1
        return mate.tolist()

    @given(A=graphs.matrices(max_size=25), left_out=st.sampled_from([0.0, 0.3, 1.0]), seed=st.integers(0, 99))
    def test_hypothesis_graphs(self, backend, A, left_out, seed):
        self.assert_aggregates(backend, A, self.some_mates(A, left_out, seed), seed)

    @pytest.mark.parametrize(("dtype", "index_dtype"), graphs.quick(graphs.TYPES))
    @pytest.mark.parametrize("symmetric", [True, False])
    def test_types(self, backend, dtype, index_dtype, symmetric):
        A = graphs.random_graph(400, "ties", 1, symmetric=symmetric, dtype=dtype, index_dtype=index_dtype)
        assert checked(A).indices.dtype == index_dtype
        for left_out in (0.0, 0.4):
            self.assert_aggregates(backend, A, self.some_mates(A, left_out, 1), 1)

    @pytest.mark.parametrize(
        "make",
        [
            lambda: graphs.star_graph(300),
            lambda: graphs.two_cliques_joined(41),
            lambda: graphs.grid_graph(33, 31),
            lambda: graphs.rmat_graph(9),
            lambda: sp.csr_array(np.eye(7)),
            lambda: sp.csr_array((0, 0)),
            lambda: sp.csr_array((1, 1)),
        ],
        ids=["star", "cliques", "grid", "skewed", "no edges", "empty", "one"],
    )
    def test_shapes(self, backend, make):
        A = sp.csr_array(make())
        for seed in range(3):
            self.assert_aggregates(backend, A, self.some_mates(A, 0.2 * seed, seed), seed)

    def test_by_hand(self, backend):
        """0 and 5 are single: 0 joins 3 4 by its heaviest edge, 5 joins 1 2, for 6 is single too."""
        edges = {(3, 4): 9.0, (1, 2): 8.0, (0, 1): 2.0, (0, 4): 3.0, (2, 5): 1.0, (5, 6): 5.0}
        lo, hi = np.array(list(edges)).T
        A = graphs.from_edges(7, lo, hi, list(edges.values()))
        mate = [-1, 2, 1, 4, 3, -1, -1]
        assert aggregates_of(A, mate, 0) == [0, 1, 1, 0, 0, 1, 2]
        self.assert_aggregates(backend, A, mate, 0)

    def test_tiny_weights(self, backend):
        """Subnormal weights are not flushed to zero."""
        for dtype in (np.float32, np.float64):
            tiny = np.finfo(dtype).smallest_subnormal
            A = graphs.from_edges(5, [0, 2, 4, 4], [1, 3, 0, 2], [1, 1, tiny, 3 * tiny], dtype=dtype)
            self.assert_aggregates(backend, A, [1, 0, 3, 2, -1], 0)


class TestCoarseMatrix:
    def coarse_matrix(self, backend, A, aggregates):
        csr = checked(backend.csr(A))
        functions = backend_of(csr.data)
        aggregates = backend.array(np.asarray(aggregates, csr.indices.dtype))
        count = int(aggregates.max()) + 1 if aggregates.size else 0
        members = functions.multigrid.aggregates.members_of(aggregates, count)
        arrays = functions.multigrid.aggregates.coarse_matrix(csr, aggregates, *members)
        return *map(backend.host, arrays), count

    def assert_coarse(self, backend, A, aggregates):
        indptr, indices, data, count = self.coarse_matrix(backend, A, aggregates)
        assert (
            indptr.dtype == indices.dtype == checked(A).indices.dtype and data.dtype == checked(A).data.dtype
        )
        assert_is_coarse_matrix(indptr, indices, data, coarse_entries(A, list(aggregates)), count)

    def test_large_aggregates_next_to_single_vertices(self, backend):
        """Load balancing: the first coarse rows have far more terms than the mean."""
        groups = np.r_[np.repeat(np.arange(2000), 8), 2000 + np.arange(14000)]
        indptr, indices, data, count = self.coarse_matrix(
            backend, sp.eye_array(groups.size, format="csr"), groups
        )
        np.testing.assert_array_equal(indptr, np.arange(count + 1))
        np.testing.assert_array_equal(indices, np.arange(count))
        np.testing.assert_array_equal(data, np.bincount(groups))

    def assert_close(self, backend, A, aggregates):
        """Against SciPy's product, to rounding."""
        indptr, indices, data, count = self.coarse_matrix(backend, A, aggregates)
        rows = np.arange(A.shape[0])
        P = sp.csr_array((np.ones(rows.size), (rows, aggregates)), shape=(rows.size, count))
        B = sp.csr_array((data, indices, indptr), shape=(count, count))
        allowed = np.finfo(A.dtype).eps * np.sqrt(A.nnz) * (P.T @ abs(A) @ P)
        assert (abs(B - P.T @ A @ P) > allowed).nnz == 0
        stored = graphs.make_csr(np.ones(A.nnz), A.indices, A.indptr, rows.size)
        assert B.nnz == (P.T @ stored @ P).nnz

    @given(A=graphs.matrices(max_size=25), count=st.integers(1, 25), seed=st.integers(0, 99))
    def test_hypothesis_groups(self, backend, A, count, seed):
        self.assert_coarse(backend, A, random_groups(A.shape[0], count, seed))

    @pytest.mark.parametrize(("dtype", "index_dtype"), graphs.quick(graphs.TYPES))
    @pytest.mark.parametrize("symmetric", [True, False])
    def test_types(self, backend, dtype, index_dtype, symmetric):
        A = graphs.random_graph(900, "unique", 3, symmetric=symmetric, dtype=dtype, index_dtype=index_dtype)
        A.data /= 3
        for count in (20, 300, 800):
            self.assert_coarse(backend, A, random_groups(900, count))

    @pytest.mark.parametrize(
        ("make", "groups"),
        [
            (lambda: graphs.star_graph(3000), skewed_groups),
            (lambda: graphs.two_cliques_joined(60), lambda size: np.arange(size) // 3),
            (lambda: graphs.random_graph(500, "unique", mean_degree=60), lambda size: random_groups(size, 9)),
            (lambda: graphs.random_graph(3000, "unique"), skewed_groups),
            (lambda: graphs.random_graph(3000, "unique"), lambda size: np.arange(size) // 700),
            (lambda: graphs.random_graph(3000, "unique"), lambda size: np.zeros(size, int)),
            (lambda: graphs.random_graph(3000, "unique"), np.arange),
            (lambda: graphs.rmat_graph(10, kind="unique"), lambda size: random_groups(size, 400)),
            (lambda: sp.csr_array(np.arange(8100).reshape(90, 90)), lambda size: np.arange(size) // 4),
            (lambda: sp.csr_array(np.eye(7)), lambda size: np.arange(size) // 2),
            (lambda: sp.csr_array((2000, 2000)), lambda size: np.arange(size) // 1000),
            (lambda: sp.csr_array((0, 0)), np.arange),
            (lambda: sp.csr_array((1, 1)), np.arange),
        ],
        ids=[
            "star", "cliques", "long rows", "mixed rows", "large groups", "one group", "no groups", "skewed",
            "dense", "diagonal", "no entries", "empty", "one",
        ],
    )  # fmt: skip
    def test_shapes(self, backend, make, groups):
        A = sp.csr_array(make())
        A.data = A.data / 7
        self.assert_coarse(backend, A, groups(A.shape[0]))

    def test_by_hand(self, backend):
        """Sums run left to right: half an ulp is lost if added to 1, two added first are not."""
        tiny = 2.0**-53
        A = sp.csr_array([[tiny, tiny, 1.0], [1.0, tiny, tiny], [2.0, 0.0, -5.0]])
        indptr, indices, data, _ = self.coarse_matrix(backend, A, [0, 0, 1])
        assert (indptr.tolist(), indices.tolist()) == ([0, 2, 4], [0, 1, 0, 1])
        assert data.tolist() == [((tiny + tiny) + 1.0) + tiny, 1.0 + tiny, 2.0, -5.0]

    def test_zeros_stay(self, backend):
        """Entries that sum to zero, and stored zeros."""
        indices, indptr = np.array([0, 1, 2, 0, 1, 1], np.int32), np.array([0, 3, 5, 6], np.int32)
        A = graphs.make_csr(np.array([1.0, -1, 2, -1, 1, -0.0]), indices, indptr, 3)
        indptr, indices, data, _ = self.coarse_matrix(backend, A, [0, 0, 1])
        assert (indptr.tolist(), indices.tolist()) == ([0, 2, 3], [0, 1, 0])
        assert data.tobytes() == np.array([0.0, 2.0, -0.0]).tobytes()

    @pytest.mark.parametrize("dtype", graphs.quick(graphs.DTYPES))
    def test_huge_and_tiny_values(self, backend, dtype):
        limits = np.finfo(dtype)
        A = graphs.random_graph(300, "unique", dtype=dtype)
        for factor in (limits.max / 2, limits.smallest_subnormal * 3):
            B = A.copy()
            B.data = (B.data / abs(B.data).max() * factor).astype(dtype)
            self.assert_coarse(backend, B, random_groups(300, 90))

    @pytest.mark.slow
    def test_any_number_of_threads(self, monkeypatch):
        monkeypatch.setattr(jit, "FEW_ELEMENTS", 0)  # threads for small arrays, too
        A = graphs.random_graph(5000, "unique")
        groups = random_groups(5000, 1700)
        csr, aggregates = checked(A), groups.astype(np.int32)
        cpu = backend_of(csr.data)
        members = cpu.multigrid.aggregates.members_of(aggregates, int(groups.max()) + 1)
        before, found = numba.get_num_threads(), []
        for threads in {1, before}:
            numba.set_num_threads(threads)
            try:
                arrays = cpu.multigrid.aggregates.coarse_matrix(csr, aggregates, *members)
            finally:
                numba.set_num_threads(before)
            found.append([array.tobytes() for array in arrays])
        assert all(each == found[0] for each in found)

    def test_real_matrices(self, backend, small_real_name):
        A = load_real(small_real_name)
        mate = lf.graph.matching(A, "suitor").mate
        self.assert_coarse(backend, A, aggregates_of(A, mate, 0))

    def test_larger_real_matrices(self, backend, medium_real_name):
        A = load_real(medium_real_name)
        graph = checked(A).graph
        mate = lf.graph.matching(A, "suitor").mate
        aggregates, _ = backend_of(A.data).multigrid.aggregates.of_mates(graph, mate, tie_key_of(0))
        self.assert_close(backend, A, aggregates)

    def test_grids(self, backend):
        A = lf.matrices.poisson((40, 30, 20))
        numbers = np.arange(A.shape[0]).reshape(40, 30, 20)
        blocks = numbers[::2, ::2, ::2].repeat(2, 0).repeat(2, 1).repeat(2, 2).ravel()
        self.assert_close(backend, A, numbered(blocks))


class TestTransfers:
    @pytest.mark.parametrize(("dtype", "index_dtype"), graphs.quick(graphs.TYPES))
    @pytest.mark.parametrize("columns", [None, 1, 3])
    @pytest.mark.parametrize(
        "groups", [lambda size: random_groups(size, 500), skewed_groups, lambda size: np.zeros(size, int)]
    )
    def test_sums_and_values(self, backend, dtype, index_dtype, columns, groups):
        size = 1500
        groups = groups(size).astype(index_dtype)
        count = int(groups.max()) + 1
        rng = np.random.default_rng(0)
        shape = () if columns is None else (columns,)
        fine = (rng.random((size, *shape)) - 0.5).astype(dtype) * dtype(
            1 if np.dtype(dtype).kind == "f" else 1 + 2j
        )
        aggregates, x = backend.array(groups), backend.array(fine.copy())
        functions = backend_of(aggregates)
        coarse = backend.array(np.full((count, *shape), np.nan, dtype))
        members = functions.multigrid.aggregates.members_of(aggregates, count)
        functions.multigrid.aggregates.restrict(*members, x, coarse)
        assert backend.host(x).tobytes() == fine.tobytes()
        found = backend.host(coarse)
        for group in range(count):
            own = fine[groups == group].reshape(-1, columns or 1)
            sums = [run_sum(own[:, column]) for column in range(columns or 1)]
            assert found[group].tobytes() == np.array(sums, dtype).tobytes()
        functions.multigrid.aggregates.prolong_add(aggregates, coarse, x)
        assert backend.host(x).tobytes() == (fine + found[groups]).tobytes()

    def test_many_rows(self, backend):
        """More rows than one thread's share."""
        size = 70_000
        groups = np.arange(size, dtype=np.int32) // 2
        fine = np.random.default_rng(0).random(size)
        aggregates, x = backend.array(groups), backend.array(fine.copy())
        functions = backend_of(aggregates)
        coarse = backend.xp.empty(size // 2)
        functions.multigrid.aggregates.restrict(
            *functions.multigrid.aggregates.members_of(aggregates, size // 2), x, coarse
        )
        assert np.array_equal(backend.host(coarse), fine[::2] + fine[1::2])
        functions.multigrid.aggregates.prolong_add(aggregates, coarse, x)
        assert np.array_equal(backend.host(x), fine + (fine[::2] + fine[1::2]).repeat(2))

    def test_nothing(self, backend):
        empty = backend.xp.empty(0, np.int32)
        functions = backend_of(empty)
        members = functions.multigrid.aggregates.members_of(empty, 0)
        assert [array.tolist() for array in members] == [[0], []]
        for vector in (backend.xp.empty(0), backend.xp.empty((0, 2))):
            functions.multigrid.aggregates.restrict(*members, vector, vector)
            functions.multigrid.aggregates.prolong_add(empty, vector, vector)
            assert vector.size == 0


@pytest.mark.parametrize(("dtype", "index"), graphs.quick(graphs.TYPES))
def test_a_mirrored_matrix_is_hermitian(backend, dtype, index):
    rng = np.random.default_rng(0)
    A = sp.random_array((200, 200), density=0.05, rng=rng, format="csr")
    A = sp.csr_array(A + A.T + sp.eye_array(200))
    A.data = rng.standard_normal(A.nnz).astype(dtype) * (1 + 1j if np.dtype(dtype).kind == "c" else 1)
    arrays = [
        backend.array(x) for x in (A.indptr.astype(index), A.indices.astype(index), A.data.astype(dtype))
    ]
    backend_of(arrays[2]).matrix.hermitian.mirror_upper(*arrays)
    found = sp.csr_array((backend.host(arrays[2]), A.indices, A.indptr), shape=A.shape).toarray()
    upper = np.triu(A.toarray(), 1).astype(dtype)
    assert np.array_equal(np.triu(found, 1), upper)
    assert np.array_equal(np.diagonal(found), A.diagonal().real.astype(dtype))
    assert np.array_equal(np.tril(found, -1), upper.conj().T)


def test_zeros_stored_on_one_side_of_the_diagonal(backend):
    """The matrix is Hermitian, its pattern is not symmetric."""
    A = sp.csr_array(lf.matrices.poisson((6, 7)))
    rows = np.append(np.repeat(np.arange(42), np.diff(A.indptr)), [41, 40])
    entries = np.append(A.data, [0.0, 0.0]), (rows, np.append(A.indices, [0, 1]))
    with_zeros = graphs.with_types(sp.coo_array(entries, A.shape), index_dtype=np.int32)
    assert with_zeros.nnz == A.nnz + 2
    found, wanted = (
        lf.multilevel(backend.csr(each), max_coarse=5, matchings=1).levels for each in (with_zeros, A)
    )
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_array_equal(backend.host(one.A.toarray()), backend.host(other.A.toarray()))
