"""Weakly connected components by union and find: trees of vertices whose roots are their lowest vertices."""

import numpy as np
from numba import prange

from ..matrix.entries import wide_pattern
from ..runtime.atomics import exchange_if, load, store
from ..runtime.jit import helper, kernel

# Vertices whose roots tell which component is the largest.
SAMPLE = 1024


def weak_components(pattern):
    """The number of components and each vertex's, numbered by their lowest vertices.

    As Afforest does (Sutton, Ben-Nun & Barak, 2018): two neighbours of each vertex join nearly all vertices
    of a large component; of a symmetric pattern, the rows of its vertices need not be looked at again.
    """
    n = pattern.n
    parents, roots = np.empty(n, np.int32), np.empty(n, np.int32)
    indptr, indices, _ = wide_pattern(pattern)
    plant(indptr, indices, parents)
    join_last(indptr, indices, parents)
    find_roots(parents, roots)
    # Of a pattern that is not symmetric, every row is looked at.
    left_out = most_frequent(roots[:: max(n // SAMPLE, 1)]) if pattern.symmetric else -1
    join_rows(indptr, indices, left_out, roots)
    parents, roots = roots, parents
    find_roots(parents, roots)
    return numbered(roots)


def most_frequent(values):
    found, counts = np.unique(values, return_counts=True)
    return int(found[counts.argmax()])


def numbered(roots):
    """The number of roots, and the number of each vertex's root among them."""
    numbers = np.cumsum(roots == np.arange(roots.size), dtype=np.int32) - np.int32(1)
    return int(numbers[-1]) + 1, numbers[roots]


# Each vertex hangs on its lowest neighbour, if that is below it; columns ascend.
@kernel(parallel=True)
def plant(indptr, indices, parents):
    for v in prange(parents.size):
        parents[v] = min(v, indices[indptr[v]]) if indptr[v] < indptr[v + 1] else v


@kernel(parallel=True)
def join_last(indptr, indices, parents):
    for v in prange(parents.size):
        if indptr[v] < indptr[v + 1]:
            join(parents, v, indices[indptr[v + 1] - 1])


# Join the two ends of every edge, but of the rows whose vertices hang on the root that is left out: an edge
# that leads from these to others is stored in the others' rows too.
@kernel(parallel=True)
def join_rows(indptr, indices, left_out, parents):
    for v in prange(parents.size):
        if load(parents, v) != left_out:
            for slot in range(indptr[v], indptr[v + 1]):
                join(parents, v, indices[slot])


# Not into the trees themselves: another thread that hangs a vertex under its grandparent may write after it.
@kernel(parallel=True)
def find_roots(parents, roots):
    for v in prange(parents.size):
        roots[v] = find(parents, v)


# Hang the higher of two roots under the lower one. Another thread may have hung it elsewhere meanwhile: its
# new root is then the one to join.
@helper
def join(parents, v, u):
    if load(parents, v) == load(parents, u):
        return
    v, u = find(parents, v), find(parents, u)
    while v != u:
        low, high = min(v, u), max(v, u)
        if exchange_if(parents, high, high, low) == high:
            return
        v, u = find(parents, high), find(parents, low)


# The root of a vertex. On the way, every vertex is hung under its grandparent, an ancestor whatever other
# threads do.
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
