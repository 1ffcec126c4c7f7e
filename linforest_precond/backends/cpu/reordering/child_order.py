"""The Cuthill-McKee order of a vertex's children: by ascending degree, then index.

Rows are stored by ascending index, so a stable insertion by degree is enough.
"""

import numpy as np

from ..runtime.jit import helper

# The children of longer rows are collected and sorted, those of shorter rows are insertion-sorted in place.
INSERTION_LIMIT = np.uint64(24)
# Numba checks every signed index for wraparound; unsigned indices make the loops over entries twice as fast.
# An expression that mixes uint64 with int64 would become a float64.
index = np.uint64
ZERO, ONE = index(0), index(1)
LOW_HALF = 0xFFFFFFFF


# One step of an insertion sort. `count` vertices from `begin` on are sorted; `keys` holds their degrees.
@helper
def insert(v, degree, queue, begin, keys, count):
    while count > ZERO and keys[count - ONE] > degree:
        keys[count] = keys[count - ONE]
        queue[begin + count] = queue[begin + count - ONE]
        count -= ONE
    keys[count] = degree
    queue[begin + count] = v


# The key of (degree, index): the degree in the upper half, the index in the lower.
@helper
def sort_key(degree, v):
    return (np.int64(degree) << 32) | np.int64(v)


@helper
def append_sorted(keys, queue, begin):
    keys.sort()
    for i in range(keys.size):
        queue[begin + index(i)] = np.int32(keys[i] & LOW_HALF)
