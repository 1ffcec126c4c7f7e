"""Checks of a scaling that a user gives: kernels follow its permutation and its partners."""

from __future__ import annotations

from typing import Any

import numpy as np

from linforest_precond.backends import Backend
from linforest_precond.backends.annotations import Array


def checked_factors(given: Any, name: str, n: int, backend: Backend) -> Array:
    """A copy of the factors of rows or columns."""
    factors = _array(given, name, n, backend).astype(np.float64)
    # stall: the factors of a user are checked
    if not bool(((factors > 0) & backend.xp.isfinite(factors)).all()):
        raise ValueError(f"{name} must hold positive, finite factors, got others")
    return factors


def checked_partners(given: Any, n: int, backend: Backend) -> Array:
    """A copy of the partners of rows."""
    partners = _array(given, "scaling.partners", n, backend).copy()
    own = backend.xp.arange(n)
    inside = backend.xp.clip(partners, 0, max(n - 1, 0))
    mutual = (partners < 0) | ((inside == partners) & (partners[inside] == own) & (partners != own))
    if partners.dtype.kind != "i" or not bool(mutual.all()):  # stall: the partners of a user are checked
        raise ValueError("scaling.partners must be mutual, with -1 for rows that have none, got others")
    return partners


def _array(given: Any, name: str, n: int, backend: Backend) -> Array:
    if not isinstance(given, backend.xp.ndarray):
        raise TypeError(f"{name} must be an array on A's device ({backend.name}), got {type(given).__name__}")
    if given.shape != (n,):
        raise ValueError(f"{name} must have one number for each of A's {n} rows, got shape {given.shape}")
    array: Array = given
    return array
