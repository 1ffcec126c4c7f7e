"""From a matrix in any format to CSR arrays; called by `gate` alone.

Dense arrays, COO, CSC and all other formats become (row, column, value) triplets, which are sorted stably and
whose duplicates are summed. CSR arrays are passed on as they are, for the gate to scan.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse

from linforest_precond.annotations import Array, DType, MatrixLike
from linforest_precond.backends import Backend
from linforest_precond.matrix_checks import check_coordinates, check_entries, check_lengths, check_shape
from linforest_precond.own_matrix import index_dtype


def as_matrix(A: MatrixLike, xp: Any) -> Any:
    """Sparse matrices as they are, anything array-like as an array."""
    if scipy.sparse.issparse(A) or hasattr(A, "tocoo"):
        return A
    array = xp.asarray(A) if isinstance(A, xp.ndarray) else np.asarray(A)
    if array.dtype.kind not in "biufc":
        raise TypeError(
            f"A must be a sparse matrix or a dense 2-D array of numbers, got {type(A).__name__}; "
            "pass a scipy.sparse or cupyx.scipy.sparse matrix, or an array"
        )
    return array


def as_square_matrix(A: MatrixLike, backend: Backend) -> Any:
    """The same, with a shape that the backend can work on."""
    matrix = as_matrix(A, backend.xp)
    check_shape(matrix, backend)
    return matrix


def is_csr(A: Any) -> bool:
    """Whether A is sparse in CSR format."""
    return getattr(A, "format", None) == "csr"


def csr_arrays(A: Any, dtype: DType, backend: Backend) -> tuple[Array, Array, Array]:
    """indptr, indices and data of a square matrix; those of a CSR matrix may be unsorted and invalid."""
    if is_csr(A):
        return *index_arrays(A, backend.xp), backend.xp.ascontiguousarray(A.data, dtype=dtype)
    rows, cols, values, index = _triplets(A, dtype, backend)
    return canonical_csr(rows, cols, values.astype(dtype, copy=False), A.shape[0], index, backend)


def pattern_arrays(A: Any, backend: Backend) -> tuple[Array, Array]:
    """indptr and indices of a square matrix, whatever its values are."""
    if is_csr(A):
        return index_arrays(A, backend.xp)
    rows, cols, index = pattern_triplets(A, backend)
    ones = backend.xp.ones(rows.size, np.float32)
    return canonical_csr(rows, cols, ones, A.shape[0], index, backend)[:2]


def index_arrays(A: Any, xp: Any) -> tuple[Array, Array]:
    """indptr and indices of a CSR or CSC matrix, contiguous, of one type."""
    check_lengths(A)
    index = index_dtype(A.indices.size, A.indptr.dtype, A.indices.dtype)
    return xp.ascontiguousarray(A.indptr, dtype=index), xp.ascontiguousarray(A.indices, dtype=index)


def pattern_triplets(A: Any, backend: Backend) -> tuple[Array, Array, DType]:
    """Rows and columns of the entries of any format but CSR, and the index type for them."""
    xp = backend.xp
    if isinstance(A, xp.ndarray):
        rows, cols = xp.nonzero((A != 0) & xp.isfinite(A))
        return rows, cols, index_dtype(rows.size)
    if A.format == "csc":
        indptr, rows = index_arrays(A, xp)
        rows, cols, _ = _csc_triplets(indptr, rows, xp.ones(rows.size, np.float32), backend)
        return rows, cols, rows.dtype
    A = A.tocoo()
    check_coordinates(A.row, A.col, A.data, A.shape[0])
    return A.row, A.col, index_dtype(A.row.size, A.row.dtype, A.col.dtype)


def canonical_csr(
    rows: Array, cols: Array, values: Array, n: int, index: DType, backend: Backend
) -> tuple[Array, Array, Array]:
    """CSR arrays of triplets: sorted by (row, column), duplicates summed left to right as stored."""
    arrays: tuple[Array, Array, Array] = backend.matrix.entries.canonical(rows, cols, values, n, index)
    return arrays


def _triplets(A: Any, dtype: DType, backend: Backend) -> tuple[Array, Array, Array, DType]:
    """Rows, columns and values of the entries of any format but CSR, and the index type for them."""
    xp = backend.xp
    if isinstance(A, xp.ndarray):
        rows, cols = xp.nonzero(A)
        return rows, cols, A[rows, cols], index_dtype(rows.size)
    if A.format == "csc":
        data = xp.ascontiguousarray(A.data, dtype=dtype)
        rows, cols, values = _csc_triplets(*index_arrays(A, xp), data, backend)
        return rows, cols, values, rows.dtype
    A = A.tocoo()
    check_coordinates(A.row, A.col, A.data, A.shape[0])
    return A.row, A.col, A.data, index_dtype(A.data.size, A.row.dtype, A.col.dtype)


def _csc_triplets(indptr: Array, rows: Array, values: Array, backend: Backend) -> tuple[Array, Array, Array]:
    """The triplets of CSC arrays in stored order, checked (`tocoo` may reorder duplicates)."""
    scan = backend.matrix.entries.scan(indptr, rows, values)
    check_entries(scan, indptr, rows, values, backend, major="column")
    return rows, backend.matrix.entries.rows_of(indptr, rows.size), values
