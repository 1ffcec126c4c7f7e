"""Factors and forests from users are copied and validated before kernels use their indices."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from linforest_precond.backends import Backend
from linforest_precond.backends.annotations import Array
from linforest_precond.matrix.checks import check_device
from linforest_precond.records.forest import Factor, Forest, Ordering


def checked_forest(forest: Forest, n: int, backend: Backend, name: str = "forest") -> Forest:
    """A forest of n vertices with an order and neighbours of its own: those are what kernels follow."""
    check_device(name, forest, backend)
    neighbors = _copied(f"{name}.neighbors", forest.neighbors, (n, 2), backend)
    order = _copied(f"{name}.order", forest.order, (n,), backend)
    if order.dtype != neighbors.dtype:
        raise TypeError(
            f"{name}.order and {name}.neighbors must have one type, got {order.dtype} and {neighbors.dtype}"
        )
    checks = backend.forest.record_checks
    rank, place = checks.rank_order(order)
    if place >= 0:
        raise ValueError(
            f"{name}.order must be a permutation of 0 to {n - 1}, got {int(order[place])} at {place}, "
            "which is out of range or occurs twice"
        )
    vertex = checks.first_stray(neighbors, rank)
    if vertex >= 0:
        raise ValueError(
            f"{name}.neighbors must be next to their vertices in {name}.order, "
            f"got {neighbors[vertex].tolist()} at vertex {vertex}"
        )
    return replace(forest, neighbors=neighbors, ordering=Ordering(order, rank))


def checked_factor(factor: Factor) -> Factor:
    """A [0,2]-factor with arrays of its own."""
    backend, shape = factor.backend, np.shape(factor.neighbors)
    if len(shape) != 2 or shape[1] != 2:
        raise ValueError(f"a linear forest needs a factor with n = 2, got A.neighbors of shape {shape}")
    neighbors = _copied("A.neighbors", factor.neighbors, shape, backend)
    vertex = backend.forest.record_checks.first_unpaired(neighbors)
    if vertex >= 0:
        raise ValueError(
            f"A.neighbors must hold both ends of each edge, ascending, with -1 in empty places, "
            f"got {neighbors[vertex].tolist()} at vertex {vertex}"
        )
    values, slots = factor.values, factor.slots
    if np.shape(values) != shape or str(getattr(values, "dtype", "")) not in ("float32", "float64"):
        raise ValueError(
            f"A.values must have shape {shape} and float32 or float64 numbers, "
            f"got shape {np.shape(values)} of {getattr(values, 'dtype', type(values).__name__)}"
        )
    values = backend.xp.array(values)
    if slots is not None:
        slots = _copied("A.slots", slots, shape, backend).astype(neighbors.dtype, copy=False)
    return replace(factor, neighbors=neighbors, values=values, slots=slots)


def _copied(field: str, array: Any, shape: tuple[int, ...], backend: Backend) -> Array:
    """A copy of an array of indices."""
    if not isinstance(array, backend.xp.ndarray) or array.dtype.name not in ("int32", "int64"):
        kind = getattr(array, "dtype", type(array).__name__)
        raise TypeError(f"{field} must be an array of int32 or int64 on {backend.name}, got {kind}")
    if array.shape != shape:
        raise ValueError(f"{field} must have shape {shape}, got {array.shape}")
    return backend.xp.array(array, order="C")
