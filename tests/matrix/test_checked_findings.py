"""The properties that the gate finds of a matrix, the graph it makes, and that A is not modified."""

import itertools

import numpy as np
import oracles
import pytest
import scipy.sparse as sp
import strategies as graphs
from checked_matrices import (
    ARRAYS,
    DENSE,
    FORMATS,
    assert_chain_works,
    assert_same_bits,
    dense,
    edges,
    host,
    is_hermitian_to_rounding,
    make,
    of_many_sizes,
    put,
    rows_of,
    with_arrays,
    with_duplicates,
    with_index_type,
)
from conftest import CPU
from hypothesis import given

import linforest_precond as lf
from linforest_precond.matrix import conversion
from linforest_precond.matrix.checked import checked


class TestTooManyForTheIndices:
    """32-bit indices, where the graph of A plus its transpose may have too many entries for them."""

    def test_a_nonsymmetric_matrix_gets_wider_ones(self, backend, monkeypatch):
        monkeypatch.setattr(conversion, "LARGEST_INT32_COUNT", 99)
        A = graphs.random_graph(12, "unique", 6, symmetric=False, index_dtype=np.int32)
        assert 50 <= A.nnz <= 99 and A.indices.dtype == np.int32
        B = backend.csr(A)
        csr = checked(B)
        assert csr.indices.dtype == csr.indptr.dtype == np.int64
        assert B.indices.dtype == B.indptr.dtype == np.int32

    @pytest.mark.slow
    def test_wider_ones_change_no_answer(self, backend, monkeypatch):
        monkeypatch.setattr(conversion, "LARGEST_INT32_COUNT", 99)
        B = backend.csr(graphs.random_graph(12, "unique", 6, symmetric=False, index_dtype=np.int32))
        t, bands = lf.pipeline.tridiagonal_bands(B)
        monkeypatch.undo()
        narrow, narrow_bands = lf.pipeline.tridiagonal_bands(B)
        assert t.order.dtype == np.int64 and narrow.order.dtype == np.int32
        np.testing.assert_array_equal(backend.host(t.order), backend.host(narrow.order))
        assert_same_bits(backend.host(bands.lower), backend.host(narrow_bands.lower))
        again = lf.extract_bands(B, t)
        assert_same_bits(backend.host(again.upper), backend.host(bands.upper))

    def test_a_symmetric_one_keeps_its_own(self, backend, monkeypatch):
        A = backend.csr(lf.matrices.poisson((4, 4)))
        monkeypatch.setattr(conversion, "LARGEST_INT32_COUNT", A.nnz)
        assert checked(A).indices.dtype == np.int32
        monkeypatch.setattr(conversion, "LARGEST_INT32_COUNT", A.nnz - 1)
        assert checked(A).indices.dtype == np.int64


class TestUntouched:
    @staticmethod
    def frozen(backend, A):
        """A on the backend and copies of its arrays; on the CPU nothing may write to it."""
        B = put(backend, A)
        arrays = arrays_of(B)
        if backend is CPU:
            for array in arrays:
                array.flags.writeable = False
        return B, [array.copy() for array in arrays]

    def assert_untouched(self, backend, A):
        B, before = self.frozen(backend, A)
        for use in (checked, lf.linear_forest, lf.graph.identity_coverage):
            use(B)
        lf.graph.greedy_factor(B, 2)
        lf.pipeline.tridiagonal_bands(B, iterations=None)
        lf.extract_bands(B, lf.linear_forest(lf.graph.factor(B, 2)))
        for array, copy in zip(arrays_of(B), before, strict=True):
            assert_same_bits(backend.host(array), backend.host(copy))

    @pytest.mark.parametrize("form", ["dense", *FORMATS, "dia"])
    @pytest.mark.parametrize("dtype", graphs.quick(graphs.DTYPES))
    def test_in_order(self, backend, form, dtype):
        self.assert_untouched(backend, make(DENSE.astype(dtype), form))

    @pytest.mark.parametrize("form", ["dense", *FORMATS])
    def test_booleans(self, backend, form):
        self.assert_untouched(backend, make(DENSE != 0, form))

    @pytest.mark.parametrize("index_dtype", graphs.quick(graphs.INDEX_DTYPES))
    @pytest.mark.parametrize("symmetric", [True, False])
    @pytest.mark.parametrize("dtype", graphs.quick(graphs.DTYPES))
    def test_larger(self, backend, dtype, symmetric, index_dtype):
        A = graphs.random_graph(1500, "unique", 3, symmetric=symmetric, dtype=dtype, index_dtype=index_dtype)
        self.assert_untouched(backend, A)

    @pytest.mark.parametrize("form", FORMATS)
    @pytest.mark.parametrize("dtype", graphs.quick(graphs.DTYPES))
    def test_out_of_order(self, backend, form, dtype):
        rng = np.random.default_rng(4)
        rows, columns = rng.integers(0, 30, (2, 400))
        A = with_duplicates(form, rows, columns, of_many_sizes(rng, 400, dtype), 30)
        self.assert_untouched(backend, A)

    def test_blocks(self):
        data = np.arange(1.0, 25.0).reshape(6, 2, 2)
        A = sp.bsr_array((data, np.array([1, 0, 1, 2, 0, 0]), np.array([0, 3, 4, 6])), shape=(6, 6))
        self.assert_untouched(CPU, A)

    def test_lists(self):
        A = sp.lil_array(DENSE)
        before = A.copy()
        assert_chain_works(CPU, A)
        assert A.rows.tolist() == before.rows.tolist() and A.data.tolist() == before.data.tolist()

    def test_dictionary(self):
        A = sp.dok_array(DENSE)
        before = dict(A.items())
        assert_chain_works(CPU, A)
        assert dict(A.items()) == before

    @pytest.mark.parametrize("index_dtype", graphs.quick(graphs.INDEX_DTYPES))
    @pytest.mark.parametrize("dtype", graphs.DTYPES)
    def test_values_in_order_are_the_users_own_and_indices_copies(self, backend, dtype, index_dtype):
        A = backend.csr(with_index_type(sp.csr_array(DENSE.astype(dtype)), index_dtype))
        csr = checked(A)
        assert address(csr.data) == address(A.data)
        for name in ("indptr", "indices"):
            assert address(getattr(csr, name)) != address(getattr(A, name))

    @pytest.mark.parametrize("dtype", graphs.DTYPES)
    def test_graphs_of_symmetric_matrices_refer_to_them(self, backend, dtype):
        csr = checked(backend.csr(lf.matrices.poisson((4, 5), dtype=dtype)))
        graph = checked(csr).graph
        assert address(graph.indptr) == address(csr.indptr) and address(graph.indices) == address(csr.indices)
        own = address(graph.values) == address(csr.data)
        assert own == graph.values_are_matrix == (np.dtype(dtype).kind == "f")
        assert graph.slots_are_matrix


def arrays_of(A):
    return [getattr(A, name) for name in ARRAYS[A.format]] if hasattr(A, "format") else [A]


def address(array):
    return array.data.ptr if hasattr(array, "get") else array.ctypes.data


def is_symmetric(A):
    weights = oracles.directed_weights(A)
    return all(weights.get((j, i)) == weight for (i, j), weight in weights.items())


def wanted_total(backend, csr):
    """The sum over the stored entries in order, with 0 for the diagonal ones."""
    indptr, indices, data = host(backend, csr)
    rows = rows_of(indptr)
    weights = np.array([float(oracles.magnitude(value)) for value in data]) * csr.scale
    return oracles.tree_sum(np.where(rows == indices, 0.0, weights))


def stored_diagonal(A):
    """The diagonal with the signs of zeros, which SciPy's diagonal() loses."""
    found = oracles.entries(A)
    return np.array([found.get((i, i), 0) for i in range(A.shape[0])], dtype=A.dtype)


class TestFindings:
    def symmetric(self, backend, D):
        answers = {checked(put(backend, make(D, form))).symmetric for form in ("dense", "csr", "csc")}
        assert len(answers) == 1
        return answers.pop()

    @pytest.mark.parametrize("dtype", graphs.DTYPES)
    def test_symmetric_magnitudes(self, backend, dtype):
        D = np.triu(np.random.default_rng(0).standard_normal((40, 40)), 1).astype(dtype)
        if D.dtype.kind == "c":
            D *= np.exp(1j * np.arange(40)).astype(dtype)
        diagonal = np.diag(np.arange(40)).astype(dtype)
        for mirrored in (D.T, -D.T, D.conj().T, -D.conj().T):
            assert self.symmetric(backend, D + mirrored + diagonal)
        assert not self.symmetric(backend, D + diagonal)
        assert not self.symmetric(backend, D + np.roll(D, 1, axis=1).T)

    @pytest.mark.parametrize("index_dtype", graphs.quick(graphs.INDEX_DTYPES))
    @pytest.mark.parametrize("dtype", graphs.DTYPES)
    def test_one_last_digit_is_seen(self, backend, dtype, index_dtype):
        A = graphs.random_graph(600, "unique", 5, index_dtype=index_dtype)
        single = A.data.astype(np.float32 if np.dtype(dtype) in (np.float32, np.complex64) else np.float64)
        rows = rows_of(A.indptr)
        assert checked(backend.csr(with_arrays(A, data=single.astype(dtype)))).symmetric
        for slot in np.flatnonzero(rows != A.indices)[[0, 77, -1]]:
            changed = single.copy()
            changed[slot] = np.nextafter(changed[slot], changed.dtype.type(np.inf))
            assert checked(backend.csr(with_arrays(A, data=changed.astype(dtype)))).to_rounding

    def test_equal_sums_are_not_symmetry(self, backend):
        crossed, circle = [[0, 1, 2], [2, 0, 0], [1, 0, 0]], [[0, 1, 0], [0, 0, 1], [1, 0, 0]]
        apart = [[0, 1, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0], [0, 0, 1, 0]]
        for D in (crossed, circle, apart):
            assert not self.symmetric(backend, np.array(D, dtype=np.float64))

    def test_nonsymmetric_pattern(self, backend):
        D = DENSE.copy()
        assert not self.symmetric(backend, D)
        assert self.symmetric(backend, D + D.T)
        D = D + D.T
        D[0, 1] = 0.0
        assert not self.symmetric(backend, D)

    def test_an_explicit_zero_on_one_side_is_symmetric(self, backend):
        A = graphs.make_csr(np.array([2.0, 0.0, -2.0]), np.array([1, 2, 0]), np.array([0, 2, 3, 3]), 3)
        assert checked(backend.csr(A)).symmetric
        assert edges(backend, checked(backend.csr(A)).graph) == {(0, 1): 2.0}

    @given(A=graphs.matrices())
    def test_hypothesis_graphs(self, backend, A):
        csr = checked(backend.csr(A))
        stored = with_arrays(A, data=np.ones(A.nnz)).toarray() > 0
        assert csr.symmetric == (is_symmetric(A) or is_hermitian_to_rounding(A.toarray(), stored))
        assert csr.total_weight == wanted_total(backend, csr)
        assert csr.scale == 1.0
        assert csr.longest_row == np.diff(A.indptr).max(initial=0)
        wanted = stored_diagonal(A)
        if csr.to_rounding:  # the diagonal of a Hermitian matrix is real
            assert (abs(wanted.imag) <= 16 * np.finfo(wanted.dtype).eps * abs(wanted)).all()
            wanted.imag = 0
        assert_same_bits(backend.host(csr.diagonal), wanted)

    @pytest.mark.parametrize("dtype", graphs.DTYPES)
    @pytest.mark.parametrize("size", [300, 3000])
    def test_total_weight_bit_for_bit(self, backend, size, dtype):
        A = graphs.random_graph(size, "unique", 8, symmetric=False, dtype=dtype)
        A.data[:] = of_many_sizes(np.random.default_rng(9), A.nnz, dtype)
        csr = checked(backend.csr(A))
        assert csr.total_weight == wanted_total(backend, csr) > 0
        assert csr.longest_row == np.diff(A.indptr).max()

    def test_one_long_row(self, backend):
        A = graphs.star_graph(5000, np.random.default_rng(0).random(5000))
        csr = checked(backend.csr(A))
        assert csr.longest_row == 5001 and csr.symmetric
        assert csr.total_weight == wanted_total(backend, csr)

    @pytest.mark.parametrize("dtype", [np.float64, np.complex128])
    @pytest.mark.parametrize("symmetric", [True, False])
    def test_huge_values(self, backend, dtype, symmetric):
        largest = np.finfo(np.float64).max
        D = np.triu(np.full((30, 30), largest), 1)
        D = (D + D.T * (1.0 if symmetric else 0.5)).astype(dtype)
        csr = checked(backend.array(D))
        assert csr.scale == 2.0**-128 and csr.symmetric == symmetric
        assert np.isfinite(csr.total_weight) and csr.total_weight == wanted_total(backend, csr)
        forest = lf.linear_forest(backend.array(D), iterations=None)
        assert 0.0 < forest.coverage <= 1.0
        if symmetric:
            edges_kept = np.count_nonzero(backend.host(forest.neighbors) >= 0)
            assert forest.coverage == pytest.approx(edges_kept / (30 * 29))

    @pytest.mark.parametrize("dtype", [np.float64, np.complex128])
    def test_a_sum_that_only_overflows_with_the_transpose(self, backend, dtype):
        """The sum of the matrix's weights is finite; that of the graph's, twice as large, overflows."""
        D = np.zeros((4, 4), dtype)
        D[0, 1], D[1, 2], D[2, 3] = 6e307, 3e307, 3e307
        huge, small = (lf.graph.factor(backend.array(A), 1) for A in (D, D / 2**40))
        np.testing.assert_array_equal(backend.host(huge.neighbors), backend.host(small.neighbors))
        assert huge.coverage == pytest.approx(0.75) and small.coverage == pytest.approx(0.75)
        graph = checked(backend.array(D)).graph
        assert np.isfinite(graph.total_weight)

    @pytest.mark.parametrize("dtype", [np.float32, np.complex64])
    def test_single_precision_needs_no_scale(self, backend, dtype):
        D = (np.finfo(np.float32).max * (1 - np.eye(40))).astype(dtype)
        csr = checked(backend.array(D))
        assert csr.scale == 1.0 and csr.total_weight == wanted_total(backend, csr)

    @pytest.mark.parametrize("dtype", graphs.quick(graphs.DTYPES))
    def test_subnormal_values(self, backend, dtype):
        least = np.finfo(dtype).smallest_subnormal
        A = graphs.path_graph(50, 1.0 + np.arange(49))
        A = graphs.with_types(A, dtype)
        A.data = (A.data.real.astype(np.int64) * least).astype(dtype)
        csr = checked(backend.csr(A))
        assert csr.symmetric and csr.scale == 1.0
        assert csr.total_weight == wanted_total(backend, csr) == 49 * 50 * float(least)
        found = edges(backend, checked(backend.csr(A)).graph)
        assert found == {(i, i + 1): (i + 1) * least for i in range(49)}
        assert lf.linear_forest(backend.csr(A), iterations=None).coverage == 1.0

    @pytest.mark.parametrize("index_dtype", [np.int32, np.int64])
    def test_one_entry_is_not_symmetric(self, backend, index_dtype):
        """At every slot: the symmetry hash must cover all entries."""
        for row, column in itertools.permutations(range(5), 2):
            indptr = (np.arange(6) > row).astype(index_dtype)
            A = graphs.make_csr(np.ones(1), np.array([column], index_dtype), indptr, 5)
            csr = checked(backend.csr(A))
            assert csr.indices.dtype == index_dtype and not csr.symmetric

    @pytest.mark.parametrize("dtype", graphs.DTYPES)
    def test_diagonal(self, backend, dtype):
        A = graphs.random_graph(700, seed=6, symmetric=False, dtype=dtype)
        coo = A.tocoo()
        keep = (coo.row != coo.col) | (coo.row % 3 != 0)
        A = sp.csr_array(sp.coo_array((coo.data[keep], (coo.row[keep], coo.col[keep])), shape=A.shape))
        A.data[:] = of_many_sizes(np.random.default_rng(7), A.nnz, dtype)
        diagonal = backend.host(checked(backend.csr(A)).diagonal)
        assert_same_bits(diagonal, stored_diagonal(A))
        assert np.count_nonzero(diagonal) and not diagonal[::3].any()


def magnitudes(D):
    return np.array([oracles.magnitude(value) for value in D.ravel()]).reshape(D.shape)


def wanted_graph(D):
    """|D| + |D|ᵀ off the diagonal, clamped to the largest finite number."""
    weights = magnitudes(D)
    with np.errstate(over="ignore"):
        both = np.minimum(weights + weights.T, np.finfo(weights.dtype).max)
    np.fill_diagonal(both, 0)
    return both


class TestGraph:
    @given(A=graphs.matrices())
    def test_hypothesis_graphs(self, backend, A):
        graph = checked(backend.csr(A)).graph
        assert edges(backend, graph) == oracles.graph_edges(A)
        assert graph.indptr.dtype == graph.indices.dtype == A.indices.dtype
        assert graph.n == A.shape[0]
        assert graph.longest_row == np.diff(backend.host(graph.indptr)).max(initial=0)

    @staticmethod
    def random(dtype, density, seed):
        rng = np.random.default_rng(seed)
        D = rng.standard_normal((60, 60)).astype(dtype)
        if D.dtype.kind == "c":
            D = D + (1j * rng.standard_normal((60, 60))).astype(dtype)
        keep = rng.random((60, 60)) < density
        return D, keep

    def assert_graph(self, backend, D, same_pattern):
        csr = checked(backend.array(D))
        graph = checked(csr).graph
        found = dense(backend, graph)
        np.fill_diagonal(found, 0)
        assert_same_bits(found, wanted_graph(D))
        assert graph.slots_are_matrix == same_pattern and not graph.values_are_matrix
        assert graph.scale == csr.scale and graph.total_weight == 2 * csr.total_weight
        assert graph.longest_row == np.diff(backend.host(graph.indptr)).max()
        if same_pattern:
            np.testing.assert_array_equal(backend.host(graph.indices), backend.host(csr.indices))
        if same_pattern and backend.name == "cpu":  # on the GPU they may be the user's, and are clipped
            assert address(graph.indices) == address(csr.indices)

    @pytest.mark.parametrize("dtype", graphs.DTYPES)
    @pytest.mark.parametrize("density", [0.03, 0.2, 1.0])
    def test_weights_on_one_pattern(self, backend, dtype, density):
        D, keep = self.random(dtype, density, 1)
        self.assert_graph(backend, D * (keep | keep.T), True)

    @pytest.mark.parametrize("dtype", graphs.DTYPES)
    @pytest.mark.parametrize("density", [0.03, 0.2, 0.9])
    def test_weights_on_the_union_of_patterns(self, backend, dtype, density):
        D, keep = self.random(dtype, density, 2)
        self.assert_graph(backend, D * keep, False)

    @pytest.mark.parametrize("dtype", graphs.DTYPES)
    def test_triangles(self, backend, dtype):
        D, _ = self.random(dtype, 1.0, 3)
        self.assert_graph(backend, np.triu(D), False)
        self.assert_graph(backend, np.tril(D, -1), False)

    def test_larger_than_a_block(self, backend):
        A = graphs.random_graph(4000, "unique", 3, symmetric=False)
        assert edges(backend, checked(backend.csr(A)).graph) == oracles.graph_edges(A)

    @pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
    def test_complex_magnitudes_by_the_formula(self, backend, dtype):
        rng = np.random.default_rng(0)
        upper = np.triu(of_many_sizes(rng, 80 * 80, dtype).reshape(80, 80), 1)
        D = upper + upper.conj().T
        graph = checked(backend.array(D)).graph
        assert checked(backend.array(D)).symmetric
        assert_same_bits(dense(backend, graph), magnitudes(D))
        assert graph.slots_are_matrix and not graph.values_are_matrix

    @pytest.mark.parametrize("dtype", graphs.DTYPES)
    def test_weights_stop_at_the_largest_number(self, backend, dtype):
        largest = np.finfo(dtype).max
        for low in (largest, largest / 2):
            D = np.array([[0, largest, 1, 0], [low, 0, 0, 0], [2, 0, 0, largest], [0, 0, 0, 0]], dtype)
            found = edges(backend, checked(backend.array(D)).graph)
            assert found == oracles.graph_edges(sp.coo_array(D))
            assert found[0, 1] == largest or (low == largest and is_symmetric(sp.coo_array(D)))
            assert found[0, 2] == 3 and found[2, 3] == largest

    @pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
    def test_magnitudes_stop_at_the_largest_number(self, backend, dtype):
        largest = np.finfo(dtype).max
        D = np.array([[1, complex(largest, largest)], [complex(largest, -largest), 1]], dtype)
        assert checked(backend.array(D)).symmetric
        assert edges(backend, checked(backend.array(D)).graph) == {(0, 1): largest}

    def test_signs_stay_where_the_values_are_the_matrix(self, backend):
        A = lf.matrices.poisson((5, 5))
        graph = checked(backend.csr(A)).graph
        assert graph.values_are_matrix and graph.slots_are_matrix
        assert_same_bits(backend.host(graph.values), A.data)
        assert graph.total_weight == checked(backend.csr(A)).total_weight
