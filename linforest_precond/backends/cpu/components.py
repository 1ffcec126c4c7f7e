"""Weakly connected components by union and find: trees of vertices whose roots are their lowest vertices."""

import numpy as np
from numba import prange

from .atomics import exchange_if, load, store
from .entries import wide_pattern
from .jit import helper, kernel


def weak_components(pattern):
    """The number of components and each vertex's, numbered by their lowest vertices."""
    parents = np.arange(pattern.n, dtype=np.int32)
    indptr, indices, _ = wide_pattern(pattern)
    join_rows(indptr, indices, pattern.symmetric, parents)
    roots = np.empty_like(parents)
    find_roots(parents, roots)
    is_root = roots == np.arange(pattern.n)
    numbers = np.cumsum(is_root, dtype=np.int32) - np.int32(1)
    return int(numbers[-1]) + 1, numbers[roots]


# Join the two ends of every edge; of a symmetric pattern, one direction will do.
@kernel(parallel=True)
def join_rows(indptr, indices, symmetric, parents):
    for v in prange(parents.size):
        for slot in range(indptr[v], indptr[v + 1]):
            u = indices[slot]
            if u < v or not symmetric:
                join(parents, v, u)


# Not into the trees themselves: another thread that hangs a vertex under its grandparent may write after it.
@kernel(parallel=True)
def find_roots(parents, roots):
    for v in prange(parents.size):
        roots[v] = find(parents, v)


# Hang the higher of two roots under the lower one. Another thread may have hung it elsewhere meanwhile: its
# new root is then the one to join.
@helper
def join(parents, v, u):
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
