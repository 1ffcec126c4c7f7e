"""The gate: accepted input, refused input and the messages."""

import importlib
import itertools
import os
import subprocess
import sys

import numpy as np
import oracles
import pytest
import scipy.sparse as sp
import scipy.sparse.linalg
import strategies as graphs
from checked_matrices import (
    ARRAYS,
    DENSE,
    FORMATS,
    KINDS,
    assert_chain_works,
    assert_same_bits,
    dense,
    edges,
    host,
    make,
    of_many_sizes,
    put,
    rows_of,
    with_arrays,
    with_duplicates,
    with_index_type,
)
from conftest import CPU
from test_config import cupy_like

import linforest_precond as lf
from linforest_precond import backends
from linforest_precond.matrix.checked import checked


class TestShape:
    @pytest.mark.parametrize("shape", [(3, 4), (4, 3), (0, 2), (1, 5)])
    @pytest.mark.parametrize("form", ["dense", *FORMATS])
    def test_not_square(self, backend, form, shape):
        A = put(backend, make(np.ones(shape), form))
        for door in (checked, lf.linear_forest):
            with pytest.raises(ValueError, match=rf"A must be square, got shape \({shape[0]}, {shape[1]}\)"):
                door(A)

    @pytest.mark.parametrize("shape", [(), (3,), (2, 2, 2)])
    def test_dense_of_other_dimensions(self, backend, shape):
        with pytest.raises(ValueError, match=rf"A must be 2-D, got {len(shape)} dimension"):
            checked(backend.array(np.ones(shape)))

    def test_sparse_of_one_dimension(self, backend):
        A = sp.coo_array(np.ones(3))
        if A.ndim != 1:
            pytest.skip("this SciPy has no 1-D coo_array")
        with pytest.raises(ValueError, match=r"A must be 2-D, got 1 dimension"):
            checked(put(backend, A))

    def test_more_rows_than_the_backend_can_number(self, backend, monkeypatch):
        module = importlib.import_module(f"linforest_precond.backends.{backend.name}")
        monkeypatch.setattr(module, "max_rows", 4)
        with pytest.raises(ValueError, match=f"at most 4 rows on {backend.name}, got 5"):
            checked(put(backend, sp.csr_array(DENSE)))


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
        for door in (checked, lf.linear_forest):
            with pytest.raises(TypeError, match="A must be a sparse matrix or a dense 2-D array of numbers"):
                door(A)

    @pytest.mark.gpu
    def test_an_operator_on_the_gpu(self, cuda):
        from cupyx.scipy.sparse.linalg import aslinearoperator

        with pytest.raises(TypeError, match="A must be a sparse matrix or a dense 2-D array of numbers"):
            checked(aslinearoperator(put(cuda, sp.csr_array(DENSE))))

    def test_cupy_without_a_gpu(self, monkeypatch):
        monkeypatch.setattr(backends, "cuda_status", lambda: (False, "no CUDA device answers"))
        for door in (checked, lf.linear_forest):
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
                checked(put(backend, make(D, form)))

    @pytest.mark.parametrize("form", ["dense", "csr", "coo"])
    def test_the_first_is_named(self, backend, form):
        D = DENSE.copy()
        D[1, 2], D[3, 4], D[4, 0] = np.inf, np.nan, -np.inf
        with pytest.raises(ValueError, match=r"got inf at \(row, column\) \(1, 2\)"):
            checked(put(backend, make(D, form)))

    @pytest.mark.parametrize("dtype", graphs.DTYPES)
    def test_the_first_of_many_chunks(self, backend, dtype):
        A = lf.matrices.poisson(5000, dtype=dtype)
        A.data[[9000, 4097, 14000]] = np.nan
        row = int(np.searchsorted(A.indptr, 4097, side="right")) - 1
        with pytest.raises(ValueError, match=rf"\({row}, {A.indices[4097]}\)"):
            checked(backend.csr(A))

    @pytest.mark.parametrize("form", FORMATS)
    def test_the_next_row_is_not_blamed_where_rows_are_empty(self, backend, form):
        D = np.zeros((6, 6))
        D[4, 3] = np.nan
        with pytest.raises(ValueError, match=r"\(4, 3\)"):
            checked(put(backend, make(D, form)))

    @pytest.mark.parametrize("form", FORMATS)
    def test_duplicates_whose_sum_is_not_finite(self, backend, form):
        rows, columns = [0, 2, 1, 2], [0, 1, 1, 1]
        values = np.array([1, 3e38, 1, 3e38], dtype=np.float32)
        A = with_duplicates(form, rows, columns, values, 3)
        with pytest.raises(ValueError, match=r"got inf at \(row, column\) \(2, 1\)"):
            checked(put(backend, A))


class TestValueTypes:
    @pytest.mark.parametrize("form", ["dense", *FORMATS])
    @pytest.mark.parametrize("dtype", ["?", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8"])
    def test_integers_become_doubles(self, backend, form, dtype):
        whole = (np.abs(DENSE) + (DENSE != 0)).astype(dtype)
        A = make(whole.astype(np.float64), form)
        A = whole if form == "dense" else with_arrays(A, data=A.data.astype(dtype))
        csr = checked(put(backend, A))
        assert_same_bits(dense(backend, csr), whole.astype(np.float64))
        assert backend.host(csr.diagonal).dtype == np.float64

    @pytest.mark.parametrize("form", FORMATS)
    @pytest.mark.parametrize(("dtype", "value", "total"), [("?", True, 3.0), ("u1", 200, 600.0)])
    def test_integers_are_converted_before_duplicates_are_summed(self, backend, form, dtype, value, total):
        A = with_duplicates(form, [0, 0, 1, 0], [1, 1, 0, 1], np.full(4, value, dtype), 2)
        assert dense(backend, checked(put(backend, A))).tolist() == [[0.0, total], [total / 3, 0.0]]

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
            checked(put(backend, A))

    @pytest.mark.parametrize("form", ["dense", *FORMATS])
    @pytest.mark.parametrize(
        ("index_dtype", "dtype"), graphs.quick(itertools.product(graphs.INDEX_DTYPES, graphs.DTYPES), 5)
    )
    def test_types_are_kept(self, backend, form, dtype, index_dtype):
        D = DENSE.astype(dtype)
        D[0, 1] *= dtype(1 + 2j) if D.dtype.kind == "c" else 1
        A = make(D, form)
        if form == "dense":
            index_dtype = np.int32
        else:
            A = with_index_type(A, index_dtype)
        B = put(backend, A)
        csr, graph = checked(B), checked(B).graph
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
        csr = checked(put(backend, A))
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
        csr = checked(A)
        assert csr.data.dtype.isnative and csr.indices.dtype.isnative and csr.indptr.dtype.isnative
        np.testing.assert_array_equal(dense(CPU, csr), D)


class TestFormats:
    @pytest.mark.parametrize("kind", KINDS)
    @pytest.mark.parametrize("form", ["csr", "csc", "coo", "bsr", "dia", "lil", "dok"])
    @pytest.mark.parametrize("dtype", graphs.DTYPES)
    def test_of_scipy(self, form, kind, dtype):
        csr = checked(make(DENSE.astype(dtype), form, kind))
        assert_same_bits(dense(CPU, csr), DENSE.astype(dtype))
        assert csr.n == 5 and csr.nnz == np.count_nonzero(DENSE)

    @pytest.mark.gpu
    @pytest.mark.parametrize("kind", KINDS)
    @pytest.mark.parametrize("form", ["csr", "csc", "coo", "dia"])
    @pytest.mark.parametrize("dtype", graphs.DTYPES)
    def test_of_cupyx(self, cuda, form, kind, dtype):
        csr = checked(put(cuda, make(DENSE.astype(dtype), form, kind)))
        assert_same_bits(dense(cuda, csr), DENSE.astype(dtype))
        assert csr.n == 5 and csr.nnz == np.count_nonzero(DENSE)

    @pytest.mark.parametrize("blocksize", [(1, 1), (2, 3), (3, 2), (6, 6)])
    def test_blocks_of_any_shape(self, blocksize):
        D = np.pad(DENSE, (0, 1))
        csr = checked(sp.bsr_array(D, blocksize=blocksize))
        assert_same_bits(dense(CPU, csr), D)

    def test_nested_lists(self):
        assert_same_bits(dense(CPU, checked(DENSE.tolist())), DENSE)

    @pytest.mark.filterwarnings("ignore:the matrix subclass:PendingDeprecationWarning")
    def test_numpy_matrix(self):
        csr = checked(np.matrix(DENSE))
        assert type(csr.data) is np.ndarray and csr.data.ndim == 1
        assert_same_bits(dense(CPU, csr), DENSE)

    def test_dense_layouts(self, backend):
        xp, D = backend.xp, backend.array(DENSE)
        wide = xp.zeros((10, 15))
        wide[::2, ::3] = D
        for A in (xp.asfortranarray(D), wide[::2, ::3], xp.ascontiguousarray(D[::-1])[::-1], D.T.copy().T):
            assert_same_bits(dense(backend, checked(A)), DENSE)
        assert_same_bits(dense(backend, checked(D.T)), np.ascontiguousarray(DENSE.T))

    @pytest.mark.parametrize("form", FORMATS)
    def test_arrays_that_are_views_with_gaps(self, backend, form):
        A = put(backend, make(DENSE, form))
        for name in ARRAYS[form]:
            setattr(A, name, backend.xp.repeat(getattr(A, name), 2)[::2])
            assert getattr(A, name).strides[0] == 2 * getattr(A, name).itemsize
        assert_same_bits(dense(backend, checked(A)), DENSE)

    def test_a_checked_matrix_passes(self, backend):
        csr = checked(put(backend, sp.csr_array(DENSE)))
        assert checked(csr) is csr
        assert edges(backend, checked(csr).graph) == oracles.graph_edges(sp.coo_array(DENSE))


def stored_entries(A):
    """(row, column, value) triplets in stored order."""
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
    """Sorted (row, column) pairs, duplicates summed left to right."""
    sums = {}
    for row, column, value in stored_entries(A):
        sums[row, column] = sums[row, column] + value if (row, column) in sums else value
    places = sorted(sums)
    return places, np.array([sums[place] for place in places], dtype=A.dtype)


class TestStoredOrder:
    @staticmethod
    def assert_summed(backend, A):
        places, sums = summed(A)
        indptr, indices, data = host(backend, checked(put(backend, A)))
        assert list(zip(rows_of(indptr).tolist(), indices.tolist(), strict=True)) == places
        assert_same_bits(data, sums)

    @pytest.mark.parametrize("form", FORMATS)
    def test_by_hand(self, backend, form):
        """Left to right 1e16 + 1 - 1e16 + 1 is 1; other orders give 0 or 2."""
        A = with_duplicates(form, [1, 1, 0, 1, 1], [0, 0, 1, 0, 0], np.array([1e16, 1, 5, -1e16, 1]), 2)
        assert dense(backend, checked(put(backend, A))).tolist() == [[0, 5], [1, 0]]

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
        csr = checked(put(backend, A))
        graph = csr.graph
        assert csr.nnz == 6
        assert csr.total_weight == 3.0
        assert edges(backend, graph) == {(1, 2): 3.0}
        forest, _ = assert_chain_works(backend, A)
        assert backend.host(forest.neighbors).tolist() == [[-1, -1], [2, -1], [1, -1], [-1, -1]]

    def test_nothing_but_zeros(self, backend):
        A = graphs.make_csr(np.zeros(4), np.array([0, 1, 0, 1], np.int32), np.array([0, 2, 4], np.int32), 2)
        forest, bands = assert_chain_works(backend, A)
        assert (backend.host(forest.neighbors) == -1).all()
        assert forest.coverage == 1.0 and checked(backend.csr(A)).symmetric


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
        csr, graph = checked(put(backend, A)), checked(put(backend, A)).graph
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
        for door in (checked, lf.linear_forest):
            with pytest.raises(ValueError, match=rf"A\.indptr must rise .*\(4\).* at {major} {place}"):
                door(put(backend, A))

    def test_indptr_that_jumps_ahead_and_falls_back(self, backend):
        A = with_arrays(sp.csr_array(np.eye(4)), indptr=np.array([0, 10**9, 2, 3, 4], dtype=np.int32))
        with pytest.raises(ValueError, match=r"A\.indptr must rise"):
            checked(put(backend, A))

    @pytest.mark.parametrize("form", ["csr", "csc"])
    def test_entries_without_rows(self, backend, form):
        A = with_arrays(make(np.zeros((0, 0)), form), indices=np.array([0], np.int32), data=np.ones(1))
        with pytest.raises(ValueError, match=r"A\.indices must be empty where A has no rows, got 1"):
            checked(put(backend, A))

    def test_indptr_of_many_rows(self, backend):
        A = lf.matrices.poisson(5000)
        A.indptr[3001] = A.indptr[3000] - 1
        with pytest.raises(ValueError, match=r"A\.indptr must rise.* at row 3000"):
            checked(backend.csr(A))

    @pytest.mark.parametrize("form", ["csr", "csc"])
    @pytest.mark.parametrize("indptr", [[0, 1, 2, 3, 4, 4], [0, 1, 2, 4]], ids=["long", "short"])
    def test_indptr_of_another_length(self, backend, form, indptr):
        A = with_arrays(make(np.eye(4), form), indptr=np.array(indptr, dtype=np.int32))
        with pytest.raises(ValueError, match="indptr"):
            checked(put(backend, A))

    @pytest.mark.parametrize("form", FORMATS)
    def test_values_and_indices_of_different_lengths(self, backend, form):
        A = make(DENSE, form)
        with pytest.raises(ValueError, match="data"):
            checked(put(backend, with_arrays(A, data=A.data[:-3])))

    @pytest.mark.parametrize("index_dtype", graphs.INDEX_DTYPES)
    @pytest.mark.parametrize(("form", "major"), [("csr", "row"), ("csc", "column")])
    @pytest.mark.parametrize("index", [4, -1, 2**31 - 1, -(2**31)])
    def test_indices(self, backend, form, major, index, index_dtype):
        A = with_index_type(make(np.eye(4), form), index_dtype)
        A.indices[2] = index
        for door in (checked, lf.linear_forest):
            with pytest.raises(ValueError, match=rf"\[0, 4\), got {index} in {major} 2"):
                door(put(backend, A))

    @pytest.mark.parametrize("index", [2**32 + 1, 2**63 - 1, -(2**63)])
    def test_wide_indices(self, backend, index):
        A = with_index_type(sp.csr_array(np.eye(4)), np.int64)
        A.indices[2] = index
        with pytest.raises(ValueError, match=rf"\[0, 4\), got {index} in row 2"):
            checked(put(backend, A))

    def test_the_first_index_of_many_chunks(self, backend):
        A = lf.matrices.poisson(5000)
        A.indices[[12000, 6500]] = 5000, -7
        with pytest.raises(ValueError, match=r"got -7 in row 2167"):
            checked(backend.csr(A))

    def test_blocks(self):
        A = sp.bsr_array(np.eye(4), blocksize=(2, 2))
        for name, broken in (("indices", [7, 1]), ("indices", [0, -1]), ("indptr", [0, 3, 2])):
            with pytest.raises(ValueError):
                checked(with_arrays(A, **{name: np.array(broken, dtype=np.int32)}))

    def test_coordinates(self, backend):
        """In a process of its own: unchecked coordinates may crash it."""
        device = backend.name.upper()
        script = f"import conftest, test_checked; test_checked.try_coordinates(conftest.{device})"
        command = [sys.executable, "-c", script]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, f"the process ended with {done.returncode}: {done.stdout}{done.stderr}"
        assert done.stdout.split() == ["ValueError"] * len(OUTSIDE) * 2, done.stdout


OUTSIDE = (-1, -(2**31), 5, 2**31 - 1)


def try_coordinates(backend):
    """Print the gate's exceptions for coordinates outside the matrix."""
    for name in ("col", "row"):
        for index in OUTSIDE:
            coordinates = getattr(sp.coo_array(DENSE), name).copy()
            coordinates[3] = index
            A = with_arrays(sp.coo_array(DENSE), **{name: coordinates})
            try:
                checked(put(backend, A))
                print("nothing", flush=True)
            except Exception as error:
                print(type(error).__name__, flush=True)
