"""Children of a vertex in the order they get: by ascending degree, of equal ones the lower index first.

Rows are stored by ascending index, so it is enough to keep equal degrees in the order they come in.
"""

import numpy as np

from ..runtime.jit import helper

# Rows longer than this collect their children and sort them; of shorter ones they are inserted one by one.
FEW = np.uint64(24)
# Numba asks of every signed index whether it counts from the end: the loops over entries gain a factor of two
# by unsigned ones. Mixed with signed numbers these would become floats.
index = np.uint64
ZERO, ONE = index(0), index(1)
LOW_HALF = 0xFFFFFFFF


# Put a vertex behind those of its own and lower degrees among the `count` ones from `begin`, whose degrees
# `keys` holds.
@helper
def insert(v, degree, queue, begin, keys, count):
    while count > ZERO and keys[count - ONE] > degree:
        keys[count] = keys[count - ONE]
        queue[begin + count] = queue[begin + count - ONE]
        count -= ONE
    keys[count] = degree
    queue[begin + count] = v


# What a vertex is sorted by among many: its degree above its index.
@helper
def sort_key(degree, v):
    return (np.int64(degree) << 32) | np.int64(v)


@helper
def append_sorted(keys, queue, begin):
    keys.sort()
    for i in range(keys.size):
        queue[begin + index(i)] = np.int32(keys[i] & LOW_HALF)
