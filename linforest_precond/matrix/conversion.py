"""Conversion of a matrix in any format to CSR arrays, with every index checked, and back to its format.

Dense arrays, COO, CSC and all other formats become (row, column, value) triplets, which are sorted stably and
whose duplicates are summed. Before, their bounds alone are checked: `checked` scans the entries once, in CSR.
CSR arrays are passed on unsorted. SciPy's own conversions trust the arrays, and some are compiled: a broken
matrix would end the process.

Index arrays are copied before they are checked: a callback or another thread may change the user's at any
time, and kernels that follow a changed index would read and write memory that is not theirs.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import scipy.sparse

from linforest_precond.backends import Backend, backend_of
from linforest_precond.backends.annotations import Array, DType, MatrixLike
from linforest_precond.interop.dlpack import native_matrix
from linforest_precond.matrix.checks import (
    check_arrays,
    check_coordinates,
    check_indices,
    check_lengths,
    check_pointers,
    check_range,
    check_shape,
)

# The largest number of entries, or of vertices, for which indices are 32-bit.
LARGEST_INT32_COUNT = 2**31 - 1
# The major axis of each compressed format.
MAJORS = {"csr": "row", "csc": "column"}
# Rows, columns and values in stored order.
Triplets: TypeAlias = tuple[Array, Array, Array]


def index_dtype(count: int, *dtypes: npt.DTypeLike) -> DType:
    """The index type for `count` entries, not narrower than the given types."""
    wide = count > LARGEST_INT32_COUNT or any(np.dtype(dtype).itemsize > 4 for dtype in dtypes)
    return np.dtype(np.int64 if wide else np.int32)


def as_matrix(A: MatrixLike, xp: Any, name: str = "A") -> Any:
    """Sparse matrices of SciPy or CuPy, also from those of other libraries; anything else as an array."""
    A = native_matrix(name, A)
    if scipy.sparse.issparse(A) or hasattr(A, "tocoo"):
        return A
    if hasattr(A, "adjacency"):
        raise TypeError(f"{name} must be a matrix, got a graph: pass networkx.to_scipy_sparse_array({name})")
    array = xp.asarray(A) if isinstance(A, xp.ndarray) else np.asarray(A)
    if array.dtype.kind not in "biufc":
        cure = "pass a scipy.sparse or cupyx.scipy.sparse matrix, or an array"
        if isinstance(A, str | os.PathLike):
            cure = "read the file by linforest_precond.matrices.load"
        elif array.ndim:
            cure = f"its values are of type {array.dtype}: convert them to float64"
        elif hasattr(A, "matvec"):
            cure = "pass a matrix that approximates it, and the operator to the solver"
        raise TypeError(
            f"{name} must be a sparse matrix or a dense 2-D array of numbers, got {type(A).__name__}; {cure}"
        )
    return array


def as_square_matrix(A: MatrixLike, name: str = "A") -> tuple[Any, Backend]:
    """`as_matrix` of a square matrix with valid kinds of arrays, and its backend."""
    backend = backend_of(A)
    matrix = as_matrix(A, backend.xp, name)
    check_shape(matrix, backend, name)
    if not isinstance(matrix, backend.xp.ndarray):
        check_arrays(matrix, backend, name)
    return matrix, backend


def is_csr(A: Any) -> bool:
    return getattr(A, "format", None) == "csr"


def csr_arrays(A: Any, dtype: DType, backend: Backend, name: str = "A", shared: bool = False) -> Triplets:
    """indptr, indices and data of a square matrix; those of a CSR matrix may be unsorted and invalid."""
    if is_csr(A):
        indptr, indices = index_arrays(A, backend, name, shared)
        return indptr, indices, backend.xp.ascontiguousarray(A.data, dtype=dtype)
    rows, cols, values, index = _triplets(A, dtype, backend, name)
    return canonical_csr(rows, cols, values.astype(dtype, copy=False), A.shape[0], index, backend)


def pattern_arrays(A: Any, backend: Backend) -> tuple[Array, Array]:
    """indptr and indices of a square matrix, whatever its values are."""
    if is_csr(A):
        return index_arrays(A, backend)
    rows, cols, index = pattern_triplets(A, backend)
    ones = backend.xp.ones(rows.size, np.float32)
    return canonical_csr(rows, cols, ones, A.shape[0], index, backend)[:2]


def index_arrays(A: Any, backend: Backend, name: str = "A", shared: bool = False) -> tuple[Array, Array]:
    """Copies of indptr and indices of a CSR or CSC matrix, contiguous, of one type.

    `shared` tells that all kernels that will follow the indices check them: the user's own array may then do
    where its copy would be too expensive, on the GPU.
    """
    check_lengths(A, name)
    index = index_dtype(A.indices.size, A.indptr.dtype, A.indices.dtype)
    copied = backend.xp.ascontiguousarray if shared and backend.checks_shared_arrays else backend.xp.array
    return backend.xp.array(A.indptr, dtype=index), copied(A.indices, dtype=index)


def pattern_triplets(A: Any, backend: Backend, name: str = "A") -> tuple[Array, Array, DType]:
    """Rows and columns of the entries of any format but CSR, and the index type for them."""
    xp = backend.xp
    if isinstance(A, xp.ndarray):
        rows, cols = xp.nonzero((A != 0) & xp.isfinite(A))
        return rows, cols, index_dtype(rows.size)
    if A.format == "csc":
        indptr, rows = compressed_pattern(A, backend, name)
        return rows, backend.matrix.entries.rows_of(indptr, rows.size), rows.dtype
    rows, cols, _ = stored_entries(A, xp, name)
    return rows, cols, index_dtype(rows.size, rows.dtype, cols.dtype)


def canonical_csr(
    rows: Array, cols: Array, values: Array, n: int, index: DType, backend: Backend
) -> Triplets:
    """CSR arrays of triplets: sorted by (row, column), duplicates summed left to right as stored."""
    return backend.matrix.entries.canonical(rows, cols, values, n, index)


def _triplets(A: Any, dtype: DType, backend: Backend, name: str) -> tuple[Array, Array, Array, DType]:
    """Rows, columns and values of the entries of any format but CSR, and the index type for them."""
    xp = backend.xp
    if isinstance(A, xp.ndarray):
        rows, cols = xp.nonzero(A)
        return rows, cols, A[rows, cols], index_dtype(rows.size)
    if A.format == "csc":
        rows, cols, index = pattern_triplets(A, backend, name)  # `tocoo` may reorder duplicates
        return rows, cols, xp.ascontiguousarray(A.data, dtype=dtype), index
    rows, cols, values = stored_entries(A, xp, name)
    return rows, cols, values, index_dtype(values.size, rows.dtype, cols.dtype)


def compressed_pattern(A: Any, backend: Backend, name: str = "A") -> tuple[Array, Array]:
    """Checked copies of indptr and indices of a CSR or CSC matrix, whose values are not read."""
    indptr, indices = index_arrays(A, backend, name)
    scan = backend.matrix.entries.scan_indices(indptr, indices)
    check_indices(scan, indptr, indices, backend, name, MAJORS[A.format])
    return indptr, indices


def stored_entries(A: Any, xp: Any, name: str = "A") -> Triplets:
    """Rows, columns and values of a square matrix whose arrays `check_arrays` accepts; not of CSR and CSC.

    The values are not checked, and may be A's own array.
    """
    convert = _CONVERSIONS.get(getattr(A, "format", None))
    rows, cols, values = _coordinates(A.tocoo(), xp) if convert is None else convert(A, xp, name)
    check_coordinates(rows, cols, values, A.shape[0], name)
    return rows, cols, values


def _coordinates(A: Any, xp: Any, _: str = "A") -> Triplets:
    return xp.array(A.row, order="C"), xp.array(A.col, order="C"), A.data


def _blocks(A: Any, xp: Any, name: str) -> Triplets:
    """BSR: each block row by row."""
    data, n = A.data, A.shape[0]
    count, height, width = data.shape
    if not height or not width or n % height or n % width:
        raise ValueError(
            f"{name}.data must hold blocks whose sides divide {n}, got {height} x {width} blocks"
        )
    check_pointers(A, n // height, name)
    indptr, indices = xp.array(A.indptr, np.int64), xp.array(A.indices, np.int64)
    if indices.size != count:
        raise ValueError(f"{name}.indices must have one entry for each of {count} blocks, got {indices.size}")
    lengths = xp.diff(indptr)
    if indptr[0] != 0 or indptr[-1] != count or (lengths < 0).any():
        raise ValueError(f"{name}.indptr must rise from 0 to the number of stored blocks ({count})")
    check_range(f"{name}.indices", indices, n // width)
    first = height * xp.repeat(xp.arange(lengths.size), lengths)
    rows = first[:, None, None] + xp.arange(height)[:, None] + xp.zeros(width, np.int64)
    cols = width * indices[:, None, None] + xp.zeros((height, 1), np.int64) + xp.arange(width)
    index = index_dtype(n)
    return rows.reshape(-1).astype(index), cols.reshape(-1).astype(index), data.reshape(-1)


def _diagonals(A: Any, xp: Any, name: str) -> Triplets:
    """DIA: row by row, without zeros; ``data[k, j]`` is in column j, on the diagonal ``offsets[k]``."""
    data, n, offsets = A.data, A.shape[0], xp.array(A.offsets, np.int64)
    if offsets.size != data.shape[0]:
        raise ValueError(
            f"{name}.offsets must have one entry for each row of {name}.data ({data.shape[0]}), "
            f"got {offsets.size}"
        )
    columns = xp.arange(min(data.shape[1], n))
    order = xp.argsort(offsets, kind="stable")
    rows = columns - offsets[order][:, None]
    values = data[order, : columns.size]
    # An offset beyond the matrix may wrap around; its rows are outside as well.
    stored = (rows >= 0) & (rows < n) & (abs(offsets[order]) < max(n, 1))[:, None] & (values != 0)
    rows, cols, values = rows[stored], xp.broadcast_to(columns, stored.shape)[stored], values[stored]
    order, index = xp.argsort(rows, kind="stable"), index_dtype(n)
    return rows[order].astype(index), cols[order].astype(index), values[order]


def _lists(A: Any, xp: Any, name: str) -> Triplets:
    """LIL: the lists of each row."""
    n = A.shape[0]
    for field, lists in (("rows", A.rows), ("data", A.data)):
        if np.shape(lists) != (n,) or not all(isinstance(row, list) for row in lists):
            raise ValueError(f"{name}.{field} must hold one list for each of {n} rows")
    columns, values = [list(row) for row in A.rows], [list(row) for row in A.data]
    lengths = np.array([len(row) for row in columns], np.int64)
    if lengths.tolist() != [len(row) for row in values]:
        raise ValueError(f"{name}.rows and {name}.data must hold lists of the same lengths")
    cols = _integers(itertools.chain.from_iterable(columns), f"{name}.rows", n)
    numbers = _numbers(itertools.chain.from_iterable(values), A.dtype, f"{name}.data")
    return np.repeat(np.arange(n, dtype=cols.dtype), lengths), cols, numbers


def _dictionary(A: Any, xp: Any, name: str) -> Triplets:
    """DOK: the items of the dictionary."""
    items = list(A.items())
    if not all(isinstance(key, tuple) and len(key) == 2 for key, _ in items):
        raise TypeError(f"the keys of {name} must be pairs of integers")
    row_and_col = (_integers((key[i] for key, _ in items), f"the keys of {name}", A.shape[0]) for i in (0, 1))
    rows, cols = row_and_col
    return rows, cols, _numbers((value for _, value in items), A.dtype, f"the values of {name}")


def _integers(values: Any, field: str, n: int) -> Array:
    """Python or NumPy integers in [0, n) as an array."""
    found = list(values)
    if not all(isinstance(value, int | np.integer) for value in found):
        raise TypeError(f"{field} must hold integers")
    for value in (min(found, default=0), max(found, default=0)):
        if found and not 0 <= value < n:
            raise ValueError(f"{field} must lie in [0, {n}), got {value}")
    return np.array(found, index_dtype(n))


def _numbers(values: Any, dtype: DType, field: str) -> Array:
    try:
        return np.array(list(values), dtype)
    except (TypeError, ValueError, OverflowError) as error:
        raise TypeError(f"{field} must hold numbers of type {dtype} ({error})") from error


_CONVERSIONS: dict[str | None, Callable[[Any, Any, str], Triplets]] = {
    "coo": _coordinates,
    "bsr": _blocks,
    "dia": _diagonals,
    "lil": _lists,
    "dok": _dictionary,
}


def sparse_like(A: MatrixLike, data: Array, indices: Array, indptr: Array, shape: tuple[int, int]) -> Any:
    """Sorted CSR arrays as a sparse matrix or array like A, in A's format; for a dense A in CSR."""
    return csr_sparse_like(A, data, indices, indptr, shape).asformat(getattr(A, "format", "csr"))


def csr_sparse_like(A: Any, data: Array, indices: Array, indptr: Array, shape: tuple[int, int]) -> Any:
    """CSR arrays as a sparse matrix or array of A's library in CSR."""
    if not hasattr(A, "tocoo"):
        return csr(backend_of(data).sparse, data, indices, indptr, shape)
    kind = type(A) if A.format == "csr" else type(type(A)((1, 1)).tocsr())
    B = kind((data, indices, indptr), shape=shape)
    B.indices, B.indptr = indices, indptr  # the constructor may narrow them
    return B


def csr(sparse: Any, data: Array, indices: Array, indptr: Array, shape: int | tuple[int, ...]) -> Any:
    """A csr_array of arrays with sorted indices and no duplicates; an int means a square shape."""
    csr_type = getattr(sparse, "csr_array", None) or sparse.csr_matrix
    A = csr_type((data, indices, indptr), shape=shape if isinstance(shape, tuple) else (shape, shape))
    # The constructor may narrow int64 indices to int32; restore the caller's choice.
    A.indices, A.indptr = indices, indptr
    A.has_sorted_indices = True
    A.has_canonical_format = True
    return A
