"""Pseudo-peripheral vertices by the George-Liu search, for all components at once.

A. George, J. W. H. Liu, "An Implementation of a Pseudoperipheral Node Finder", ACM TOMS 5 (1979),
https://doi.org/10.1145/355841.355845: repeat the breadth-first search from a vertex of lowest degree among
the deepest ones until the depth does not grow.
"""

import numpy as np

from ..csgraph.breadth_first import search
from ..csgraph.components import weak_components
from ..runtime.arrays import readonly
from ..runtime.jit import kernel


def find_starts(pattern, start=None):
    """The start of each component, in the order of their lowest vertices, and the component of each vertex.

    The latter is None if the graph is connected. `start` is used for its own component.
    """
    if start is None:
        starts = _search_connected(pattern)
        if starts is not None:
            return starts, None
    count, labels = weak_components(pattern)
    searched = np.ones(count, bool)
    if start is not None:
        searched[labels[start]] = False
    roots = lowest_degrees(readonly(pattern.degrees), readonly(labels), count)
    _search_components(pattern, labels, roots, searched)
    if start is not None:
        roots[labels[start]] = start
    return roots, labels


def _search_connected(pattern):
    """The start of a connected graph, None if it is not connected."""
    root, depth = pattern.degrees.argmin(), 0
    while True:
        _, reached, offsets = search(pattern, np.array([root], np.int32))
        if reached.size < pattern.n:
            return None
        if offsets.size - 2 <= depth:
            return np.array([root], np.int32)
        depth = offsets.size - 2
        deepest = reached[offsets[-2] :]
        degrees = pattern.degrees[deepest]
        root = deepest[degrees == degrees.min()].min()


def _search_components(pattern, labels, roots, searched):
    """Replace the root of each searched component by its pseudo-peripheral vertex."""
    depths = np.zeros(roots.size, np.int32)
    while searched.any():
        vertex_depths, reached, _ = search(pattern, roots[searched])
        new_depths, candidates = depths.copy(), roots.copy()
        arrays = reached, vertex_depths, readonly(labels), readonly(pattern.degrees)
        deepest_vertices(*arrays, new_depths, candidates)
        searched = new_depths > depths
        roots[searched] = candidates[searched]
        depths = new_depths


# The vertex of lowest (degree, index) in each component.
@kernel
def lowest_degrees(degrees, labels, count):
    lowest = np.full(count, -1, np.int32)
    for v in range(labels.size):
        best = lowest[labels[v]]
        if best < 0 or degrees[v] < degrees[best]:
            lowest[labels[v]] = v
    return lowest


# The depth of each searched component, and the vertex of lowest (degree, index) among its deepest ones.
@kernel
def deepest_vertices(reached, vertex_depths, labels, degrees, depths, candidates):
    for v in reached:
        depths[labels[v]] = vertex_depths[v]  # ascending, so the last one is the greatest
    for i in range(reached.size - 1, -1, -1):
        v = reached[i]
        label = labels[v]
        if vertex_depths[v] != depths[label]:
            continue
        best = candidates[label]
        key, best_key = (degrees[v], v), (degrees[best], best)
        if vertex_depths[best] != depths[label] or key < best_key:
            candidates[label] = v
