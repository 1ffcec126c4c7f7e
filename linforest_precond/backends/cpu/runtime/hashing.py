"""The hashes that charge vertices, break ties and prove symmetry.

Charges and ties are the same on every backend.

All arithmetic wraps, modulo 2**64 or 2**32. Inside kernels every operand is cast to an unsigned type by hand,
because Numba turns a mix of int64 and uint64 into float64, and of uint32 and int64 into int64.
"""

import numpy as np

from .jit import helper

_MASK = 2**64 - 1
_GOLDEN = 0x9E3779B97F4A7C15
_MULTIPLIERS = 0xBF58476D1CE4E5B9, 0x94D049BB133111EB

GOLDEN = np.uint64(_GOLDEN)
FIRST_MULTIPLIER, SECOND_MULTIPLIER = (np.uint64(word) for word in _MULTIPLIERS)
VERTEX_STRIDE = np.uint64(0xD1342543DE82EF95)
HIGH_STRIDE = np.uint64(0xC2B2AE3D27D4EB4F)
SHIFT_11, SHIFT_27, SHIFT_30, SHIFT_31 = (np.uint64(bits) for bits in (11, 27, 30, 31))

LOW_STRIDE_32, HIGH_STRIDE_32 = np.uint32(0x9E3779B1), np.uint32(0x85EBCA77)
FIRST_MULTIPLIER_32, SECOND_MULTIPLIER_32 = np.uint32(0x85EBCA6B), np.uint32(0xC2B2AE35)
SHIFT_1, SHIFT_5, SHIFT_13, SHIFT_16 = (np.uint32(bits) for bits in (1, 5, 13, 16))


def iteration_keys(seed, k):
    """The two words that make iteration `k` differ from the others: one for charges, one for ties."""
    charge_key = _mix64_int(seed + _GOLDEN * (2 * k + 1))
    tie_key = _mix64_int(seed + _GOLDEN * (2 * k + 2))
    return np.uint64(charge_key), np.uint32(tie_key & 0xFFFFFFFF)


def _mix64_int(z):
    """`mix64` in Python's integers, which do not wrap by themselves."""
    z &= _MASK
    z = ((z ^ (z >> 30)) * _MULTIPLIERS[0]) & _MASK
    z = ((z ^ (z >> 27)) * _MULTIPLIERS[1]) & _MASK
    return z ^ (z >> 31)


# The finalizer of splitmix64: every bit of the result depends on every bit of z.
@helper
def mix64(z):
    z = (z ^ (z >> SHIFT_30)) * FIRST_MULTIPLIER
    z = (z ^ (z >> SHIFT_27)) * SECOND_MULTIPLIER
    return z ^ (z >> SHIFT_31)


# Whether a vertex is positive in this iteration; `threshold` is the probability times 2**53.
@helper
def is_positive(vertex, charge_key, threshold):
    return (mix64(charge_key + np.uint64(vertex) * VERTEX_STRIDE) >> SHIFT_11) < threshold


# The finalizer of MurmurHash3, on 32 bits.
@helper
def mix32(z):
    z = np.uint32((z ^ (z >> SHIFT_16)) * FIRST_MULTIPLIER_32)
    z = np.uint32((z ^ (z >> SHIFT_13)) * SECOND_MULTIPLIER_32)
    return np.uint32(z ^ (z >> SHIFT_16))


# Equal weights of a charged iteration are ordered by this, the same seen from either end.
@helper
def edge_hash(u, v, tie_key):
    low, high = np.uint32(min(u, v)), np.uint32(max(u, v))
    return mix32(np.uint32(tie_key + low * LOW_STRIDE_32 + high * HIGH_STRIDE_32))


# Vertices of one class are ordered by this: 27 bits, which fill a word with five for the class and an index.
@helper
def vertex_hash(vertex, tie_key):
    return np.uint32(mix32(np.uint32(tie_key + np.uint32(vertex) * LOW_STRIDE_32)) >> SHIFT_5)


# The sum of the ends' places in a random order of the vertices, the same seen from either end: at each vertex
# its neighbours come in that order.
@helper
def order_hash(u, v, tie_key):
    first = mix32(np.uint32(tie_key + np.uint32(u) * LOW_STRIDE_32))
    second = mix32(np.uint32(tie_key + np.uint32(v) * LOW_STRIDE_32))
    return np.uint32((first >> SHIFT_1) + (second >> SHIFT_1))


# An entry's share in the symmetry check; `bits` are those of its magnitude.
@helper
def symmetry_hash(u, v, bits):
    low, high = np.uint64(min(u, v)), np.uint64(max(u, v))
    return mix64((low * GOLDEN + high * HIGH_STRIDE) ^ bits)
