"""The hashes of the CPU backend's `runtime/hashing.py`, for arrays of NumPy."""

from __future__ import annotations

import numpy as np

from linforest_precond.backends.annotations import Array
from linforest_precond.backends.hash_keys import GOLDEN, HIGH_STRIDE, SHIFT_11, VERTEX_STRIDE, mixed


def are_positive(vertices: Array, charge_key: np.uint64, threshold: np.uint64) -> Array:
    """Whether the charges of vertices are positive, with a probability of the threshold / 2**53."""
    words = mixed(charge_key + vertices.astype(np.uint64) * VERTEX_STRIDE)
    return (words >> SHIFT_11) < threshold


def edge_words(sources: Array, targets: Array, weights: Array | None = None) -> Array:
    """A word for each edge, the same for both directions."""
    low, high = np.minimum(sources, targets), np.maximum(sources, targets)
    words = low.astype(np.uint64) * GOLDEN + high.astype(np.uint64) * HIGH_STRIDE
    return mixed(words if weights is None else words ^ weights.view(np.uint64))
