"""Matrices of any shape: their CSR arrays, and the checks of a user's."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from linforest_precond.backends import Backend, OnBackend, backend_of
from linforest_precond.backends.annotations import Array, DType, MatrixLike
from linforest_precond.backends.array_libraries import xp_of
from linforest_precond.backends.returns import CSRArrays
from linforest_precond.matrix.checks import (
    check_arrays,
    check_entries,
    check_indices,
    check_pointers,
    check_range,
    value_dtype,
)
from linforest_precond.matrix.conversion import as_matrix, canonical_csr, index_dtype


@dataclass(frozen=True, eq=False)
class RectangularCSR(OnBackend):
    """The CSR arrays of a matrix of any shape; columns strictly increase in each row."""

    indptr: Array
    indices: Array
    data: Array
    width: int

    @classmethod
    def of(cls, arrays: CSRArrays, width: int) -> RectangularCSR:
        return cls(*arrays, width)

    @property
    def n(self) -> int:
        return self.indptr.size - 1

    @property
    def arrays(self) -> CSRArrays:
        return self.indptr, self.indices, self.data

    def indexed_by(self, index: DType) -> RectangularCSR:
        """The matrix with indices of another type."""
        indptr, indices = (array.astype(index, copy=False) for array in (self.indptr, self.indices))
        return RectangularCSR(indptr, indices, self.data, self.width)


def checked_rectangle(A: MatrixLike, name: str = "A") -> RectangularCSR:
    """Check a sparse or dense matrix of any shape; of a dense one, nonzeros are the stored entries.

    Examples
    --------
    >>> import numpy as np
    >>> from linforest_precond.matrix.rectangles import checked_rectangle
    >>> H = checked_rectangle(np.array([[1.0, 0.0, 2.0]]))
    >>> H.indptr.tolist(), H.indices.tolist(), H.width
    ([0, 2], [0, 2], 3)
    """
    backend = backend_of(A)
    matrix = as_matrix(A, backend.xp, name)
    if len(matrix.shape) != 2:
        raise ValueError(
            f"{name} must be 2-D, got {len(matrix.shape)} dimension(s), shape {tuple(matrix.shape)}"
        )
    if max(matrix.shape) > backend.max_rows:
        raise ValueError(
            f"{name} must have at most {backend.max_rows} rows and columns on {backend.name}, "
            f"got shape {tuple(matrix.shape)}"
        )
    if not isinstance(matrix, backend.xp.ndarray):
        check_arrays(matrix, backend, name)
    arrays = _csr_arrays(matrix, value_dtype(name, matrix.dtype), backend, name)
    return RectangularCSR.of(arrays, int(matrix.shape[1]))


def _csr_arrays(A: Any, dtype: DType, backend: Backend, name: str) -> CSRArrays:
    """Sorted CSR arrays without duplicates; all arrays of A are checked before they are followed."""
    xp, (rows, columns) = backend.xp, map(int, A.shape)
    if isinstance(A, xp.ndarray):
        i, j = xp.nonzero(A)
        return _from_triplets(i, j, A[i, j], A.shape, dtype, backend, name)
    if A.format not in ("csr", "csc"):
        A = A.tocoo()
        if not A.row.size == A.col.size == A.data.size:
            raise ValueError(f"{name}.row, {name}.col and {name}.data must have one length")
        places = xp.array(A.row), xp.array(A.col)
        return _from_triplets(*places, A.data, A.shape, dtype, backend, name)
    major, along, across = ("row", rows, columns) if A.format == "csr" else ("column", columns, rows)
    check_pointers(A, along, name)
    if A.indices.size != A.data.size:
        raise ValueError(f"{name}.indices and {name}.data must have one length")
    index = index_dtype(A.indices.size, A.indptr.dtype, A.indices.dtype)
    indptr, indices = xp.array(A.indptr, dtype=index), xp.array(A.indices, dtype=index)
    data = xp.ascontiguousarray(A.data, dtype=dtype)
    # The scan takes square matrices: empty rows are appended where there are more columns.
    padding = xp.full(max(across - along, 0), A.indices.size, index)
    padded = xp.concatenate([indptr, padding])
    if major == "column":
        scan = backend.matrix.entries.scan_indices(padded, indices)
        check_indices(scan, padded, indices, backend, name, major)
    else:
        entry_scan = backend.matrix.entries.scan(padded, indices, data)
        check_entries(entry_scan, padded, indices, data, backend, name)
        if entry_scan.sorted:
            check_range(f"{name}.indices", indices, across)
            return indptr, indices, data
    majors = backend.matrix.entries.rows_of(indptr, indices.size)
    places = (majors, indices) if major == "row" else (indices, majors)
    return _from_triplets(*places, data, A.shape, dtype, backend, name)


def _from_triplets(
    rows: Array, columns: Array, values: Array, shape: Any, dtype: DType, backend: Backend, name: str
) -> CSRArrays:
    check_range(f"the rows of {name}", rows, shape[0])
    check_range(f"the columns of {name}", columns, shape[1])
    side, index = max(shape), index_dtype(values.size, rows.dtype, columns.dtype)
    values = backend.xp.ascontiguousarray(values, dtype=dtype)
    indptr, indices, data = canonical_csr(rows, columns, values, side, index, backend)
    # Checked here, as the sum of duplicates may overflow.
    scan = backend.matrix.entries.scan(indptr, indices, data)
    check_entries(scan, indptr, indices, data, backend, name)
    return indptr[: shape[0] + 1].copy(), indices, data


def kept(arrays: CSRArrays, mask: Array) -> CSRArrays:
    """The CSR arrays without the entries that are not in the mask."""
    indptr, indices, data = arrays
    before = xp_of(mask).zeros(mask.size + 1, indptr.dtype)
    xp_of(mask).cumsum(mask, out=before[1:])
    return before[indptr], indices[mask], data[mask]
