"""Checks of shape, device and types for the generators, and the construction of csr_arrays."""

from __future__ import annotations

import math
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import scipy.sparse

from linforest_precond.backends import require_device
from linforest_precond.backends.annotations import DType
from linforest_precond.backends.arguments import as_dtype, as_integer
from linforest_precond.matrix.checks import VALUE_DTYPES
from linforest_precond.matrix.conversion import csr

# None and "cpu" mean SciPy, "cuda" means cupyx.
Device: TypeAlias = str | None
# scipy.sparse.csr_array, or cupyx.scipy.sparse.csr_matrix, which have no common type.
CsrArray: TypeAlias = Any

INDEX_DTYPES = (np.int32, np.int64)
LARGEST_INT32 = 2**31 - 1
MOST_VERTICES = 2**59  # NumPy has no arrays of more 64-bit integers


def array_modules(device: Device) -> tuple[Any, Any]:
    """The array module and the sparse module of a device."""
    if device is None or device == "cpu":
        return np, scipy.sparse
    if device != "cuda":
        raise ValueError(f'device must be None, "cpu" or "cuda", got {device!r}')
    require_device(device)
    import cupy
    import cupyx.scipy.sparse

    return cupy, cupyx.scipy.sparse


def grid_shape(shape: Any, name: str = "shape") -> tuple[int, ...]:
    """The argument as a tuple of positive lengths."""
    lengths = shape if isinstance(shape, (tuple, list, np.ndarray)) else (shape,)
    try:
        lengths = tuple(as_integer(name, length) for length in lengths)
    except TypeError:
        raise TypeError(f"{name} must be an integer for each axis, got {shape!r}") from None
    if not lengths:
        raise ValueError(f"{name} must name at least one axis, got {shape!r}")
    if min(lengths) < 1:
        raise ValueError(f"{name} must be at least 1 along every axis, got {shape!r}")
    if math.prod(lengths) >= MOST_VERTICES:
        raise ValueError(f"{name} must give fewer than 2**59 vertices, got {shape!r}")
    return lengths


def value_type(dtype: npt.DTypeLike) -> DType:
    """The argument as a supported dtype of values."""
    found = as_dtype("dtype", dtype)
    if found not in VALUE_DTYPES:
        raise TypeError(f"dtype must be float32, float64, complex64 or complex128, got {found}")
    return found


def index_type(index_dtype: npt.DTypeLike | None, largest: int) -> DType:
    """The argument as int32 or int64; None is the narrower one that holds `largest`."""
    if index_dtype is None:
        return np.dtype(np.int32 if largest <= LARGEST_INT32 else np.int64)
    found = as_dtype("index_dtype", index_dtype)
    if found not in INDEX_DTYPES:
        raise TypeError(f"index_dtype must be int32 or int64, got {found}")
    if largest > np.iinfo(found).max:
        raise ValueError(f"index_dtype int32 is too narrow for {largest} entries; int64 or None works")
    return found


def from_host(A: Any, dtype: npt.DTypeLike, device: Device, index_dtype: npt.DTypeLike | None) -> CsrArray:
    """A square SciPy matrix as a csr_array of the given types on a device."""
    array_modules(device)  # raises for an unusable device before any work
    A = A.tocsr()
    A.sum_duplicates()
    index_dtype = index_type(index_dtype, max(A.shape[0], A.nnz))
    indices, indptr = (part.astype(index_dtype, copy=False) for part in (A.indices, A.indptr))
    data = A.data.astype(value_type(dtype), copy=False)
    return on_device(csr(scipy.sparse, data, indices, indptr, A.shape), device)


def on_device(A: CsrArray, device: Device) -> CsrArray:
    """A SciPy csr_array with sorted indices and no duplicates, copied to a device."""
    xp, sparse = array_modules(device)
    if xp is np:
        return A
    data, indices, indptr = (xp.asarray(part) for part in (A.data, A.indices, A.indptr))
    return csr(sparse, data, indices, indptr, A.shape)
