"""Connected components by FastSV, in rounds of hooking and shortcutting."""

import numpy as np
from numba import prange

from ..matrix.entries import wide_pattern
from ..runtime.atomics import fetch_min, load, store
from ..runtime.jit import helper, kernel
from .components import numbered


def weak_components(pattern):
    """The number of components, and each vertex's."""
    parents = np.arange(pattern.n, dtype=np.int32)
    indptr, indices, _ = wide_pattern(pattern)
    hook_and_shortcut(indptr, indices, parents, parents.copy())
    return numbered(parents)


# Every edge hangs one end and that end's parent on the other end's grandparent, if that is lower; then every
# vertex hangs on its own grandparent. Parents only ever get lower, and grandparents are written between the
# hooks alone, so the order of the hooks does not matter: when a round leaves all grandparents as they were,
# each vertex hangs on the lowest of its component.
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
            above = load(parents, parent)
            changes += above != grandparents[v]
            grandparents[v] = above


# Most are low enough already and need no atomic.
@helper
def hook(parents, v, grandparent):
    parent = load(parents, v)
    if load(parents, parent) > grandparent:
        fetch_min(parents, parent, grandparent)
    if parent > grandparent:
        fetch_min(parents, v, grandparent)
