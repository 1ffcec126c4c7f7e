"""The door out: arrays as a matrix of the library, kind and format that the user works with."""

from __future__ import annotations

from typing import Any

from linforest_precond.backends import backend_of
from linforest_precond.matrices.arrays import array_modules, csr


def csr_like(A: Any, data: Any, indices: Any, indptr: Any, shape: tuple[int, int]) -> Any:
    """Give the matrix of sorted CSR arrays as A is given: a sparse matrix or array, in A's format.

    For a dense A it is a sparse array (a sparse matrix where CuPy has no arrays) in CSR.

    Examples
    --------
    >>> import numpy as np
    >>> import scipy.sparse
    >>> from linforest_precond.sparse_output import csr_like
    >>> A = scipy.sparse.csc_matrix((2, 2))
    >>> type(csr_like(A, np.ones(1), np.array([2]), np.array([0, 1]), (1, 3))).__name__
    'csc_matrix'
    """
    B = csr_of_kind(A, data, indices, indptr, shape)
    return B.asformat(A.format) if hasattr(A, "tocoo") else B


def csr_of_kind(A: Any, data: Any, indices: Any, indptr: Any, shape: tuple[int, int]) -> Any:
    """The same in CSR whatever A's format is.

    Examples
    --------
    >>> import numpy as np
    >>> import scipy.sparse
    >>> from linforest_precond.sparse_output import csr_of_kind
    >>> A = scipy.sparse.csc_matrix((2, 2))
    >>> type(csr_of_kind(A, np.ones(1), np.array([2]), np.array([0, 1]), (1, 3))).__name__
    'csr_matrix'
    """
    if not hasattr(A, "tocoo"):
        return csr(array_modules(backend_of(data).name)[1], data, indices, indptr, shape)
    kind = type(A) if A.format == "csr" else type(type(A)((1, 1)).tocsr())
    B = kind((data, indices, indptr), shape=shape)
    B.indices, B.indptr = indices, indptr  # the constructor may narrow them
    return B
