"""CSR arrays are returned as a sparse matrix of the user's library, class and format."""

from __future__ import annotations

from typing import Any

from linforest_precond.backends import backend_of
from linforest_precond.backends.annotations import Array, MatrixLike


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
