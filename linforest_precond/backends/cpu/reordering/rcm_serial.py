"""The Cuthill-McKee order by one queue, one component after the other."""

import numpy as np

from ..runtime.arrays import readonly
from ..runtime.jit import helper, kernel
from .child_order import FEW, ONE, ZERO, append_sorted, index, insert, sort_key

# A vertex that no walk has come to has stamp 0; the others have that of the last walk, 1 to 255.
LAST_STAMP = 255
NUMBERED = -1


def serial(pattern, start):
    """The order of all components."""
    graph = readonly(pattern.indptr), readonly(pattern.indices), readonly(pattern.degrees)
    queue = np.empty(pattern.n, np.int32)
    state = queue, np.zeros(pattern.n, np.uint8), pattern.degrees.copy(), np.empty(int(FEW), np.int32)
    first = int(pattern.degrees.argmin()) if start is None else start
    size = order_component(*graph, first, start is None, 0, *state)
    if size == pattern.n:
        return queue
    parts = np.empty((pattern.n - size + 1, 2), np.int32)
    parts[0] = queue[:size].min(), 0
    count = order_others(*graph, by_degree(graph[2]), size, parts, *state)
    return _by_lowest_vertex(queue, *parts[:count].T)


def _by_lowest_vertex(queue, lowest, begins):
    """The components' parts of the queue in the order of their lowest vertices."""
    sizes = np.diff(begins, append=queue.size)
    turn = np.argsort(lowest)
    sizes, begins = sizes[turn], begins[turn]
    return queue[np.repeat(begins - np.cumsum(sizes) + sizes, sizes) + np.arange(queue.size)]


# Order every component that is not yet, and note its lowest vertex and where it begins in the queue.
@kernel
def order_others(indptr, indices, degrees, vertices, begin, parts, queue, stamps, ranks, keys):
    count = 1
    for first in vertices:
        # The first vertex met of a component is its lowest-degree vertex: they come by degree.
        if ranks[first] != NUMBERED:
            size = order_component(indptr, indices, degrees, first, True, begin, queue, stamps, ranks, keys)
            parts[count, 0], parts[count, 1] = queue[begin : begin + size].min(), begin
            begin += size
            count += 1
    return count


# The vertices by (degree, index), counted out.
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


# Order the component of `first` from there, or from the pseudo-peripheral vertex that a search from there
# finds, into the queue; gives its size.
@kernel
def order_component(indptr, indices, degrees, first, search, begin, queue, stamps, ranks, keys):
    root, end = first, queue.size
    depth, stamp = -1, 1
    while search:
        level, end, new_depth = walk_levels(indptr, indices, root, begin, end, queue, stamps, stamp)
        # The search ends where the depth does not grow, and a lone vertex needs none.
        search = new_depth > depth and new_depth > 0
        depth = new_depth
        if search:
            root = lowest_degree(degrees, queue, level, end)
            stamp = stamp % LAST_STAMP + 1
    return number(indptr, indices, root, begin, end, queue, ranks, keys) - begin


# Breadth first from the root until so many vertices are reached: how many, and how deep.
@kernel
def narrow_walk(indptr, indices, root, limit):
    stamps, queue = np.zeros(indptr.size - 1, np.uint8), np.empty(indptr.size - 1, np.int32)
    _, reached, depth = walk_levels(indptr, indices, root, 0, limit, queue, stamps, 1)
    return reached, depth


# Breadth first from the root, until the queue ends at `limit` or no new vertices come: where the last level
# begins, where it ends, and how many levels come after the root. Gives signed numbers.
@helper
def walk_levels(indptr, indices, root, begin, limit, queue, stamps, stamp):
    head, tail, limit = index(begin), index(begin) + ONE, index(limit)
    stamp = np.uint8(stamp)
    queue[head], stamps[root] = root, stamp
    depth = 0
    while True:
        level, level_end = head, tail
        while head < level_end and tail < limit:
            v = index(queue[head])
            head += ONE
            for slot in range(index(indptr[v]), index(indptr[v + ONE])):
                u = index(indices[slot])
                if stamps[u] != stamp:
                    stamps[u] = stamp
                    queue[tail] = np.int32(u)
                    tail += ONE
        if tail == level_end:
            return np.int64(level), np.int64(tail), depth
        depth += 1
        if tail == limit:
            return np.int64(level_end), np.int64(tail), depth
        head = level_end


# The vertex of least (degree, index) in a part of the queue.
@helper
def lowest_degree(degrees, queue, begin, end):
    best = queue[begin]
    for place in range(begin + 1, end):
        v = queue[place]
        if degrees[v] < degrees[best] or (degrees[v] == degrees[best] and v < best):
            best = v
    return best


# Number the component of the root until the queue ends at `limit` or no new vertices come: each vertex
# appends its new neighbours, lowest degree first. `ranks` holds the degrees of those not numbered yet.
@helper
def number(indptr, indices, root, begin, limit, queue, ranks, keys):
    head, tail, limit = index(begin), index(begin) + ONE, index(limit)
    queue[head], ranks[root] = root, NUMBERED
    while head < tail and tail < limit:
        v = index(queue[head])
        head += ONE
        row, row_end = index(indptr[v]), index(indptr[v + ONE])
        if row_end - row > FEW:
            tail = append_many(indices[row:row_end], tail, queue, ranks)
            continue
        count = ZERO
        for slot in range(row, row_end):
            u = index(indices[slot])
            degree = ranks[u]
            if degree != NUMBERED:
                ranks[u] = NUMBERED
                insert(np.int32(u), degree, queue, tail, keys, count)
                count += ONE
        tail += count
    return np.int64(tail)


# Append the new neighbours of a long row.
@helper
def append_many(row, tail, queue, ranks):
    keys = np.empty(row.size, np.int64)
    count = 0
    for v in row:
        if ranks[v] != NUMBERED:
            keys[count] = sort_key(ranks[v], v)
            ranks[v] = NUMBERED
            count += 1
    append_sorted(keys[:count], queue, tail)
    return tail + index(count)
