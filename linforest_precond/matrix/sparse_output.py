"""Computed CSR arrays as a sparse matrix of the user's library, kind (matrix or array) and format."""

from __future__ import annotations

from typing import Any

from linforest_precond.annotations import Array, MatrixLike
from linforest_precond.backends import backend_of
from linforest_precond.matrices.arrays import array_modules, csr


def sparse_like(A: MatrixLike, data: Array, indices: Array, indptr: Array, shape: tuple[int, int]) -> Any:
    """Give the matrix of sorted CSR arrays as a sparse matrix or array like A, in A's format.

    For a dense A it is a sparse array (a sparse matrix where CuPy has no arrays) in CSR.

    Examples
    --------
    >>> import numpy as np
    >>> import scipy.sparse
    >>> from linforest_precond.sparse_output import sparse_like
    >>> A = scipy.sparse.csc_matrix((2, 2))
    >>> type(sparse_like(A, np.ones(1), np.array([2]), np.array([0, 1]), (1, 3))).__name__
    'csc_matrix'
    """
    return csr_sparse_like(A, data, indices, indptr, shape).asformat(getattr(A, "format", "csr"))


def csr_sparse_like(A: Any, data: Array, indices: Array, indptr: Array, shape: tuple[int, int]) -> Any:
    """The same in CSR, whatever A's format is.

    Examples
    --------
    >>> import numpy as np
    >>> import scipy.sparse
    >>> from linforest_precond.sparse_output import csr_sparse_like
    >>> A = scipy.sparse.csc_matrix((2, 2))
    >>> type(csr_sparse_like(A, np.ones(1), np.array([2]), np.array([0, 1]), (1, 3))).__name__
    'csr_matrix'
    """
    if not hasattr(A, "tocoo"):
        return csr(array_modules(backend_of(data).name)[1], data, indices, indptr, shape)
    kind = type(A) if A.format == "csr" else type(type(A)((1, 1)).tocsr())
    B = kind((data, indices, indptr), shape=shape)
    B.indices, B.indptr = indices, indptr  # the constructor may narrow them
    return B
