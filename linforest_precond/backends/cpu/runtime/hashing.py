"""Hash functions: for the charges and the order of vertices, for ties, and for the symmetry check.

Charges and ties are the same on every backend (kernels/runtime/hashing.cuh).

All arithmetic is modulo 2**64 or 2**32. Inside kernels every operand is cast to an unsigned type explicitly,
because Numba promotes int64 with uint64 to float64, and uint32 with int64 to int64.
"""

import numpy as np
from numba import prange

from linforest_precond.backends.hash_keys import GOLDEN as GOLDEN
from linforest_precond.backends.hash_keys import HIGH_STRIDE, SHIFT_11, VERTEX_STRIDE, mixed
from linforest_precond.backends.hash_keys import edge_order_key as edge_order_key
from linforest_precond.backends.hash_keys import iteration_keys as iteration_keys

from .jit import helper, kernel

# A sort key of vertices: five bits of class, 27 of hash, 32 of index.
CLASS_SHIFT, HASH_SHIFT = np.uint64(59), np.uint64(32)
LOW_STRIDE_32, HIGH_STRIDE_32 = np.uint32(0x9E3779B1), np.uint32(0x85EBCA77)
FIRST_MULTIPLIER_32, SECOND_MULTIPLIER_32 = np.uint32(0x85EBCA6B), np.uint32(0xC2B2AE35)
SHIFT_1, SHIFT_5, SHIFT_13, SHIFT_16 = (np.uint32(bits) for bits in (1, 5, 13, 16))


mix64 = helper(mixed)


# Whether the charge of a vertex is positive under an iteration's key; `threshold` is the probability times
# 2**53.
@helper
def is_positive(vertex, charge_key, threshold):
    return (mix64(charge_key + np.uint64(vertex) * VERTEX_STRIDE) >> SHIFT_11) < threshold


# The 32-bit finalizer of MurmurHash3 (Appleby).
@helper
def mix32(z):
    z = np.uint32((z ^ (z >> SHIFT_16)) * FIRST_MULTIPLIER_32)
    z = np.uint32((z ^ (z >> SHIFT_13)) * SECOND_MULTIPLIER_32)
    return np.uint32(z ^ (z >> SHIFT_16))


# Breaks ties between equal weights; symmetric in u and v.
@helper
def edge_hash(u, v, tie_key):
    low, high = np.uint32(min(u, v)), np.uint32(max(u, v))
    return mix32(np.uint32(tie_key + low * LOW_STRIDE_32 + high * HIGH_STRIDE_32))


@kernel(parallel=False)
def hash_edges(rows, columns, key, hashes):
    for i in range(hashes.size):
        hashes[i] = edge_hash(rows[i], columns[i], key)


# Orders the vertices of one class: 27 bits, so that 5 bits of class, the hash and a 32-bit index fill one
# word.
@helper
def vertex_hash(vertex, tie_key):
    return np.uint32(mix32(np.uint32(tie_key + np.uint32(vertex) * LOW_STRIDE_32)) >> SHIFT_5)


# The sum of random keys of the two ends, symmetric in u and v: the neighbours of every vertex are ordered by
# one random order of the vertices.
@helper
def order_hash(u, v, tie_key):
    first = mix32(np.uint32(tie_key + np.uint32(u) * LOW_STRIDE_32))
    second = mix32(np.uint32(tie_key + np.uint32(v) * LOW_STRIDE_32))
    return np.uint32((first >> SHIFT_1) + (second >> SHIFT_1))


# The summand of an entry in the symmetry check; `bits` are those of its magnitude.
@helper
def symmetry_hash(u, v, bits):
    low, high = np.uint64(min(u, v)), np.uint64(max(u, v))
    return mix64((low * GOLDEN + high * HIGH_STRIDE) ^ bits)


def bit_lengths(degrees):
    """floor(log2(degree)) + 1, and 0 for degree 0."""
    return np.frexp(degrees)[1].astype(np.uint8)


def vertices_in_order(classes, seed):
    """The vertices in a fixed pseudorandom order: by (class, hash, index)."""
    keys = order_keys(classes, seed)
    keys.sort()
    return indices_in(keys)


def order_keys(classes, seed, first=0):
    """The keys of this order, for the vertices from `first` on."""
    _, tie_key = iteration_keys(seed, 0)
    keys = np.empty(classes.size, np.uint64)
    fill_keys(classes, tie_key, first, keys)
    return keys


def indices_in(keys):
    """The low halves of keys, which hold the indices."""
    return keys.astype(np.uint32).view(np.int32)


@kernel(parallel=True)
def fill_keys(classes, tie_key, first, keys):
    for i in prange(keys.size):
        v = i + first
        high = np.uint64(classes[i]) << CLASS_SHIFT | np.uint64(vertex_hash(v, tie_key)) << HASH_SHIFT
        keys[i] = high | np.uint64(v)
