"""Vectors that users pass in: their checks and norms."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from linforest_precond.backends import Backend, backend_of
from linforest_precond.backends.annotations import Array
from linforest_precond.interop.dlpack import native_array, type_name
from linforest_precond.matrix.checks import check_device, check_finite, value_dtype


def checked_vectors(name: str, vectors: Any, n: int, backend: Backend) -> Array:
    """One or several vectors of n finite numbers on the backend."""
    array = shaped_vectors(name, vectors, n, backend)
    check_finite(name, array)
    return array


def shaped_vectors(name: str, vectors: Any, n: int, backend: Backend) -> Array:
    """One or several vectors of n numbers on the backend."""
    if hasattr(vectors, "tocsr"):
        raise TypeError(f"{name} must be a dense array, got a {type_name(vectors)}: pass {name}.toarray()")
    check_device(name, vectors, backend)
    array: Array = backend.xp.asarray(native_array(name, vectors))
    if not array.ndim and array.dtype.kind in "OSU":
        raise TypeError(f"{name} must be an array of {n} numbers, got {vectors!r}")
    value_dtype(name, array.dtype)
    if array.ndim not in (1, 2) or array.shape[0] != n:
        transposed = f": pass {name}.T" if array.ndim == 2 and array.shape[1] == n else ""
        raise ValueError(
            f"{name} must have the shape ({n},) or ({n}, k), got {tuple(array.shape)}{transposed}"
        )
    return array


def norms_of(columns: Array, inner: Callable[[Array, Array], Any] | None) -> Array:
    """The norms of the columns, on the host: Euclidean without overflow, or by a given inner product."""
    if inner is not None:  # also without rows: other ranks may have some
        return np.array([_norm_by(inner, column) for column in columns.T])
    if not columns.size:
        return np.zeros(columns.shape[1])
    return backend_of(columns).krylov.norms.column_norms(columns)


def _norm_by(inner: Callable[[Array, Array], Any], column: Array) -> float:
    """The norm by a given inner product; again with a scaled vector where its square left the number range.

    Decided by the inner product alone, which is the same on all ranks.
    """
    limits = np.finfo(column.dtype)
    shift = 5 * int(limits.maxexp) // 8
    for exponent in (0, -shift, shift):
        scaled = column * column.dtype.type(2.0**exponent) if exponent else column
        square = complex(inner(scaled, scaled))
        size = math.hypot(square.real, square.imag)
        if limits.tiny / limits.eps < size < math.inf:
            with np.errstate(over="ignore"):
                return float(np.ldexp(math.sqrt(size), -exponent))
    return math.sqrt(size)
