"""The root of each vertex of a forest, by find with path compression: every path is traversed twice."""

import numpy as np

from ..runtime.arrays import NOT_FOUND, readonly
from ..runtime.jit import kernel

ON_PATH = -2


def tree_roots(parents):
    """The roots, the first vertex whose parent is out of range, the first that leads to a cycle; or -1."""
    roots = np.full_like(parents, NOT_FOUND)
    outside = np.flatnonzero(parents >= parents.size)
    if outside.size:
        return roots, int(outside[0]), NOT_FOUND
    return roots, NOT_FOUND, int(compress(readonly(parents), roots))


# From each vertex up to one with a known root, then once more to store that root. A path that meets itself is
# a cycle. Returns the first vertex that leads to one, or -1.
@kernel
def compress(parents, roots):
    for start in range(parents.size):
        v = start
        while roots[v] == NOT_FOUND:
            parent = parents[v]
            if parent < 0 or parent == v:
                roots[v] = v
            else:
                roots[v] = ON_PATH
                v = parent
        if roots[v] == ON_PATH:
            return start
        root, v = roots[v], start
        while roots[v] == ON_PATH:
            roots[v] = root
            v = parents[v]
    return NOT_FOUND
