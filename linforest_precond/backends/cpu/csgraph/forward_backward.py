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

from ..matrix.entries import rows_of, transposed
from ..runtime.hashing import vertices_in_order
from .breadth_first import search
from .components import labels_of_roots, weak_components

# The class of vertices whose component is known, and the root of those whose component is not.
SETTLED, NO_ROOT = -1, -1


def strong_components(pattern):
    """The number of components and each vertex's, numbered by their lowest vertices.

    In a random order of the vertices, the first one of every region is its pivot. Regions are the weak
    components of the edges that are left, so separate pieces of a graph need no rounds of their own. Vertices
    that no edge enters, or none leaves, are components (trimming).
    """
    forward, backward = pattern, _transposed(pattern)
    roots, regions, count = np.full(pattern.n, NO_ROOT, np.int32), np.zeros(pattern.n, np.int32), 1
    left = vertices_in_order(np.zeros(pattern.n, np.uint8), 0)
    while True:
        pivots = _first_of_each(regions, left, count)
        pivots = pivots[pivots >= 0]
        ahead, behind = (search(edges, pivots)[0] >= 0 for edges in (forward, backward))
        trimmed = left[(_row_lengths(forward)[left] == 0) | (_row_lengths(backward)[left] == 0)]
        roots[trimmed] = trimmed
        _settle(regions, np.flatnonzero(ahead & behind & (roots == NO_ROOT)), count, roots)
        left = left[roots[left] == NO_ROOT]
        if not left.size:
            return labels_of_roots(roots)
        classes = np.where(roots == NO_ROOT, ahead + 2 * behind, SETTLED).astype(np.int8)
        forward, backward = _edges_within(forward, classes), _edges_within(backward, classes)
        count, regions = weak_components(forward)


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
