"""What generators share: where a matrix lives, its types, and how its arrays become a csr_array."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
import scipy.sparse

VALUE_DTYPES = (np.float32, np.float64, np.complex64, np.complex128)
INDEX_DTYPES = (np.int32, np.int64)
LARGEST_INT32 = 2**31 - 1


def array_modules(device) -> tuple[Any, Any]:
    """The array module and the sparse module of a device."""
    if device is None or device == "cpu":
        return np, scipy.sparse
    if device != "cuda":
        raise ValueError(f'device must be None, "cpu" or "cuda", got {device!r}')
    _require_gpu()
    import cupy
    import cupyx.scipy.sparse

    return cupy, cupyx.scipy.sparse


def _require_gpu():
    from linforest_precond.backends import cuda_status

    usable, reason = cuda_status()
    if not usable:
        raise ValueError(f'device="cuda" needs a usable GPU: {reason}; device="cpu" works everywhere')


def integer(value, name):
    if isinstance(value, (bool, np.bool_)):
        raise TypeError(f"{name} must be an integer, got {value!r}")
    try:
        return operator.index(value)
    except TypeError:
        raise TypeError(f"{name} must be an integer, got {value!r}") from None


def grid_shape(shape, name="shape"):
    lengths = shape if isinstance(shape, (tuple, list, np.ndarray)) else (shape,)
    lengths = tuple(integer(length, name) for length in lengths)
    if not lengths:
        raise ValueError(f"{name} must name at least one axis, got {shape!r}")
    if min(lengths) < 1:
        raise ValueError(f"{name} must be at least 1 along every axis, got {shape!r}")
    return lengths


def value_type(dtype):
    dtype = np.dtype(dtype)
    if dtype not in VALUE_DTYPES:
        raise TypeError(f"dtype must be float32, float64, complex64 or complex128, got {dtype}")
    return dtype


def index_type(index_dtype, largest):
    if index_dtype is None:
        return np.dtype(np.int32 if largest <= LARGEST_INT32 else np.int64)
    index_dtype = np.dtype(index_dtype)
    if index_dtype not in INDEX_DTYPES:
        raise TypeError(f"index_dtype must be int32 or int64, got {index_dtype}")
    if largest > np.iinfo(index_dtype).max:
        raise ValueError(f"index_dtype int32 is too narrow for {largest} entries; int64 or None works")
    return index_dtype


def csr(sparse, data, indices, indptr, shape):
    """A csr_array of these arrays, sorted and without duplicates; one number means a square shape."""
    csr_type = getattr(sparse, "csr_array", None) or sparse.csr_matrix
    A = csr_type((data, indices, indptr), shape=shape if isinstance(shape, tuple) else (shape, shape))
    # Constructors may narrow int64 indices that fit int32; the caller's choice stands.
    A.indices, A.indptr = indices, indptr
    A.has_sorted_indices = True
    A.has_canonical_format = True
    return A


def from_host(A, dtype, device, index_dtype):
    """A matrix of SciPy, square and built on the CPU, as csr_array of these types on a device."""
    array_modules(device)  # complains before any work is done
    A = A.tocsr()
    A.sum_duplicates()
    index_dtype = index_type(index_dtype, max(A.shape[0], A.nnz))
    indices, indptr = (part.astype(index_dtype, copy=False) for part in (A.indices, A.indptr))
    data = A.data.astype(value_type(dtype), copy=False)
    return on_device(csr(scipy.sparse, data, indices, indptr, A.shape), device)


def on_device(A, device):
    """A csr_array of SciPy, sorted and without duplicates, on a device."""
    xp, sparse = array_modules(device)
    if xp is np:
        return A
    return csr(sparse, *(xp.asarray(part) for part in (A.data, A.indices, A.indptr)), A.shape)
