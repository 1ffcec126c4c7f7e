"""Vectors that users pass in: their checks and norms; and the interface of operators applied in place."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from linforest_precond.annotations import Array, DType
from linforest_precond.backends import Backend, backend_of
from linforest_precond.gate import value_dtype


class InPlaceOperator:
    """An operator of this package, which solvers apply without allocating and may capture in CUDA graphs."""

    @property
    def stored_dtype(self) -> DType:
        """The type of the numbers that are kept."""
        raise NotImplementedError

    def times_power_of_two(self, exponent: int) -> InPlaceOperator:
        """The operator times 2**exponent."""
        raise NotImplementedError

    def apply_into(self, b: Array, x: Array, transpose: bool) -> None:
        """Write the product with the columns of b into x; both are (n, k) arrays and not checked."""
        raise NotImplementedError

    def frozen(self) -> InPlaceOperator:
        """The operator with its present values, which updates do not change."""
        raise NotImplementedError


def checked_vectors(name: str, vectors: Any, n: int, backend: Backend) -> Array:
    """One or several vectors of n finite numbers on the backend."""
    if backend_of(vectors) is not backend:
        raise TypeError(f"{name} must be on {backend.name} like A, got a {type_name(vectors)}")
    xp = backend.xp
    array: Array = xp.asarray(vectors)
    if array.ndim not in (1, 2) or array.shape[0] != n:
        raise ValueError(f"{name} must have the shape ({n},) or ({n}, k), got {tuple(array.shape)}")
    value_dtype(name, array.dtype)
    if not bool(xp.isfinite(array).all()):  # stall: NaN and infinity are refused before any work
        raise ValueError(f"{name} must be finite, got nan or inf")
    return array


def norms_of(columns: Array, inner: Callable[[Array, Array], Any] | None) -> Array:
    """The norms of the columns, on the host: Euclidean without overflow, or by a given inner product."""
    xp = backend_of(columns).xp
    if not columns.size:
        return np.zeros(columns.shape[1])
    if inner is not None:
        squares = (complex(inner(column, column)) for column in columns.T)
        return np.array([math.sqrt(math.hypot(square.real, square.imag)) for square in squares])
    with np.errstate(all="ignore"):  # infinite where the norm overflows, NaN for numbers that are not finite
        magnitudes = abs(columns.astype(np.promote_types(columns.dtype, np.float64), copy=False))
        largest = xp.maximum(magnitudes.max(axis=0), np.finfo(float).tiny)
        norms = largest * xp.sqrt(((magnitudes / largest) ** 2).sum(axis=0))
    on_host: Array = norms if xp is np else norms.get()  # stall: tolerances are relative to it
    return on_host


def type_name(thing: object) -> str:
    """The type of an argument, with its module, for error messages."""
    return f"{type(thing).__module__}.{type(thing).__qualname__}"
