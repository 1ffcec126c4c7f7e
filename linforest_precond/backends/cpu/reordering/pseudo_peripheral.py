"""The vertices that the components are numbered from: pseudo-peripheral ones, searched for in all at once."""

import numpy as np

from ..csgraph.breadth_first import walk
from ..csgraph.components import weak_components
from ..runtime.arrays import readonly
from ..runtime.jit import kernel


def find_starts(pattern, start=None):
    """The start of each component, in the order of their lowest vertices, and each vertex's component.

    The components are None where there is but one. `start` serves its own component.
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
    _search(pattern, labels, roots, searched)
    if start is not None:
        roots[labels[start]] = start
    return roots, labels


def _search_connected(pattern):
    """The start of a graph that is one component, None if it is not."""
    root, depth = pattern.degrees.argmin(), 0
    while True:
        _, reached, begins = walk(pattern, np.array([root], np.int32))
        if reached.size < pattern.n:
            return None
        if begins.size - 2 <= depth:
            return np.array([root], np.int32)
        depth = begins.size - 2
        last = reached[begins[-2] :]
        degrees = pattern.degrees[last]
        root = last[degrees == degrees.min()].min()


def _search(pattern, labels, roots, searched):
    """Move each root to the last level of its walk, until that does not get deeper."""
    depths = np.zeros(roots.size, np.int32)
    while searched.any():
        levels, reached, _ = walk(pattern, roots[searched])
        new_depths, candidates = depths.copy(), roots.copy()
        arrays = reached, levels, readonly(labels), readonly(pattern.degrees)
        last_levels(*arrays, new_depths, candidates)
        searched = new_depths > depths
        roots[searched] = candidates[searched]
        depths = new_depths


# The lowest-degree vertex of each component.
@kernel
def lowest_degrees(degrees, labels, count):
    lowest = np.full(count, -1, np.int32)
    for v in range(labels.size):
        best = lowest[labels[v]]
        if best < 0 or degrees[v] < degrees[best]:
            lowest[labels[v]] = v
    return lowest


# The depth of each component that was walked through, and the lowest-degree vertex of its last level.
@kernel
def last_levels(reached, levels, labels, degrees, depths, candidates):
    for v in reached:
        depths[labels[v]] = levels[v]  # levels come in ascending order
    for i in range(reached.size - 1, -1, -1):
        v = reached[i]
        label = labels[v]
        if levels[v] != depths[label]:
            continue
        best = candidates[label]
        key, best_key = (degrees[v], v), (degrees[best], best)
        if levels[best] != depths[label] or key < best_key:
            candidates[label] = v
