"""The sequential Cuthill-McKee order: one queue, one component after the other.

Each component starts at the pseudo-peripheral vertex of the George-Liu search (see pseudo_peripheral.py).
"""

import numpy as np

from ..runtime.arrays import readonly
from ..runtime.jit import helper, kernel
from .child_order import INSERTION_LIMIT, ONE, ZERO, append_sorted, index, insert, sort_key

# `stamps[v]` is the number, 1 to LAST_STAMP, of the last search that visited v, 0 for none: searches need not
# reset the visited flags.
LAST_STAMP = 255
NUMBERED = -1


def serial(pattern, start):
    """The order of all components."""
    graph = readonly(pattern.indptr), readonly(pattern.indices), readonly(pattern.degrees)
    queue, keys = np.empty(pattern.n, np.int32), np.empty(int(INSERTION_LIMIT), np.int32)
    state = queue, np.zeros(pattern.n, np.uint8), pattern.degrees.copy(), keys
    first = int(pattern.degrees.argmin()) if start is None else start
    size = order_component(*graph, first, start is None, 0, *state)
    if size == pattern.n:
        return queue
    components = np.empty((pattern.n - size + 1, 2), np.int32)
    components[0] = queue[:size].min(), 0
    count = order_other_components(*graph, by_degree(graph[2]), size, components, *state)
    return _by_lowest_vertex(queue, *components[:count].T)


def _by_lowest_vertex(queue, lowest, begins):
    """The components' segments of the queue in the order of their lowest vertices."""
    sizes = np.diff(begins, append=queue.size)
    permutation = np.argsort(lowest)
    sizes, begins = sizes[permutation], begins[permutation]
    return queue[np.repeat(begins - np.cumsum(sizes) + sizes, sizes) + np.arange(queue.size)]


# Order every component without numbers; `components` gets the lowest vertex and the queue offset of each.
@kernel
def order_other_components(
    indptr, indices, degrees, vertices, begin, components, queue, stamps, open_degrees, keys
):
    count = 1
    for first in vertices:
        # The vertices ascend by degree, so the first of a component has its lowest degree.
        if open_degrees[first] != NUMBERED:
            root = np.int64(first)
            size = order_component(
                indptr, indices, degrees, root, True, begin, queue, stamps, open_degrees, keys
            )
            components[count, 0], components[count, 1] = queue[begin : begin + size].min(), begin
            begin += size
            count += 1
    return count


# Counting sort of the vertices by (degree, index).
@kernel
def by_degree(degrees):
    places = np.zeros(degrees.max() + 2, np.int64)
    for degree in degrees:
        places[degree + 1] += 1
    places = np.cumsum(places)
    vertices = np.empty(degrees.size, np.int32)
    for v in range(degrees.size):
        vertices[places[degrees[v]]] = v
        places[degrees[v]] += 1
    return vertices


# Number the component of `first` in the queue, from there or from the pseudo-peripheral vertex that the
# George-Liu search finds from there; returns its size.
@kernel
def order_component(indptr, indices, degrees, first, search, begin, queue, stamps, open_degrees, keys):
    root, end = first, queue.size
    depth, stamp = -1, 1
    while search:
        deepest, end, new_depth = breadth_first(indptr, indices, root, begin, end, queue, stamps, stamp)
        # The search ends when the depth does not grow; an isolated vertex needs none.
        search = new_depth > depth and new_depth > 0
        depth = new_depth
        if search:
            root = lowest_degree(degrees, queue, deepest, end)
            stamp = stamp % LAST_STAMP + 1
    return number(indptr, indices, root, begin, end, queue, open_degrees, keys) - begin


# Breadth-first search from the root that stops after `limit` vertices; returns their number and the depth.
@kernel
def partial_search(indptr, indices, root, limit):
    stamps, queue = np.zeros(indptr.size - 1, np.uint8), np.empty(indptr.size - 1, np.int32)
    _, reached, depth = breadth_first(indptr, indices, root, 0, limit, queue, stamps, 1)
    return reached, depth


# Breadth-first search from the root until the queue's tail is `limit` or no vertex is left. Returns where the
# last frontier begins and ends in the queue, as signed numbers, and its depth.
@helper
def breadth_first(indptr, indices, root, begin, limit, queue, stamps, stamp):
    head, tail, limit = index(begin), index(begin) + ONE, index(limit)
    stamp = np.uint8(stamp)
    queue[head], stamps[root] = root, stamp
    depth = 0
    while True:
        frontier, frontier_end = head, tail
        while head < frontier_end and tail < limit:
            v = index(queue[head])
            head += ONE
            for slot in range(index(indptr[v]), index(indptr[v + ONE])):
                u = index(indices[slot])
                if stamps[u] != stamp:
                    stamps[u] = stamp
                    queue[tail] = np.int32(u)
                    tail += ONE
        if tail == frontier_end:
            return np.int64(frontier), np.int64(tail), depth
        depth += 1
        if tail == limit:
            return np.int64(frontier_end), np.int64(tail), depth
        head = frontier_end


# The vertex of lowest (degree, index) in a range of the queue.
@helper
def lowest_degree(degrees, queue, begin, end):
    best = queue[begin]
    for place in range(begin + 1, end):
        v = queue[place]
        if degrees[v] < degrees[best] or (degrees[v] == degrees[best] and v < best):
            best = v
    return best


# Number the component of the root until the queue's tail is `limit` or no vertex is left: each vertex appends
# its unnumbered neighbours by ascending degree. `open_degrees` holds the degrees of unnumbered vertices, so
# that one load tells both.
@helper
def number(indptr, indices, root, begin, limit, queue, open_degrees, keys):
    head, tail, limit = index(begin), index(begin) + ONE, index(limit)
    queue[head], open_degrees[root] = root, NUMBERED
    while head < tail and tail < limit:
        v = index(queue[head])
        head += ONE
        row, row_end = index(indptr[v]), index(indptr[v + ONE])
        if row_end - row > INSERTION_LIMIT:
            tail = append_long_row(indices[row:row_end], tail, queue, open_degrees)
            continue
        count = ZERO
        for slot in range(row, row_end):
            u = index(indices[slot])
            degree = open_degrees[u]
            if degree != NUMBERED:
                open_degrees[u] = NUMBERED
                insert(np.int32(u), degree, queue, tail, keys, count)
                count += ONE
        tail += count
    return np.int64(tail)


@helper
def append_long_row(row, tail, queue, open_degrees):
    keys = np.empty(row.size, np.int64)
    count = 0
    for v in row:
        if open_degrees[v] != NUMBERED:
            keys[count] = sort_key(open_degrees[v], v)
            open_degrees[v] = NUMBERED
            count += 1
    append_sorted(keys[:count], queue, tail)
    return tail + index(count)
