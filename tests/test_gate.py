"""The gate: what it takes, what it refuses and how it says so, and what it finds out about a matrix."""

import importlib
import os
import subprocess
import sys

import numpy as np
import oracles
import pytest
import scipy.sparse as sp
import scipy.sparse.linalg
import strategies as graphs
from conftest import CPU
from hypothesis import given
from test_config import cupy_like

import linforest_precond as lf
from linforest_precond import backends
from linforest_precond.gate import as_csr, as_graph

ARRAYS = {
    **dict.fromkeys(("csr", "csc", "bsr"), ("data", "indices", "indptr")),
    "coo": ("data", "row", "col"),
    "dia": ("data", "offsets"),
}
FORMATS = ("csr", "csc", "coo")  # those of both libraries that keep entries as the user stored them
KINDS = ("array", "matrix")
REALS = (np.float32, np.float64)
DENSE = np.array(
    [
        [4.0, -1.0, 0.0, 0.0, 2.5],
        [-1.0, 4.0, 3.0, 0.0, 0.0],
        [0.0, 0.5, 0.0, 7.0, 0.0],
        [0.0, 0.0, 0.0, 5.0, -6.0],
        [2.5, 0.0, 0.0, 1.0, 8.0],
    ]
)


def put(backend, A):
    """A sparse matrix or dense array on the backend: same format and kind, same arrays, nothing checked."""
    if backend is CPU:
        return A
    if isinstance(A, np.ndarray):
        return backend.array(A)
    import cupyx.scipy.sparse as cusparse

    kind = type(A).__name__
    make = getattr(cusparse, kind, None) or getattr(cusparse, kind.replace("array", "matrix"))
    if A.format == "dia":
        return make((backend.array(A.data), backend.array(A.offsets)), shape=A.shape)
    B = make(A.shape)
    for name in ARRAYS[A.format]:
        setattr(B, name, backend.array(getattr(A, name)))
    return B


def make(D, form, kind="array"):
    """A dense array as a SciPy matrix of any format, or as it is."""
    return D if form == "dense" else getattr(sp, f"{form}_{kind}")(D)


def with_arrays(A, **arrays):
    """A copy of A with some of its arrays replaced, unchecked."""
    A = A.copy()
    for name, array in arrays.items():
        setattr(A, name, array)
    return A


def with_index_type(A, index_dtype):
    """A copy of A with this index type, which constructors may narrow."""
    if A.format == "coo":
        A = A.copy()
        A.coords = tuple(array.astype(index_dtype) for array in A.coords)
        return A
    return with_arrays(A, indices=A.indices.astype(index_dtype), indptr=A.indptr.astype(index_dtype))


def host(backend, record):
    """indptr, indices and values of a CSR or Graph."""
    values = record.data if hasattr(record, "data") else record.values
    return tuple(backend.host(array) for array in (record.indptr, record.indices, values))


def rows_of(indptr):
    return np.repeat(np.arange(indptr.size - 1), np.diff(indptr))


def dense(backend, record):
    """The record as a dense array; its entries must be in order."""
    indptr, indices, values = host(backend, record)
    rows = rows_of(indptr)
    assert indptr[0] == 0 and indptr[-1] == indices.size == values.size
    assert np.all((np.diff(indices) > 0) | (np.diff(rows) > 0))
    D = np.zeros((record.n, record.n), values.dtype)
    D[rows, indices] = values
    return D


def edges(backend, graph):
    """{(lo, hi): weight} of a Graph, which must hold every edge twice with one weight."""
    indptr, indices, values = host(backend, graph)
    both = {
        (i, j): abs(value)
        for i, j, value in zip(rows_of(indptr).tolist(), indices.tolist(), values, strict=True)
        if i != j and value != 0
    }
    assert all(both.get((j, i)) == weight for (i, j), weight in both.items())
    return {(i, j): weight for (i, j), weight in both.items() if i < j}


def assert_same_bits(one, other):
    assert one.dtype == other.dtype and one.shape == other.shape
    np.testing.assert_array_equal(one, other)
    assert one.tobytes() == other.tobytes()


def assert_chain_works(backend, A):
    """From a good matrix all the way to the bands."""
    forest, bands = lf.pipeline.tridiagonal_bands(put(backend, A))
    arrays = (backend.host(array) for array in (forest.neighbors, forest.path_id, forest.position))
    oracles.assert_is_linear_forest(sp.coo_array(A), *arrays)
    assert bands.lower.size == bands.diagonal.size == bands.upper.size == A.shape[0]
    return forest, bands


class TestShape:
    @pytest.mark.parametrize("shape", [(3, 4), (4, 3), (0, 2), (1, 5)])
    @pytest.mark.parametrize("form", ["dense", *FORMATS])
    def test_not_square(self, backend, form, shape):
        A = put(backend, make(np.ones(shape), form))
        for door in (as_csr, as_graph, lf.linear_forest):
            with pytest.raises(ValueError, match=rf"A must be square, got shape \({shape[0]}, {shape[1]}\)"):
                door(A)

    @pytest.mark.parametrize("shape", [(), (3,), (2, 2, 2)])
    def test_dense_of_other_dimensions(self, backend, shape):
        with pytest.raises(ValueError, match=rf"A must be 2-D, got {len(shape)} dimension"):
            as_csr(backend.array(np.ones(shape)))

    def test_sparse_of_one_dimension(self, backend):
        A = sp.coo_array(np.ones(3))
        if A.ndim != 1:
            pytest.skip("this SciPy has no 1-D coo_array")
        with pytest.raises(ValueError, match=r"A must be 2-D, got 1 dimension"):
            as_csr(put(backend, A))

    def test_more_rows_than_the_backend_can_number(self, backend, monkeypatch):
        module = importlib.import_module(f"linforest_precond.backends.{backend.name}")
        monkeypatch.setattr(module, "max_rows", 4)
        with pytest.raises(ValueError, match=f"at most 4 rows on {backend.name}, got 5"):
            as_csr(put(backend, sp.csr_array(DENSE)))


class TestNotAMatrix:
    @pytest.mark.parametrize(
        "A",
        [
            "matrix",
            None,
            object(),
            {"data": [1.0]},
            ["a", "b"],
            [["a", "b"], ["c", "d"]],
            scipy.sparse.linalg.aslinearoperator(np.eye(3)),
            np.array([["2020-01-01"]], dtype="datetime64[D]"),
        ],
        ids=["string", "None", "object", "dict", "strings", "nested strings", "operator", "dates"],
    )
    def test_host_objects(self, A):
        for door in (as_csr, as_graph, lf.linear_forest):
            with pytest.raises(TypeError, match="A must be a sparse matrix or a dense 2-D array of numbers"):
                door(A)

    @pytest.mark.gpu
    def test_an_operator_on_the_gpu(self, cuda):
        from cupyx.scipy.sparse.linalg import aslinearoperator

        with pytest.raises(TypeError, match="A must be a sparse matrix or a dense 2-D array of numbers"):
            as_csr(aslinearoperator(put(cuda, sp.csr_array(DENSE))))

    def test_cupy_without_a_gpu(self, monkeypatch):
        monkeypatch.setattr(backends, "cuda_status", lambda: (False, "no CUDA device answers"))
        for door in (as_csr, as_graph, lf.linear_forest):
            with pytest.raises(TypeError, match=r"csr_matrix.*GPU is not usable: no CUDA device answers"):
                door(cupy_like("csr_matrix"))


NONFINITE = (np.nan, np.inf, -np.inf)
COMPLEX_NONFINITE = (complex(np.nan, 0), complex(1, np.nan), complex(0, np.inf), complex(-np.inf, np.nan))


class TestNonfinite:
    @pytest.mark.parametrize("form", ["dense", *FORMATS])
    @pytest.mark.parametrize(
        ("dtype", "number"),
        [(dtype, number) for dtype in graphs.DTYPES for number in NONFINITE]
        + [(dtype, number) for dtype in graphs.DTYPES[2:] for number in COMPLEX_NONFINITE],
    )
    def test_the_entry_is_named(self, backend, form, dtype, number):
        for row, column in ((3, 4), (1, 0), (2, 2)):
            D = DENSE.astype(dtype)
            D[row, column] = number
            with pytest.raises(ValueError, match=rf"finite.*\(row, column\) \({row}, {column}\)"):
                as_csr(put(backend, make(D, form)))

    @pytest.mark.parametrize("form", ["dense", "csr", "coo"])
    def test_the_first_is_named(self, backend, form):
        D = DENSE.copy()
        D[1, 2], D[3, 4], D[4, 0] = np.inf, np.nan, -np.inf
        with pytest.raises(ValueError, match=r"got inf at \(row, column\) \(1, 2\)"):
            as_csr(put(backend, make(D, form)))

    @pytest.mark.parametrize("dtype", graphs.DTYPES)
    def test_the_first_of_many_chunks(self, backend, dtype):
        A = lf.matrices.poisson(5000, dtype=dtype)
        A.data[[9000, 4097, 14000]] = np.nan
        row = int(np.searchsorted(A.indptr, 4097, side="right")) - 1
        with pytest.raises(ValueError, match=rf"\({row}, {A.indices[4097]}\)"):
            as_csr(backend.csr(A))

    @pytest.mark.parametrize("form", FORMATS)
    def test_the_next_row_is_not_blamed_where_rows_are_empty(self, backend, form):
        D = np.zeros((6, 6))
        D[4, 3] = np.nan
        with pytest.raises(ValueError, match=r"\(4, 3\)"):
            as_csr(put(backend, make(D, form)))

    @pytest.mark.parametrize("form", FORMATS)
    def test_duplicates_whose_sum_is_not_finite(self, backend, form):
        rows, columns = [0, 2, 1, 2], [0, 1, 1, 1]
        values = np.array([1, 3e38, 1, 3e38], dtype=np.float32)
        A = with_duplicates(form, rows, columns, values, 3)
        with pytest.raises(ValueError, match=r"got inf at \(row, column\) \(2, 1\)"):
            as_csr(put(backend, A))


class TestValueTypes:
    @pytest.mark.parametrize("form", ["dense", *FORMATS])
    @pytest.mark.parametrize("dtype", ["?", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8"])
    def test_integers_become_doubles(self, backend, form, dtype):
        whole = (np.abs(DENSE) + (DENSE != 0)).astype(dtype)
        A = make(whole.astype(np.float64), form)
        A = whole if form == "dense" else with_arrays(A, data=A.data.astype(dtype))
        csr = as_csr(put(backend, A))
        assert_same_bits(dense(backend, csr), whole.astype(np.float64))
        assert backend.host(csr.diagonal).dtype == np.float64

    @pytest.mark.parametrize("form", FORMATS)
    @pytest.mark.parametrize(("dtype", "value", "total"), [("?", True, 3.0), ("u1", 200, 600.0)])
    def test_integers_are_converted_before_duplicates_are_summed(self, backend, form, dtype, value, total):
        A = with_duplicates(form, [0, 0, 1, 0], [1, 1, 0, 1], np.full(4, value, dtype), 2)
        assert dense(backend, as_csr(put(backend, A))).tolist() == [[0.0, total], [total / 3, 0.0]]

    @pytest.mark.parametrize("form", ["dense", *FORMATS])
    def test_half_precision(self, backend, form):
        self.assert_refused(backend, form, np.float16)

    @pytest.mark.parametrize("form", ["dense", *FORMATS])
    @pytest.mark.parametrize("dtype", [np.longdouble, np.clongdouble, object])
    def test_types_of_the_host_alone(self, form, dtype):
        if np.dtype(dtype) in (np.dtype(np.float64), np.dtype(np.complex128)):
            pytest.skip("long double is double here")
        self.assert_refused(CPU, form, dtype)

    @staticmethod
    def assert_refused(backend, form, dtype):
        A = DENSE.astype(dtype)
        if form != "dense":
            A = make(DENSE, form)
            A = with_arrays(A, data=A.data.astype(dtype))
        with pytest.raises(TypeError, match="^A must (hold float32|be a sparse matrix or a dense)"):
            as_csr(put(backend, A))

    @pytest.mark.parametrize("form", ["dense", *FORMATS])
    @pytest.mark.parametrize("index_dtype", graphs.INDEX_DTYPES)
    @pytest.mark.parametrize("dtype", graphs.DTYPES)
    def test_types_are_kept(self, backend, form, dtype, index_dtype):
        D = DENSE.astype(dtype)
        D[0, 1] *= dtype(1 + 2j) if D.dtype.kind == "c" else 1
        A = make(D, form)
        if form == "dense":
            index_dtype = np.int32
        else:
            A = with_index_type(A, index_dtype)
        B = put(backend, A)
        csr, graph = as_csr(B), as_graph(B)
        assert_same_bits(dense(backend, csr), D)
        for record in (csr, graph):
            assert record.indptr.dtype == record.indices.dtype == index_dtype
        assert csr.diagonal.dtype == dtype and graph.values.dtype == np.empty(0, dtype).real.dtype

    @pytest.mark.parametrize("form", ["csr", "csc"])
    @pytest.mark.parametrize(
        ("indptr", "indices", "wanted"), [("i8", "i4", "i8"), ("i4", "i8", "i8"), ("i2", "i2", "i4")]
    )
    def test_index_types_are_made_one(self, backend, form, indptr, indices, wanted):
        A = make(DENSE, form)
        A = with_arrays(A, indptr=A.indptr.astype(indptr), indices=A.indices.astype(indices))
        csr = as_csr(put(backend, A))
        assert csr.indptr.dtype == csr.indices.dtype == np.dtype(wanted)
        assert_same_bits(dense(backend, csr), DENSE)

    @pytest.mark.parametrize("form", ["dense", *FORMATS])
    @pytest.mark.parametrize("dtype", [*graphs.DTYPES, np.int16])
    def test_foreign_byte_order(self, form, dtype):
        D = np.trunc(DENSE).astype(dtype)
        A = make(D, form)
        swapped = D.dtype.newbyteorder("S")
        if form in ("csr", "csc"):
            A = with_index_type(A, np.dtype(np.int64).newbyteorder("S"))
        A = D.astype(swapped) if form == "dense" else with_arrays(A, data=A.data.astype(swapped))
        csr = as_csr(A)
        assert csr.data.dtype.isnative and csr.indices.dtype.isnative and csr.indptr.dtype.isnative
        np.testing.assert_array_equal(dense(CPU, csr), D)


class TestFormats:
    @pytest.mark.parametrize("kind", KINDS)
    @pytest.mark.parametrize("form", ["csr", "csc", "coo", "bsr", "dia", "lil", "dok"])
    @pytest.mark.parametrize("dtype", graphs.DTYPES)
    def test_of_scipy(self, form, kind, dtype):
        csr = as_csr(make(DENSE.astype(dtype), form, kind))
        assert_same_bits(dense(CPU, csr), DENSE.astype(dtype))
        assert csr.n == 5 and csr.nnz == np.count_nonzero(DENSE)

    @pytest.mark.gpu
    @pytest.mark.parametrize("kind", KINDS)
    @pytest.mark.parametrize("form", ["csr", "csc", "coo", "dia"])
    @pytest.mark.parametrize("dtype", graphs.DTYPES)
    def test_of_cupyx(self, cuda, form, kind, dtype):
        csr = as_csr(put(cuda, make(DENSE.astype(dtype), form, kind)))
        assert_same_bits(dense(cuda, csr), DENSE.astype(dtype))
        assert csr.n == 5 and csr.nnz == np.count_nonzero(DENSE)

    @pytest.mark.parametrize("blocksize", [(1, 1), (2, 3), (3, 2), (6, 6)])
    def test_blocks_of_any_shape(self, blocksize):
        D = np.pad(DENSE, (0, 1))
        csr = as_csr(sp.bsr_array(D, blocksize=blocksize))
        assert_same_bits(dense(CPU, csr), D)

    def test_nested_lists(self):
        assert_same_bits(dense(CPU, as_csr(DENSE.tolist())), DENSE)

    @pytest.mark.filterwarnings("ignore:the matrix subclass:PendingDeprecationWarning")
    def test_numpy_matrix(self):
        csr = as_csr(np.matrix(DENSE))
        assert type(csr.data) is np.ndarray and csr.data.ndim == 1
        assert_same_bits(dense(CPU, csr), DENSE)

    def test_dense_layouts(self, backend):
        xp, D = backend.xp, backend.array(DENSE)
        wide = xp.zeros((10, 15))
        wide[::2, ::3] = D
        for A in (xp.asfortranarray(D), wide[::2, ::3], xp.ascontiguousarray(D[::-1])[::-1], D.T.copy().T):
            assert_same_bits(dense(backend, as_csr(A)), DENSE)
        assert_same_bits(dense(backend, as_csr(D.T)), np.ascontiguousarray(DENSE.T))

    @pytest.mark.parametrize("form", FORMATS)
    def test_arrays_that_are_views_with_gaps(self, backend, form):
        A = put(backend, make(DENSE, form))
        for name in ARRAYS[form]:
            setattr(A, name, backend.xp.repeat(getattr(A, name), 2)[::2])
            assert getattr(A, name).strides[0] == 2 * getattr(A, name).itemsize
        assert_same_bits(dense(backend, as_csr(A)), DENSE)

    def test_a_checked_matrix_passes(self, backend):
        csr = as_csr(put(backend, sp.csr_array(DENSE)))
        assert as_csr(csr) is csr
        assert edges(backend, as_graph(csr)) == oracles.graph_edges(sp.coo_array(DENSE))


def with_duplicates(form, rows, columns, values, size):
    """A matrix whose entries are stored in the order given, as far as the format allows."""
    rows, columns = np.asarray(rows, dtype=np.int32), np.asarray(columns, dtype=np.int32)
    if form == "coo":
        A = sp.coo_array((np.ones(values.size), (rows, columns)), shape=(size, size))
        return with_arrays(A, data=values)
    major, minor = (rows, columns) if form == "csr" else (columns, rows)
    order = np.argsort(major, kind="stable")
    indptr = np.searchsorted(major[order], np.arange(size + 1)).astype(np.int32)
    A = getattr(sp, f"{form}_array")((size, size))
    return with_arrays(A, data=values[order], indices=minor[order], indptr=indptr)


def stored_entries(A):
    """(row, column, value) one after the other as stored."""
    if A.format == "coo":
        yield from zip(A.row.tolist(), A.col.tolist(), A.data, strict=True)
        return
    height, width = A.blocksize if A.format == "bsr" else (1, 1)
    blocks = A.data.reshape(-1, height, width)
    for major in range(A.indptr.size - 1):
        for slot in range(A.indptr[major], A.indptr[major + 1]):
            for r, c in np.ndindex(height, width):
                place = int(major * height + r), int(A.indices[slot] * width + c)
                yield *(place[::-1] if A.format == "csc" else place), blocks[slot, r, c]


def summed(A):
    """Sorted places and the sums of their duplicates, left to right."""
    sums = {}
    for row, column, value in stored_entries(A):
        sums[row, column] = sums[row, column] + value if (row, column) in sums else value
    places = sorted(sums)
    return places, np.array([sums[place] for place in places], dtype=A.dtype)


def of_many_sizes(rng, count, dtype):
    """Numbers whose sum depends on the order."""
    numbers = rng.standard_normal(count) * 10.0 ** rng.integers(-8, 9, count)
    if np.dtype(dtype).kind == "c":
        numbers = numbers + 1j * rng.permutation(numbers)
    return numbers.astype(dtype)


class TestStoredOrder:
    @staticmethod
    def assert_summed(backend, A):
        places, sums = summed(A)
        indptr, indices, data = host(backend, as_csr(put(backend, A)))
        assert list(zip(rows_of(indptr).tolist(), indices.tolist(), strict=True)) == places
        assert_same_bits(data, sums)

    @pytest.mark.parametrize("form", FORMATS)
    def test_by_hand(self, backend, form):
        """Left to right 1e16 + 1 - 1e16 + 1 is 1; other orders give 0 or 2."""
        A = with_duplicates(form, [1, 1, 0, 1, 1], [0, 0, 1, 0, 0], np.array([1e16, 1, 5, -1e16, 1]), 2)
        assert dense(backend, as_csr(put(backend, A))).tolist() == [[0, 5], [1, 0]]

    @pytest.mark.parametrize("form", FORMATS)
    @pytest.mark.parametrize("dtype", graphs.DTYPES)
    @pytest.mark.parametrize(("size", "count"), [(1, 40), (6, 300), (60, 7000)])
    def test_left_to_right(self, backend, form, dtype, size, count):
        rng = np.random.default_rng(size)
        rows, columns = rng.integers(0, size, (2, count))
        A = with_duplicates(form, rows, columns, of_many_sizes(rng, count, dtype), size)
        backwards = summed(with_duplicates(form, rows[::-1], columns[::-1], A.data[::-1], size))
        assert summed(A)[1].tobytes() != backwards[1].tobytes()
        self.assert_summed(backend, A)
        if form != "coo":
            self.assert_summed(backend, with_index_type(A, np.int64))

    @pytest.mark.parametrize("dtype", graphs.DTYPES)
    @pytest.mark.parametrize("blocksize", [(1, 1), (2, 2), (2, 4)])
    def test_blocks_left_to_right(self, dtype, blocksize):
        rng = np.random.default_rng(1)
        indptr = np.array([0, 9, 9, 30, 34] if blocksize[0] == 2 else [0, 5, 5, 6, 12, 20, 25, 33, 34])
        indices = rng.integers(0, 8 // blocksize[1], 34)
        data = of_many_sizes(rng, 34 * np.prod(blocksize), dtype).reshape(34, *blocksize)
        self.assert_summed(CPU, sp.bsr_array((data, indices, indptr), shape=(8, 8)))

    @pytest.mark.parametrize("form", FORMATS)
    @pytest.mark.parametrize("size", [7, 400])
    def test_unsorted_without_duplicates(self, backend, form, size):
        rng = np.random.default_rng(2)
        places = rng.permutation(size * size)[: 8 * size]
        values = rng.standard_normal(places.size)
        self.assert_summed(backend, with_duplicates(form, places // size, places % size, values, size))

    def test_one_pair_out_of_order_at_a_chunks_border(self, backend):
        full = sp.csr_array(np.random.default_rng(3).standard_normal((60, 60)))
        for slot in (2047, 2048, 2049):
            A = full.copy()
            A.indices[[slot - 1, slot]] = A.indices[[slot, slot - 1]]
            self.assert_summed(backend, A)
            A = full.copy()
            A.indices[slot] = A.indices[slot - 1]
            self.assert_summed(backend, A)

    @pytest.mark.parametrize("form", FORMATS)
    def test_explicit_zeros_are_stored_and_no_edges(self, backend, form):
        values = np.array([0.0, 3.0, -0.0, 2.0, -2.0, 1.0, 0.0])
        A = with_duplicates(form, [0, 1, 2, 0, 0, 3, 3], [1, 2, 1, 3, 3, 3, 0], values, 4)
        csr, graph = (door(put(backend, A)) for door in (as_csr, as_graph))
        assert csr.nnz == 6
        assert csr.total_weight == 3.0
        assert edges(backend, graph) == {(1, 2): 3.0}
        forest, _ = assert_chain_works(backend, A)
        assert backend.host(forest.neighbors).tolist() == [[-1, -1], [2, -1], [1, -1], [-1, -1]]

    def test_nothing_but_zeros(self, backend):
        A = graphs.make_csr(np.zeros(4), np.array([0, 1, 0, 1]), np.array([0, 2, 4]), 2)
        forest, bands = assert_chain_works(backend, A)
        assert (backend.host(forest.neighbors) == -1).all()
        assert forest.coverage == 1.0 and as_csr(backend.csr(A)).symmetric


class TestSmall:
    @pytest.mark.parametrize("form", ["dense", *FORMATS])
    @pytest.mark.parametrize(
        "D",
        [
            np.zeros((0, 0)),
            np.zeros((1, 1)),
            np.full((1, 1), -3.0),
            np.diag([2.0, -1.0, 0.0, 5.0]),
            np.zeros((6, 6)),
            np.pad(DENSE, (2, 3)),
            np.kron(np.eye(3), [[2.0, 1.0], [1.0, 2.0]]),
            np.array([[0.0, 1.0], [0.0, 0.0]]),
        ],
        ids=["0x0", "1x1 empty", "1x1", "diagonal", "empty", "empty rows", "disconnected", "one entry"],
    )
    def test_they_work(self, backend, form, D):
        A = make(D, form)
        csr, graph = as_csr(put(backend, A)), as_graph(put(backend, A))
        assert_same_bits(dense(backend, csr), D)
        assert edges(backend, graph) == oracles.graph_edges(sp.coo_array(D))
        assert csr.longest_row == np.count_nonzero(D, axis=1).max(initial=0)
        np.testing.assert_array_equal(backend.host(csr.diagonal), np.diag(D))
        _, bands = assert_chain_works(backend, A)
        assert sorted(backend.host(bands.diagonal)) == sorted(np.diag(D))


class TestBrokenIndices:
    @pytest.mark.parametrize("index_dtype", graphs.INDEX_DTYPES)
    @pytest.mark.parametrize(("form", "major"), [("csr", "row"), ("csc", "column")])
    @pytest.mark.parametrize(
        ("indptr", "place"),
        [
            ([0, 2, 1, 3, 4], 1),
            ([1, 2, 3, 4, 4], 0),
            ([-1, 1, 2, 3, 4], 0),
            ([0, 1, 2, 3, 3], 3),
            ([0, 1, 2, 3, 5], 3),
            ([0, 1, 2, 3, 2**31 - 1], 3),
            ([0, 1, 2, -(2**31), 4], 2),
        ],
        ids=["falls", "starts late", "starts below 0", "ends early", "ends late", "ends far", "falls far"],
    )
    def test_indptr(self, backend, form, major, indptr, place, index_dtype):
        A = with_index_type(make(np.eye(4), form), index_dtype)
        A = with_arrays(A, indptr=np.array(indptr, dtype=index_dtype))
        for door in (as_csr, as_graph, lf.linear_forest):
            with pytest.raises(ValueError, match=rf"A\.indptr must rise .*\(4\).* at {major} {place}"):
                door(put(backend, A))

    def test_indptr_that_jumps_ahead_and_falls_back(self, backend):
        A = with_arrays(sp.csr_array(np.eye(4)), indptr=np.array([0, 10**9, 2, 3, 4], dtype=np.int32))
        with pytest.raises(ValueError, match=r"A\.indptr must rise"):
            as_csr(put(backend, A))

    @pytest.mark.parametrize("form", ["csr", "csc"])
    def test_entries_without_rows(self, backend, form):
        A = with_arrays(make(np.zeros((0, 0)), form), indices=np.array([0], np.int32), data=np.ones(1))
        with pytest.raises(ValueError, match=r"A\.indices must be empty where A has no rows, got 1"):
            as_csr(put(backend, A))

    def test_indptr_of_many_rows(self, backend):
        A = lf.matrices.poisson(5000)
        A.indptr[3001] = A.indptr[3000] - 1
        with pytest.raises(ValueError, match=r"A\.indptr must rise.* at row 3000"):
            as_csr(backend.csr(A))

    @pytest.mark.parametrize("form", ["csr", "csc"])
    @pytest.mark.parametrize("indptr", [[0, 1, 2, 3, 4, 4], [0, 1, 2, 4]], ids=["long", "short"])
    def test_indptr_of_another_length(self, backend, form, indptr):
        A = with_arrays(make(np.eye(4), form), indptr=np.array(indptr, dtype=np.int32))
        with pytest.raises(ValueError, match="indptr"):
            as_csr(put(backend, A))

    @pytest.mark.parametrize("form", FORMATS)
    def test_values_and_indices_of_different_lengths(self, backend, form):
        A = make(DENSE, form)
        with pytest.raises(ValueError, match="data"):
            as_csr(put(backend, with_arrays(A, data=A.data[:-3])))

    @pytest.mark.parametrize("index_dtype", graphs.INDEX_DTYPES)
    @pytest.mark.parametrize(("form", "major"), [("csr", "row"), ("csc", "column")])
    @pytest.mark.parametrize("index", [4, -1, 2**31 - 1, -(2**31)])
    def test_indices(self, backend, form, major, index, index_dtype):
        A = with_index_type(make(np.eye(4), form), index_dtype)
        A.indices[2] = index
        for door in (as_csr, as_graph, lf.linear_forest):
            with pytest.raises(ValueError, match=rf"\[0, 4\), got {index} in {major} 2"):
                door(put(backend, A))

    @pytest.mark.parametrize("index", [2**32 + 1, 2**63 - 1, -(2**63)])
    def test_wide_indices(self, backend, index):
        A = with_index_type(sp.csr_array(np.eye(4)), np.int64)
        A.indices[2] = index
        with pytest.raises(ValueError, match=rf"\[0, 4\), got {index} in row 2"):
            as_csr(put(backend, A))

    def test_the_first_index_of_many_chunks(self, backend):
        A = lf.matrices.poisson(5000)
        A.indices[[12000, 6500]] = 5000, -7
        with pytest.raises(ValueError, match=r"got -7 in row 2167"):
            as_csr(backend.csr(A))

    def test_blocks(self):
        A = sp.bsr_array(np.eye(4), blocksize=(2, 2))
        for name, broken in (("indices", [7, 1]), ("indices", [0, -1]), ("indptr", [0, 3, 2])):
            with pytest.raises(ValueError):
                as_csr(with_arrays(A, **{name: np.array(broken, dtype=np.int32)}))

    def test_coordinates(self, backend):
        """In a process of its own: coordinates that are not checked may end it."""
        script = f"import conftest, test_gate; test_gate.try_coordinates(conftest.{backend.name.upper()})"
        command = [sys.executable, "-c", script]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, f"the process ended with {done.returncode}: {done.stdout}{done.stderr}"
        assert done.stdout.split() == ["ValueError"] * len(OUTSIDE) * 2, done.stdout


OUTSIDE = (-1, -(2**31), 5, 2**31 - 1)


def try_coordinates(backend):
    """Print what the gate says to coordinates outside the matrix."""
    for name in ("col", "row"):
        for index in OUTSIDE:
            coordinates = getattr(sp.coo_array(DENSE), name).copy()
            coordinates[3] = index
            A = with_arrays(sp.coo_array(DENSE), **{name: coordinates})
            try:
                as_csr(put(backend, A))
                print("nothing", flush=True)
            except Exception as error:
                print(type(error).__name__, flush=True)


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
        for use in (as_csr, as_graph, lf.linear_forest, lf.graph.identity_coverage):
            use(B)
        lf.graph.greedy_factor(B, 2)
        lf.pipeline.tridiagonal_bands(B, iterations=None)
        lf.extract_bands(B, lf.linear_forest(lf.graph.factor(B, 2)))
        for array, copy in zip(arrays_of(B), before, strict=True):
            assert_same_bits(backend.host(array), backend.host(copy))

    @pytest.mark.parametrize("form", ["dense", *FORMATS, "dia"])
    @pytest.mark.parametrize("dtype", graphs.DTYPES)
    def test_in_order(self, backend, form, dtype):
        self.assert_untouched(backend, make(DENSE.astype(dtype), form))

    @pytest.mark.parametrize("form", ["dense", *FORMATS])
    def test_booleans(self, backend, form):
        self.assert_untouched(backend, make(DENSE != 0, form))

    @pytest.mark.parametrize("index_dtype", graphs.INDEX_DTYPES)
    @pytest.mark.parametrize("symmetric", [True, False])
    @pytest.mark.parametrize("dtype", graphs.DTYPES)
    def test_larger(self, backend, dtype, symmetric, index_dtype):
        A = graphs.random_graph(1500, "unique", 3, symmetric=symmetric, dtype=dtype, index_dtype=index_dtype)
        self.assert_untouched(backend, A)

    @pytest.mark.parametrize("form", FORMATS)
    @pytest.mark.parametrize("dtype", graphs.DTYPES)
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

    @pytest.mark.parametrize("index_dtype", graphs.INDEX_DTYPES)
    @pytest.mark.parametrize("dtype", graphs.DTYPES)
    def test_arrays_in_order_are_the_users_own(self, backend, dtype, index_dtype):
        A = backend.csr(with_index_type(sp.csr_array(DENSE.astype(dtype)), index_dtype))
        csr = as_csr(A)
        for name in ARRAYS["csr"]:
            assert address(getattr(csr, name)) == address(getattr(A, name))

    @pytest.mark.parametrize("dtype", graphs.DTYPES)
    def test_graphs_of_symmetric_matrices_refer_to_them(self, backend, dtype):
        A = backend.csr(lf.matrices.poisson((4, 5), dtype=dtype))
        graph = as_graph(A)
        assert address(graph.indptr) == address(A.indptr) and address(graph.indices) == address(A.indices)
        own = address(graph.values) == address(A.data)
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
    """The sum over the stored entries in order; the diagonal's places hold 0."""
    indptr, indices, data = host(backend, csr)
    rows = rows_of(indptr)
    weights = np.array([float(oracles.magnitude(value)) for value in data]) * csr.scale
    return oracles.tree_sum(np.where(rows == indices, 0.0, weights))


def stored_diagonal(A):
    """The diagonal with the sign of its zeros, which SciPy's loses."""
    found = oracles.entries(A)
    return np.array([found.get((i, i), 0) for i in range(A.shape[0])], dtype=A.dtype)


class TestFindings:
    def symmetric(self, backend, D):
        answers = {as_csr(put(backend, make(D, form))).symmetric for form in ("dense", "csr", "csc")}
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

    @pytest.mark.parametrize("index_dtype", graphs.INDEX_DTYPES)
    @pytest.mark.parametrize("dtype", graphs.DTYPES)
    def test_one_last_digit_is_seen(self, backend, dtype, index_dtype):
        A = graphs.random_graph(600, "unique", 5, index_dtype=index_dtype)
        single = A.data.astype(np.float32 if np.dtype(dtype) in (np.float32, np.complex64) else np.float64)
        rows = rows_of(A.indptr)
        assert as_csr(backend.csr(with_arrays(A, data=single.astype(dtype)))).symmetric
        for slot in np.flatnonzero(rows != A.indices)[[0, 77, -1]]:
            changed = single.copy()
            changed[slot] = np.nextafter(changed[slot], changed.dtype.type(np.inf))
            assert not as_csr(backend.csr(with_arrays(A, data=changed.astype(dtype)))).symmetric

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
        assert as_csr(backend.csr(A)).symmetric
        assert edges(backend, as_graph(backend.csr(A))) == {(0, 1): 2.0}

    @given(A=graphs.matrices())
    def test_hypothesis_graphs(self, backend, A):
        csr = as_csr(backend.csr(A))
        assert csr.symmetric == is_symmetric(A)
        assert csr.total_weight == wanted_total(backend, csr)
        assert csr.scale == 1.0
        assert csr.longest_row == np.diff(A.indptr).max(initial=0)
        assert_same_bits(backend.host(csr.diagonal), stored_diagonal(A))

    @pytest.mark.parametrize("dtype", graphs.DTYPES)
    @pytest.mark.parametrize("size", [300, 3000])
    def test_total_weight_bit_for_bit(self, backend, size, dtype):
        A = graphs.random_graph(size, "unique", 8, symmetric=False, dtype=dtype)
        A.data[:] = of_many_sizes(np.random.default_rng(9), A.nnz, dtype)
        csr = as_csr(backend.csr(A))
        assert csr.total_weight == wanted_total(backend, csr) > 0
        assert csr.longest_row == np.diff(A.indptr).max()

    def test_one_long_row(self, backend):
        A = graphs.star_graph(5000, np.random.default_rng(0).random(5000))
        csr = as_csr(backend.csr(A))
        assert csr.longest_row == 5001 and csr.symmetric
        assert csr.total_weight == wanted_total(backend, csr)

    @pytest.mark.parametrize("dtype", [np.float64, np.complex128])
    @pytest.mark.parametrize("symmetric", [True, False])
    def test_huge_values(self, backend, dtype, symmetric):
        largest = np.finfo(np.float64).max
        D = np.triu(np.full((30, 30), largest), 1)
        D = (D + D.T * (1.0 if symmetric else 0.5)).astype(dtype)
        csr = as_csr(backend.array(D))
        assert csr.scale == 2.0**-128 and csr.symmetric == symmetric
        assert np.isfinite(csr.total_weight) and csr.total_weight == wanted_total(backend, csr)
        forest = lf.linear_forest(backend.array(D), iterations=None)
        assert 0.0 < forest.coverage <= 1.0
        if symmetric:
            edges_kept = np.count_nonzero(backend.host(forest.neighbors) >= 0)
            assert forest.coverage == pytest.approx(edges_kept / (30 * 29))

    @pytest.mark.parametrize("dtype", [np.float64, np.complex128])
    def test_a_sum_that_only_overflows_with_the_transpose(self, backend, dtype):
        """The matrix's own weights sum up to a double, those of the graph, twice as many, do not."""
        D = np.zeros((4, 4), dtype)
        D[0, 1], D[1, 2], D[2, 3] = 6e307, 3e307, 3e307
        huge, small = (lf.graph.factor(backend.array(A), 1) for A in (D, D / 2**40))
        np.testing.assert_array_equal(backend.host(huge.neighbors), backend.host(small.neighbors))
        assert huge.coverage == pytest.approx(0.75) and small.coverage == pytest.approx(0.75)
        graph = as_graph(backend.array(D))
        assert np.isfinite(graph.total_weight)

    @pytest.mark.parametrize("dtype", [np.float32, np.complex64])
    def test_single_precision_needs_no_scale(self, backend, dtype):
        D = (np.finfo(np.float32).max * (1 - np.eye(40))).astype(dtype)
        csr = as_csr(backend.array(D))
        assert csr.scale == 1.0 and csr.total_weight == wanted_total(backend, csr)

    @pytest.mark.parametrize("dtype", graphs.DTYPES)
    def test_subnormal_values(self, backend, dtype):
        least = np.finfo(dtype).smallest_subnormal
        A = graphs.path_graph(50, 1.0 + np.arange(49))
        A = graphs.with_types(A, dtype)
        A.data = (A.data.real.astype(np.int64) * least).astype(dtype)
        csr = as_csr(backend.csr(A))
        assert csr.symmetric and csr.scale == 1.0
        assert csr.total_weight == wanted_total(backend, csr) == 49 * 50 * float(least)
        found = edges(backend, as_graph(backend.csr(A)))
        assert found == {(i, i + 1): (i + 1) * least for i in range(49)}
        assert lf.linear_forest(backend.csr(A), iterations=None).coverage == 1.0

    @pytest.mark.parametrize("dtype", graphs.DTYPES)
    def test_diagonal(self, backend, dtype):
        A = graphs.random_graph(700, seed=6, symmetric=False, dtype=dtype)
        coo = A.tocoo()
        keep = (coo.row != coo.col) | (coo.row % 3 != 0)
        A = sp.csr_array(sp.coo_array((coo.data[keep], (coo.row[keep], coo.col[keep])), shape=A.shape))
        A.data[:] = of_many_sizes(np.random.default_rng(7), A.nnz, dtype)
        diagonal = backend.host(as_csr(backend.csr(A)).diagonal)
        assert_same_bits(diagonal, stored_diagonal(A))
        assert np.count_nonzero(diagonal) and not diagonal[::3].any()


def magnitudes(D):
    return np.array([oracles.magnitude(value) for value in D.ravel()]).reshape(D.shape)


def wanted_graph(D):
    """|D| + |D|ᵀ off the diagonal, at most the largest finite number."""
    weights = magnitudes(D)
    with np.errstate(over="ignore"):
        both = np.minimum(weights + weights.T, np.finfo(weights.dtype).max)
    np.fill_diagonal(both, 0)
    return both


class TestGraph:
    @given(A=graphs.matrices())
    def test_hypothesis_graphs(self, backend, A):
        graph = as_graph(backend.csr(A))
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
        csr = as_csr(backend.array(D))
        graph = as_graph(csr)
        found = dense(backend, graph)
        np.fill_diagonal(found, 0)
        assert_same_bits(found, wanted_graph(D))
        assert graph.slots_are_matrix == same_pattern and not graph.values_are_matrix
        assert graph.scale == csr.scale and graph.total_weight == 2 * csr.total_weight
        assert graph.longest_row == np.diff(backend.host(graph.indptr)).max()
        if same_pattern:
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
        assert edges(backend, as_graph(backend.csr(A))) == oracles.graph_edges(A)

    @pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
    def test_complex_magnitudes_by_the_formula(self, backend, dtype):
        rng = np.random.default_rng(0)
        upper = np.triu(of_many_sizes(rng, 80 * 80, dtype).reshape(80, 80), 1)
        D = upper + upper.conj().T
        graph = as_graph(backend.array(D))
        assert as_csr(backend.array(D)).symmetric
        assert_same_bits(dense(backend, graph), magnitudes(D))
        assert graph.slots_are_matrix and not graph.values_are_matrix

    @pytest.mark.parametrize("dtype", graphs.DTYPES)
    def test_weights_stop_at_the_largest_number(self, backend, dtype):
        largest = np.finfo(dtype).max
        for low in (largest, largest / 2):
            D = np.array([[0, largest, 1, 0], [low, 0, 0, 0], [2, 0, 0, largest], [0, 0, 0, 0]], dtype)
            found = edges(backend, as_graph(backend.array(D)))
            assert found == oracles.graph_edges(sp.coo_array(D))
            assert found[0, 1] == largest or (low == largest and is_symmetric(sp.coo_array(D)))
            assert found[0, 2] == 3 and found[2, 3] == largest

    @pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
    def test_magnitudes_stop_at_the_largest_number(self, backend, dtype):
        largest = np.finfo(dtype).max
        D = np.array([[1, complex(largest, largest)], [complex(largest, -largest), 1]], dtype)
        assert as_csr(backend.array(D)).symmetric
        assert edges(backend, as_graph(backend.array(D))) == {(0, 1): largest}

    def test_signs_stay_where_the_values_are_the_matrix(self, backend):
        A = lf.matrices.poisson((5, 5))
        graph = as_graph(backend.csr(A))
        assert graph.values_are_matrix and graph.slots_are_matrix
        assert_same_bits(backend.host(graph.values), A.data)
        assert graph.total_weight == as_csr(backend.csr(A)).total_weight
