"""Vectors that users pass in: their checks and norms, and the operators that write into given vectors."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from linforest_precond.backends import backend_of
from linforest_precond.gate import value_dtype


class InPlaceOperator:
    """An operator of this package, which solvers apply without allocating and may capture in CUDA graphs."""

    stored_dtype: Any

    def apply_into(self, b: Any, x: Any, transpose: bool) -> None:
        """Write the product with the columns of b into x; both are (n, k) arrays and not checked."""
        raise NotImplementedError


def checked_vectors(name: str, vectors: Any, n: int, backend: Any) -> Any:
    """One or several vectors of n finite numbers on the backend."""
    if backend_of(vectors) is not backend:
        raise TypeError(f"{name} must be on {backend.name} like A, got a {type_name(vectors)}")
    xp = backend.xp
    vectors = xp.asarray(vectors)
    if vectors.ndim not in (1, 2) or vectors.shape[0] != n:
        raise ValueError(f"{name} must have the shape ({n},) or ({n}, k), got {tuple(vectors.shape)}")
    value_dtype(name, vectors.dtype)
    if not bool(xp.isfinite(vectors).all()):  # stall: NaN and infinity are refused before any work
        raise ValueError(f"{name} must be finite, got nan or inf")
    return vectors


def norms_of(columns: Any, inner: Any) -> np.ndarray:
    """The norms of the columns, on the host."""
    xp = backend_of(columns).xp
    if not columns.size:
        return np.zeros(columns.shape[1])
    if inner is not None:
        return np.array([math.sqrt(abs(complex(inner(column, column)))) for column in columns.T])
    sizes = abs(columns.astype(np.promote_types(columns.dtype, np.float64), copy=False))
    largest = xp.maximum(sizes.max(axis=0), np.finfo(float).tiny)
    norms = largest * xp.sqrt(((sizes / largest) ** 2).sum(axis=0))
    return norms if xp is np else norms.get()  # stall: tolerances are relative to it


def type_name(thing: Any) -> str:
    """The type of an argument, with its module, for error messages."""
    return f"{type(thing).__module__}.{type(thing).__qualname__}"
