"""Keys of hashes, and the finalizer of splitmix64 on arrays: the same numbers on every backend."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

_MASK = 2**64 - 1
_GOLDEN = 0x9E3779B97F4A7C15
_MULTIPLIERS = 0xBF58476D1CE4E5B9, 0x94D049BB133111EB

GOLDEN = np.uint64(_GOLDEN)
FIRST_MULTIPLIER, SECOND_MULTIPLIER = (np.uint64(word) for word in _MULTIPLIERS)
VERTEX_STRIDE = np.uint64(0xD1342543DE82EF95)
HIGH_STRIDE = np.uint64(0xC2B2AE3D27D4EB4F)
SHIFT_11, SHIFT_27, SHIFT_30, SHIFT_31 = (np.uint64(bits) for bits in (11, 27, 30, 31))


@functools.lru_cache(maxsize=1024)
def iteration_keys(seed: int, k: int) -> tuple[np.uint64, np.uint32]:
    """The keys of the hashes in iteration `k`: one for charges, one for ties."""
    charge_key = _mix64_int(seed + _GOLDEN * (2 * k + 1))
    tie_key = _mix64_int(seed + _GOLDEN * (2 * k + 2))
    return np.uint64(charge_key), np.uint32(tie_key & 0xFFFFFFFF)


def edge_order_key(seed: int) -> np.uint32:
    """The key of the hash that orders equal weights, the same in all iterations."""
    return np.uint32(_mix64_int(seed) & 0xFFFFFFFF)


def _mix64_int(z: int) -> int:
    """`mix64` in Python's integers, which do not overflow."""
    z &= _MASK
    z = ((z ^ (z >> 30)) * _MULTIPLIERS[0]) & _MASK
    z = ((z ^ (z >> 27)) * _MULTIPLIERS[1]) & _MASK
    return z ^ (z >> 31)


def mixed(z: Any) -> Any:
    """The finalizer of splitmix64 (Steele, Lea & Flood 2014) of 64-bit words: all bits depend on all bits."""
    z = (z ^ (z >> SHIFT_30)) * FIRST_MULTIPLIER
    z = (z ^ (z >> SHIFT_27)) * SECOND_MULTIPLIER
    return z ^ (z >> SHIFT_31)
