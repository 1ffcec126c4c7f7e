"""Weakly connected components by Afforest: lock-free union-find, without the rows of the largest one.

M. Sutton, T. Ben-Nun, A. Barak, "Optimizing Parallel Graph Connectivity Computation via Subgraph Sampling",
IPDPS 2018, https://doi.org/10.1109/IPDPS.2018.00012.
"""

import numpy as np
from numba import prange

from ..matrix.entries import wide_pattern
from ..runtime.atomics import exchange_if, load, store
from ..runtime.jit import helper, kernel

# Vertices sampled to find the largest component.
SAMPLE = 1024


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
