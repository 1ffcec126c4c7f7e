"""Strongly connected components by forward-backward searches, in all regions at once.

D. Coppersmith, L. Fleischer, B. Hendrickson, A. Pinar, "A divide-and-conquer algorithm for identifying
strongly connected components" (2006): the vertices that a pivot reaches and that reach the pivot are its
component. No other component has vertices both inside and outside of either set, so the rest falls apart into
regions that are searched independently. Trimming: W. McLendon, B. Hendrickson, S. Plimpton, L. Rauchwerger,
"Finding strongly connected components in distributed graphs", J. Parallel Distrib. Comput. 65 (2005),
https://doi.org/10.1016/j.jpdc.2005.03.007.
"""

import dataclasses

import numpy as np
from numba import prange

from ..matrix.entries import rows_of, transposed, wide_pattern
from ..runtime.atomics import relaxed_load, relaxed_store
from ..runtime.hashing import vertices_in_order
from ..runtime.jit import kernel
from .breadth_first import search
from .components import labels_of_roots, weak_components

# The class of vertices whose component is known, and the root of those whose component is not.
SETTLED, NO_ROOT = -1, -1
# Vertices that one thread takes at a time. A round must find 1 / MANY_FOUND of the vertices that are left, or
# else the pattern is transposed.
CHUNK, MANY_FOUND = 256, 8


def strong_components(pattern):
    """The number of components and each vertex's, numbered by their lowest vertices.

    In a random order of the vertices, the first one of every region is its pivot. Regions are the weak
    components of the edges that are left, so separate pieces of a graph need no rounds of their own. Vertices
    that no edge enters, or none leaves, are components (trimming).
    """
    forward, backward = pattern, None
    roots, regions, count = np.full(pattern.n, NO_ROOT, np.int32), np.zeros(pattern.n, np.int32), 1
    left = vertices_in_order(np.zeros(pattern.n, np.uint8), 0)
    while True:
        pivots = _first_of_each(regions, left, count)
        pivots = pivots[pivots >= 0]
        ahead = search(forward, pivots)[0] >= 0
        behind, backward = _reaching(forward, backward, pivots)
        _settle(regions, np.flatnonzero(ahead & behind & (roots == NO_ROOT)), count, roots)
        left = left[roots[left] == NO_ROOT]
        if not left.size:
            return labels_of_roots(roots)
        backward = _transposed(forward) if backward is None else backward
        is_trimmed = (_row_lengths(forward)[left] == 0) | (_row_lengths(backward)[left] == 0)
        roots[left[is_trimmed]] = left[is_trimmed]
        left = left[~is_trimmed]
        if not left.size:
            return labels_of_roots(roots)
        classes = np.where(roots == NO_ROOT, ahead + 2 * behind, SETTLED).astype(np.int8)
        forward, backward = _edges_within(forward, classes), _edges_within(backward, classes)
        count, regions = weak_components(forward)


def _reaching(forward, backward, pivots):
    """Which vertices reach a pivot, and the transposed pattern, if it is known or was needed.

    While rounds find many vertices, each vertex looks for a successor that reaches a pivot: in a dense graph
    it is among the first ones, and the pattern need not be transposed.
    """
    if backward is None:
        reached = np.zeros(forward.n, np.uint8)
        reached[pivots] = 1
        left, found = forward.n - pivots.size, np.empty(-(-forward.n // CHUNK), np.int64)
        indptr, indices, _ = wide_pattern(forward)
        while left:
            pull_reached(indptr, indices, reached, found)
            new = int(found.sum())
            left -= new
            if new == 0:
                break
            if new * MANY_FOUND < left:
                backward = _transposed(forward)
                pivots = np.flatnonzero(reached).astype(np.int32)
                break
    if backward is not None:
        return search(backward, pivots)[0] >= 0, backward
    return reached != 0, None


# Each vertex that is not marked looks for a marked successor, and is marked, too. Counts those of each chunk.
# Marks of the same round may be seen or not: the rounds end with the same marks.
@kernel(parallel=True)
def pull_reached(indptr, indices, reached, found):
    for chunk in prange(found.size):
        count = 0
        for v in range(chunk * CHUNK, min((chunk + 1) * CHUNK, reached.size)):
            if relaxed_load(reached, v) != 0:
                continue
            for slot in range(np.uint64(indptr[v]), np.uint64(indptr[v + 1])):
                if relaxed_load(reached, np.uint64(indices[slot])) != 0:
                    relaxed_store(reached, v, 1)
                    count += 1
                    break
        found[chunk] = count


def _first_of_each(regions, vertices, count):
    """The first of the vertices in each region, -1 where there is none."""
    first = np.full(count, -1, np.int32)
    first[regions[vertices[::-1]]] = vertices[::-1]  # in reverse, so the first one remains
    return first


def _settle(regions, found, count, roots):
    """Set the root of each component that was found, its lowest vertex; a region has one component."""
    roots[found] = _first_of_each(regions, found, count)[regions[found]]


def _row_lengths(pattern):
    return np.diff(pattern.indptr)


def _transposed(pattern):
    no_values = np.zeros(pattern.nnz, np.int8)
    indptr, indices, _ = transposed(pattern.indptr, pattern.indices, no_values)
    return _with_edges(pattern, indptr, indices)


def _edges_within(pattern, classes):
    """The pattern without the edges of settled vertices, between classes and of vertices to themselves."""
    rows, columns = rows_of(pattern.indptr, pattern.nnz), pattern.indices
    kept = (classes[rows] == classes[columns]) & (classes[rows] != SETTLED) & (rows != columns)
    before = np.zeros(pattern.nnz + 1, pattern.indptr.dtype)
    np.cumsum(kept, out=before[1:])
    return _with_edges(pattern, before[pattern.indptr], columns[kept])


def _with_edges(pattern, indptr, indices):
    """A directed pattern of other edges, for searches: they read neither degrees nor the longest row."""
    return dataclasses.replace(pattern, indptr=indptr, indices=indices, symmetric=False)
