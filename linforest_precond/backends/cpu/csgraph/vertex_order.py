"""The order in which vertices are taken: by a class, then by a hash, then by index."""

import numpy as np
from numba import prange

from ..runtime.hashing import iteration_keys, vertex_hash
from ..runtime.jit import kernel

CLASS_SHIFT, HASH_SHIFT = np.uint64(59), np.uint64(32)


def bit_lengths(degrees):
    """One more than the floor of the logarithm of each degree, 0 for 0."""
    return np.frexp(degrees)[1].astype(np.uint8)


def vertices_in_order(classes, seed):
    """The vertices by (class, hash, index); classes have five bits, hashes 27."""
    _, tie_key = iteration_keys(seed, 0)
    keys = np.empty(classes.size, np.uint64)
    fill_keys(classes, tie_key, keys)
    keys.sort()
    return keys.astype(np.uint32).view(np.int32)  # the low halves, which hold the indices


# A vertex's place in the order as one word.
@kernel(parallel=True)
def fill_keys(classes, tie_key, keys):
    for v in prange(keys.size):
        ranked = np.uint64(classes[v]) << CLASS_SHIFT | np.uint64(vertex_hash(v, tie_key)) << HASH_SHIFT
        keys[v] = ranked | np.uint64(v)
