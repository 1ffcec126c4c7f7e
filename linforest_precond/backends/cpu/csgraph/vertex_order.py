"""A fixed pseudorandom order of the vertices: by class, then hash, then index."""

import numpy as np
from numba import prange

from ..runtime.hashing import iteration_keys, vertex_hash
from ..runtime.jit import kernel

CLASS_SHIFT, HASH_SHIFT = np.uint64(59), np.uint64(32)


def bit_lengths(degrees):
    """floor(log2(degree)) + 1, and 0 for degree 0."""
    return np.frexp(degrees)[1].astype(np.uint8)


def vertices_in_order(classes, seed):
    """The vertices by (class, hash, index)."""
    _, tie_key = iteration_keys(seed, 0)
    keys = np.empty(classes.size, np.uint64)
    fill_keys(classes, tie_key, keys)
    keys.sort()
    return keys.astype(np.uint32).view(np.int32)  # the low halves, which hold the indices


# A sort key: five bits of class, 27 of hash, 32 of index.
@kernel(parallel=True)
def fill_keys(classes, tie_key, keys):
    for v in prange(keys.size):
        high = np.uint64(classes[v]) << CLASS_SHIFT | np.uint64(vertex_hash(v, tie_key)) << HASH_SHIFT
        keys[v] = high | np.uint64(v)
