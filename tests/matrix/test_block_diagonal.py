"""Block diagonal matrices of many systems with one pattern."""

import numpy as np
import pytest
import scipy.linalg
import scipy.sparse as sp
import strategies as graphs
from conftest import CPU
from strategies import make_csr

import linforest_precond as lf
from linforest_precond.matrix import conversion

SYSTEMS, SIZE = 4, 9


def random_values(A, count=SYSTEMS, dtype=np.float64):
    rng = np.random.default_rng(4)
    imaginary = 1j * rng.standard_normal((count, A.nnz)) if np.dtype(dtype).kind == "c" else 0
    return (rng.standard_normal((count, A.nnz)) + imaginary).astype(dtype)


def wanted(A, values):
    """By SciPy, dense; duplicates are summed."""
    systems = [make_csr(row, A.indices, A.indptr, A.shape[0]).toarray() for row in values]
    return scipy.linalg.block_diag(*systems)


def dense(backend, B):
    arrays = (backend.host(array) for array in (B.data, B.indices, B.indptr))
    return getattr(sp, f"{B.format}_array")(tuple(arrays), shape=B.shape).toarray()


@pytest.mark.parametrize(("dtype", "index_dtype"), graphs.quick(graphs.TYPES))
def test_blocks_are_the_systems(backend, dtype, index_dtype):
    A = graphs.random_graph(SIZE, "unique", 1, symmetric=False, dtype=dtype, index_dtype=index_dtype)
    values = random_values(A, dtype=dtype)
    pattern, given = backend.csr(A), backend.array(values)
    B = lf.matrices.block_diagonal(pattern, given)
    assert type(B) is type(pattern) and B.shape == (SYSTEMS * SIZE,) * 2
    assert B.dtype == dtype and B.indices.dtype == B.indptr.dtype == index_dtype
    np.testing.assert_array_equal(dense(backend, B), wanted(A, values))
    assert backend.xp.shares_memory(B.data, given)


def test_formats(backend):
    A = graphs.random_graph(SIZE, "unique", 1, symmetric=False)
    by_columns = sp.csc_array(A)
    values = random_values(A)
    B = lf.matrices.block_diagonal(backend.csr(A).tocsc(), backend.array(values))
    assert B.format == "csc"
    np.testing.assert_array_equal(dense(backend, B), wanted(by_columns.T, values).T)


def test_sparse_matrices_of_scipy():
    A = lf.matrices.poisson(SIZE)
    B = lf.matrices.block_diagonal(sp.csr_matrix(A), np.ones((2, A.nnz), int))
    assert isinstance(B, sp.csr_matrix) and B.dtype == np.float64


def test_unsorted_and_duplicate_entries(backend):
    A = graphs.in_disorder(lf.matrices.poisson(SIZE))
    values = random_values(A)
    B = lf.matrices.block_diagonal(backend.csr(A), backend.array(values))
    assert B.indices.size == SYSTEMS * A.nnz
    np.testing.assert_allclose(dense(backend, B), wanted(A, values), atol=1e-15)


def test_other_values_of_a_are_not_read(backend):
    A = lf.matrices.poisson(SIZE)
    values = random_values(A)
    A.data[:] = np.nan
    B = lf.matrices.block_diagonal(backend.csr(A), backend.array(values))
    np.testing.assert_array_equal(dense(backend, B), wanted(A, values))


def test_wide_indices(backend, monkeypatch):
    """Where 32 bits cannot number the entries of all systems."""
    A = lf.matrices.poisson(SIZE)
    monkeypatch.setattr(conversion, "LARGEST_INT32_COUNT", SYSTEMS * A.nnz - 1)
    for count, index_dtype in ((SYSTEMS - 1, np.int32), (SYSTEMS, np.int64)):
        values = random_values(A, count)
        B = lf.matrices.block_diagonal(backend.csr(A), backend.array(values))
        assert B.indices.dtype == B.indptr.dtype == index_dtype
        np.testing.assert_array_equal(dense(backend, B), wanted(A, values))


def test_what_is_refused(backend):
    A = lf.matrices.poisson(SIZE)
    pattern, values = backend.csr(A), backend.array(random_values(A))
    broken = values.copy()
    broken[2, 3] = np.nan
    for wrong, error, words in [
        (values[:, 1:], ValueError, rf"values must have the shape \(k, {A.nnz}\).*got \(4, {A.nnz - 1}\)"),
        (values[0], ValueError, r"values must have the shape \(k, "),
        (values[None], ValueError, r"values must have the shape \(k, "),
        (values.astype(np.float16), TypeError, "values must hold float32, .*got float16"),
        (broken, ValueError, r"values must be finite, got nan at values\[2, 3\]"),
        (pattern, TypeError, "values must be a dense array"),
        (np.ma.masked_array(random_values(A)), TypeError, "values must not be a masked array"),
    ]:
        with pytest.raises(error, match=words):
            lf.matrices.block_diagonal(pattern, wrong)
    for wrong, error, words in [
        (pattern.tocoo(), TypeError, "A must be in CSR or CSC .*format coo"),
        (pattern.toarray(), TypeError, "A must be in CSR or CSC .*format dense"),
        (pattern[:3], ValueError, "A must be square"),
    ]:
        with pytest.raises(error, match=words):
            lf.matrices.block_diagonal(wrong, values)


@pytest.mark.parametrize("column", [SIZE, -1])
def test_no_index_reaches_another_system(backend, column):
    A = lf.matrices.poisson(SIZE)
    A.indices[-1 if column > 0 else 0] = column
    with pytest.raises(ValueError, match=rf"A.indices must lie in \[0, {SIZE}\), got {column}"):
        lf.matrices.block_diagonal(backend.csr(A), backend.array(random_values(A)))


@pytest.mark.gpu
def test_both_on_one_device(cuda):
    A = lf.matrices.poisson(SIZE)
    for one, other in ((CPU, cuda), (cuda, CPU)):
        with pytest.raises(TypeError, match="values must be on"):
            lf.matrices.block_diagonal(one.csr(A), other.array(random_values(A)))
