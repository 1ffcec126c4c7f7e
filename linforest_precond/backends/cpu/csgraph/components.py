"""Weakly connected components by Afforest and by FastSV, and the roots of the trees of a forest.

Afforest is lock-free union-find, without the rows of the largest component: M. Sutton, T. Ben-Nun, A. Barak,
"Optimizing Parallel Graph Connectivity Computation via Subgraph Sampling", IPDPS 2018,
https://doi.org/10.1109/IPDPS.2018.00012.

FastSV is rounds of stochastic hooking, aggressive hooking and shortcutting: Y. Zhang, A. Azad, Z. Hu,
"FastSV: A Distributed-Memory Connected Component Algorithm with Fast Convergence", SIAM PP 2020,
https://doi.org/10.1137/1.9781611976137.5.
"""

import numpy as np
from numba import prange

from ..matrix.entries import find_row, wide_pattern
from ..runtime.arrays import NOT_FOUND, readonly
from ..runtime.atomics import exchange_if, fetch_min, load, store
from ..runtime.jit import helper, kernel

# Vertices sampled to find the largest component.
SAMPLE = 1024
# Entries that one thread takes at a time, whatever the lengths of the rows.
RANGE = 1024
ON_PATH = -2


def weak_components(pattern):
    """The number of components and each vertex's, numbered by their lowest vertices.

    Linking every vertex with two of its neighbours joins nearly all of a large component. If the pattern is
    symmetric, the rows of that component are then skipped: edges that leave it are stored in other rows too.
    """
    n = pattern.n
    parents, roots = np.empty(n, np.int32), np.empty(n, np.int32)
    indptr, indices, _ = wide_pattern(pattern)
    hook_to_first_neighbours(indptr, indices, parents)
    link_last_neighbours(indptr, indices, parents)
    compress(parents, roots)
    skipped = most_frequent(roots[:: max(n // SAMPLE, 1)]) if pattern.symmetric else -1
    link_rows(indptr, indices, skipped, roots)
    parents, roots = roots, parents
    compress(parents, roots)
    return labels_of_roots(roots)


def most_frequent(values):
    found, counts = np.unique(values, return_counts=True)
    return int(found[counts.argmax()])


def labels_of_roots(roots):
    """The number of roots, and for each vertex the index of its root among all roots."""
    numbers = np.cumsum(roots == np.arange(roots.size), dtype=np.int32) - np.int32(1)
    return int(numbers[-1]) + 1, numbers[roots]


# The parent is the first neighbour, the lowest because columns ascend, if it is below the vertex. Parents are
# never above their children, so there are no cycles, and a tree's root is its lowest vertex.
@kernel(parallel=True)
def hook_to_first_neighbours(indptr, indices, parents):
    for v in prange(parents.size):
        parents[v] = min(v, indices[indptr[v]]) if indptr[v] < indptr[v + 1] else v


@kernel(parallel=True)
def link_last_neighbours(indptr, indices, parents):
    for v in prange(parents.size):
        if indptr[v] < indptr[v + 1]:
            link(parents, v, indices[indptr[v + 1] - 1])


# Link the ends of every edge, but not in rows of vertices whose parent is the skipped root.
@kernel(parallel=True)
def link_rows(indptr, indices, skipped, parents):
    for v in prange(parents.size):
        if load(parents, v) != skipped:
            for slot in range(indptr[v], indptr[v + 1]):
                link(parents, v, indices[slot])


# The root of every vertex, written to another array: in place, a concurrent path splitting could replace the
# root by an ancestor that is no root.
@kernel(parallel=True)
def compress(parents, roots):
    for v in prange(parents.size):
        roots[v] = find(parents, v)


# Hook the higher of two roots to the lower one by compare-and-swap; if it fails, another thread has hooked
# that root, and the search continues from its new parent.
@helper
def link(parents, v, u):
    if load(parents, v) == load(parents, u):
        return
    v, u = find(parents, v), find(parents, u)
    while v != u:
        low, high = min(v, u), max(v, u)
        if exchange_if(parents, high, high, low) == high:
            return
        v, u = find(parents, high), find(parents, low)


# Find with path splitting: every vertex on the path gets its grandparent as its parent. Concurrent writes are
# safe: a stale grandparent is still an ancestor.
@helper
def find(parents, v):
    parent = load(parents, v)
    while parent != v:
        grandparent = load(parents, parent)
        if grandparent == parent:
            return parent
        store(parents, v, grandparent)
        v, parent = parent, grandparent
    return parent


def fastsv_components(pattern):
    """The number of components, and each vertex's; threads share the edges."""
    return _fastsv(pattern, hook_edges)


def fastsv_components_by_vertices(pattern):
    """The same; threads share the vertices, and one hooks along the edges of a vertex."""
    return _fastsv(pattern, hook_vertices)


def _fastsv(pattern, hook_all):
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


def tree_roots(parents):
    """The roots, the first vertex whose parent is out of range, the first that leads to a cycle; or -1."""
    roots = np.full_like(parents, NOT_FOUND)
    outside = np.flatnonzero(parents >= parents.size)
    if outside.size:
        return roots, int(outside[0]), NOT_FOUND
    return roots, NOT_FOUND, int(compress_paths(readonly(parents), roots))


# From each vertex up to one with a known root, then once more to store that root. A path that meets itself is
# a cycle. Returns the first vertex that leads to one, or -1.
@kernel
def compress_paths(parents, roots):
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
