"""Connected components by FastSV: rounds of stochastic hooking, aggressive hooking and shortcutting.

Y. Zhang, A. Azad, Z. Hu, "FastSV: A Distributed-Memory Connected Component Algorithm with Fast Convergence",
SIAM PP 2020, https://doi.org/10.1137/1.9781611976137.5.
"""

import numpy as np
from numba import prange

from ..matrix.entries import find_row, wide_pattern
from ..runtime.atomics import fetch_min, load, store
from ..runtime.jit import helper, kernel
from .components import labels_of_roots

# Entries that one thread takes at a time, whatever the lengths of the rows.
RANGE = 1024


def weak_components(pattern):
    """The number of components, and each vertex's; threads share the edges."""
    return _labelled(pattern, hook_edges)


def weak_components_by_vertices(pattern):
    """The same; threads share the vertices, and one hooks along the edges of a vertex."""
    return _labelled(pattern, hook_vertices)


def _labelled(pattern, hook_all):
    """Parents only decrease, and grandparents change between the calls of `hook_all` alone: the order of the
    hooks does not matter. When a round changes no grandparent, the parent of each vertex is the lowest vertex
    of its component.
    """
    parents = np.arange(pattern.n, dtype=np.int32)
    grandparents, changes = parents.copy(), 1
    indptr, indices, _ = wide_pattern(pattern)
    while changes:
        hook_all(indptr, indices, parents, grandparents)
        changes = shortcut(parents, grandparents)
    return labels_of_roots(parents)


@kernel(parallel=True)
def hook_edges(indptr, indices, parents, grandparents):
    for number in prange((indices.size + RANGE - 1) // RANGE):
        begin = number * RANGE
        hook_range(indptr, indices, begin, min(begin + RANGE, indices.size), parents, grandparents)


@kernel(parallel=True)
def hook_vertices(indptr, indices, parents, grandparents):
    for v in prange(parents.size):
        hook_row(v, indices, indptr[v], indptr[v + 1], parents, grandparents)


@kernel(parallel=True)
def shortcut(parents, grandparents):
    changes = 0
    for v in prange(parents.size):
        parent = min(load(parents, v), grandparents[v])
        store(parents, v, parent)
        grandparent = load(parents, parent)
        changes += grandparent != grandparents[v]
        grandparents[v] = grandparent
    return changes


@helper
def hook_range(indptr, indices, begin, end, parents, grandparents):
    v = find_row(indptr, begin)
    while begin < end:
        row_end = min(indptr[v + 1], end)
        hook_row(v, indices, begin, row_end, parents, grandparents)
        v, begin = v + 1, row_end


@helper
def hook_row(v, indices, begin, end, parents, grandparents):
    for slot in range(begin, end):
        u = indices[slot]
        if grandparents[u] < grandparents[v]:
            hook(parents, v, grandparents[u])
        elif grandparents[u] > grandparents[v]:
            hook(parents, u, grandparents[v])


# Stochastic hooking of v's parent and aggressive hooking of v to a neighbour's grandparent. The loads before
# the atomics save most of these.
@helper
def hook(parents, v, grandparent):
    parent = load(parents, v)
    if load(parents, parent) > grandparent:
        fetch_min(parents, parent, grandparent)
    if parent > grandparent:
        fetch_min(parents, v, grandparent)
