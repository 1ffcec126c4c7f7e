"""From a matrix in any format to CSR arrays; called by `gate` alone.

Dense arrays, COO, CSC and all other formats become (row, column, value) triplets, which are sorted stably and
whose duplicates are summed. CSR arrays are passed on unsorted, for the gate to scan.

Index arrays are copied before they are checked: a callback or another thread may change the user's at any
time, and kernels that follow a changed index would read and write memory that is not theirs.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse

from linforest_precond.annotations import Array, DType, MatrixLike
from linforest_precond.backends import Backend
from linforest_precond.interchange import native_matrix
from linforest_precond.matrix_checks import check_arrays, check_entries, check_lengths, check_shape
from linforest_precond.own_matrix import index_dtype
from linforest_precond.stored_entries import stored_entries


def as_matrix(A: MatrixLike, xp: Any, name: str = "A") -> Any:
    """Sparse matrices of SciPy or CuPy, also from those of other libraries; anything else as an array."""
    A = native_matrix(name, A)
    if scipy.sparse.issparse(A) or hasattr(A, "tocoo"):
        return A
    array = xp.asarray(A) if isinstance(A, xp.ndarray) else np.asarray(A)
    if array.dtype.kind not in "biufc":
        raise TypeError(
            f"{name} must be a sparse matrix or a dense 2-D array of numbers, got {type(A).__name__}; "
            "pass a scipy.sparse or cupyx.scipy.sparse matrix, or an array"
        )
    return array


def as_square_matrix(A: MatrixLike, backend: Backend, name: str = "A") -> Any:
    """The same, with a shape that the backend can work on, and with arrays of the right kinds."""
    matrix = as_matrix(A, backend.xp, name)
    check_shape(matrix, backend, name)
    if not isinstance(matrix, backend.xp.ndarray):
        check_arrays(matrix, backend, name)
    return matrix


def is_csr(A: Any) -> bool:
    """Whether A is sparse in CSR format."""
    return getattr(A, "format", None) == "csr"


def csr_arrays(
    A: Any, dtype: DType, backend: Backend, name: str = "A", shared: bool = False
) -> tuple[Array, Array, Array]:
    """indptr, indices and data of a square matrix; those of a CSR matrix may be unsorted and invalid."""
    if is_csr(A):
        indptr, indices = index_arrays(A, backend, name, shared)
        return indptr, indices, backend.xp.ascontiguousarray(A.data, dtype=dtype)
    rows, cols, values, index = _triplets(A, dtype, backend, name)
    return canonical_csr(rows, cols, values.astype(dtype, copy=False), A.shape[0], index, backend)


def pattern_arrays(A: Any, backend: Backend, name: str = "A") -> tuple[Array, Array]:
    """indptr and indices of a square matrix, whatever its values are."""
    if is_csr(A):
        return index_arrays(A, backend, name)
    rows, cols, index = pattern_triplets(A, backend, name)
    ones = backend.xp.ones(rows.size, np.float32)
    return canonical_csr(rows, cols, ones, A.shape[0], index, backend)[:2]


def index_arrays(A: Any, backend: Backend, name: str = "A", shared: bool = False) -> tuple[Array, Array]:
    """Copies of indptr and indices of a CSR or CSC matrix, contiguous, of one type.

    `shared` tells that all kernels that will follow the indices check them: the user's own array may then do
    where its copy would be too expensive, on the GPU.
    """
    check_lengths(A, name)
    index = index_dtype(A.indices.size, A.indptr.dtype, A.indices.dtype)
    copied = backend.xp.ascontiguousarray if shared and backend.checks_shared_indices else backend.xp.array
    return backend.xp.array(A.indptr, dtype=index), copied(A.indices, dtype=index)


def pattern_triplets(A: Any, backend: Backend, name: str = "A") -> tuple[Array, Array, DType]:
    """Rows and columns of the entries of any format but CSR, and the index type for them."""
    xp = backend.xp
    if isinstance(A, xp.ndarray):
        rows, cols = xp.nonzero((A != 0) & xp.isfinite(A))
        return rows, cols, index_dtype(rows.size)
    if A.format == "csc":
        indptr, rows = index_arrays(A, backend, name)
        rows, cols, _ = _csc_triplets(indptr, rows, xp.ones(rows.size, np.float32), backend, name)
        return rows, cols, rows.dtype
    rows, cols, _ = stored_entries(A, xp, name)
    return rows, cols, index_dtype(rows.size, rows.dtype, cols.dtype)


def canonical_csr(
    rows: Array, cols: Array, values: Array, n: int, index: DType, backend: Backend
) -> tuple[Array, Array, Array]:
    """CSR arrays of triplets: sorted by (row, column), duplicates summed left to right as stored."""
    arrays: tuple[Array, Array, Array] = backend.matrix.entries.canonical(rows, cols, values, n, index)
    return arrays


def _triplets(A: Any, dtype: DType, backend: Backend, name: str) -> tuple[Array, Array, Array, DType]:
    """Rows, columns and values of the entries of any format but CSR, and the index type for them."""
    xp = backend.xp
    if isinstance(A, xp.ndarray):
        rows, cols = xp.nonzero(A)
        return rows, cols, A[rows, cols], index_dtype(rows.size)
    if A.format == "csc":
        data = xp.ascontiguousarray(A.data, dtype=dtype)
        rows, cols, values = _csc_triplets(*index_arrays(A, backend, name), data, backend, name)
        return rows, cols, values, rows.dtype
    rows, cols, values = stored_entries(A, xp, name)
    return rows, cols, values, index_dtype(values.size, rows.dtype, cols.dtype)


def _csc_triplets(
    indptr: Array, rows: Array, values: Array, backend: Backend, name: str
) -> tuple[Array, Array, Array]:
    """The triplets of CSC arrays in stored order, checked (`tocoo` may reorder duplicates)."""
    scan = backend.matrix.entries.scan(indptr, rows, values)
    check_entries(scan, indptr, rows, values, backend, name, major="column")
    return rows, backend.matrix.entries.rows_of(indptr, rows.size), values
