"""The root of each vertex of a forest: every vertex is walked over twice."""

import numpy as np

from ..runtime.arrays import readonly
from ..runtime.constants import NOT_FOUND
from ..runtime.jit import kernel

ON_THE_WAY = -2


def tree_roots(parents):
    """The roots, the first vertex with a parent outside, the first that leads into a cycle; -1 for none."""
    roots = np.full_like(parents, NOT_FOUND)
    outside = np.flatnonzero(parents >= parents.size)
    if outside.size:
        return roots, int(outside[0]), NOT_FOUND
    return roots, NOT_FOUND, int(walk_up(readonly(parents), roots))


# From each vertex up to one whose root is known, and once more to write it down. A vertex that is met twice
# on one way closes a cycle. Gives the first vertex that leads into one, or -1.
@kernel
def walk_up(parents, roots):
    for start in range(parents.size):
        v = start
        while roots[v] == NOT_FOUND:
            parent = parents[v]
            if parent < 0 or parent == v:
                roots[v] = v
            else:
                roots[v] = ON_THE_WAY
                v = parent
        if roots[v] == ON_THE_WAY:
            return start
        root, v = roots[v], start
        while roots[v] == ON_THE_WAY:
            roots[v] = root
            v = parents[v]
    return NOT_FOUND
