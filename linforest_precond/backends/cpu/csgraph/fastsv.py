"""Connected components by FastSV: rounds of stochastic hooking, aggressive hooking and shortcutting.

Y. Zhang, A. Azad, Z. Hu, "FastSV: A Distributed-Memory Connected Component Algorithm with Fast Convergence",
SIAM PP 2020, https://doi.org/10.1137/1.9781611976137.5.
"""

import numpy as np
from numba import prange

from ..matrix.entries import wide_pattern
from ..runtime.atomics import fetch_min, load, store
from ..runtime.jit import helper, kernel
from .components import labels_of_roots


def weak_components(pattern):
    """The number of components, and each vertex's."""
    parents = np.arange(pattern.n, dtype=np.int32)
    indptr, indices, _ = wide_pattern(pattern)
    hook_and_shortcut(indptr, indices, parents, parents.copy())
    return labels_of_roots(parents)


# Parents only decrease, and grandparents are written only between the hooking loops, so the order of the
# hooks does not matter. When a round changes no grandparent, the parent of each vertex is the lowest vertex
# of its component.
@kernel(parallel=True)
def hook_and_shortcut(indptr, indices, parents, grandparents):
    changes = 1
    while changes:
        for v in prange(parents.size):
            for slot in range(indptr[v], indptr[v + 1]):
                u = indices[slot]
                if grandparents[u] < grandparents[v]:
                    hook(parents, v, grandparents[u])
                elif grandparents[u] > grandparents[v]:
                    hook(parents, u, grandparents[v])
        changes = 0
        for v in prange(parents.size):
            parent = min(load(parents, v), grandparents[v])
            store(parents, v, parent)
            grandparent = load(parents, parent)
            changes += grandparent != grandparents[v]
            grandparents[v] = grandparent


# Stochastic hooking of v's parent and aggressive hooking of v to a neighbour's grandparent. The loads before
# the atomics save most of these.
@helper
def hook(parents, v, grandparent):
    parent = load(parents, v)
    if load(parents, parent) > grandparent:
        fetch_min(parents, parent, grandparent)
    if parent > grandparent:
        fetch_min(parents, v, grandparent)
