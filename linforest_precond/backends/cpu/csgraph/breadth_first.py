"""Direction-optimizing breadth-first search: one frontier after the other, each by all threads.

S. Beamer, K. Asanović, D. Patterson, "Direction-Optimizing Breadth-First Search", SC 2012,
https://doi.org/10.1109/SC.2012.50. A narrow frontier pushes: its vertices visit their unvisited neighbours. A
wide frontier of a symmetric pattern is pulled: every unvisited vertex searches its row for a parent in the
frontier and stops at the first.
"""

import numpy as np
from numba import prange

from ..matrix.entries import wide_pattern
from ..runtime.arrays import readonly
from ..runtime.atomics import exchange_if, fetch_add, fetch_min, load, prefetch, relaxed_load, relaxed_store
from ..runtime.jit import helper, kernel

NOT_VISITED = -1
NO_PREDECESSOR = -9999
ABOVE_ALL_VERTICES = np.iinfo(np.int32).max
ONE = np.uint64(1)
# Vertices of a frontier that one thread takes at a time, and the capacity of its local queue.
CHUNK = 256
LOCAL_QUEUE = 256
# A frontier with at most this number of entries is pushed by one thread, in about a millisecond: a barrier
# takes less, but up to as long where another process holds the core of a thread.
FEW_ENTRIES = 2**17
# Places of the queue between the vertex that is expanded and the one whose row is prefetched.
AHEAD = np.uint64(16)
# Beamer's parameters: pull where the frontier has more than 1/ALPHA of the unexplored entries and more than
# 1/BETA of the vertices.
ALPHA = 14
BETA = 24


def bfs_levels(pattern, source):
    """The depth of each vertex, -1 where it is not reachable."""
    depths, _, _ = search(pattern, np.array([source], np.int32))
    return depths


def breadth_first_order(pattern, source, with_predecessors):
    """The reachable vertices by (depth, index), and the lowest predecessor of each or None."""
    depths, order, offsets = search(pattern, np.array([source], np.int32))
    sort_by_depth(depths, offsets, order)
    return order, _predecessors(pattern, depths) if with_predecessors else None


def _predecessors(pattern, depths):
    indptr, indices, _ = wide_pattern(pattern)
    predecessors = np.full(pattern.n, ABOVE_ALL_VERTICES, np.int32)
    find_predecessors = pull_predecessors if pattern.symmetric else push_predecessors
    find_predecessors(indptr, indices, readonly(depths), predecessors)
    predecessors[predecessors == ABOVE_ALL_VERTICES] = NO_PREDECESSOR
    return predecessors


def search(pattern, sources):
    """Breadth-first search from all sources at once.

    Returns the depth of each vertex, the queue of visited vertices (by depth, in arbitrary order within one),
    and the offsets at which each depth begins in the queue, with the queue's length at the end.
    """
    n = pattern.n
    depths = np.full(n, NOT_VISITED, np.int32)
    queue = np.empty(n, np.int32)
    queue[: sources.size] = sources
    depths[sources] = 0
    offsets = np.zeros(n + 2, np.int64)
    offsets[1] = sources.size
    indptr, indices, _ = wide_pattern(pattern)
    count = expand_frontiers(indptr, indices, pattern.symmetric, depths, queue, offsets)
    return depths, queue[: offsets[count]], offsets[: count + 1]


# The queue holds the sources; each frontier appends the next one. Returns the number of frontiers.
@kernel(parallel=True)
def expand_frontiers(indptr, indices, symmetric, depths, queue, offsets):
    depth = 0
    tail = offsets[1:2].copy()
    unexplored = indices.size
    narrow = FEW_ENTRIES * depths.size // max(indices.size, 1)
    while offsets[depth + 1] > offsets[depth]:
        begin, end = offsets[depth], offsets[depth + 1]
        all_visited = tail[0] == queue.size
        if not all_visited and end - begin < narrow:
            unexplored -= push_serially(indptr, indices, depths, queue, tail, depth + 1, begin, end)
        elif not all_visited:
            entries = 0
            for place in prange(begin, end):
                entries += indptr[queue[place] + 1] - indptr[queue[place]]
            if symmetric and entries * ALPHA > unexplored and (end - begin) * BETA > depths.size:
                for chunk in prange((depths.size + CHUNK - 1) // CHUNK):
                    pull(indptr, indices, depths, queue, tail, depth, chunk * CHUNK)
            else:
                for chunk in prange((end - begin + CHUNK - 1) // CHUNK):
                    first, last = begin + chunk * CHUNK, min(begin + (chunk + 1) * CHUNK, end)
                    push(indptr, indices, depths, queue, tail, depth + 1, first, last)
            unexplored -= entries
        depth += 1
        offsets[depth + 1] = tail[0]
    return depth


# Visit the unvisited neighbours of a range of the queue and append them, by the only thread. Returns the
# number of entries read.
@helper
def push_serially(indptr, indices, depths, queue, tail, depth, begin, end):
    new_tail, entries = np.uint64(tail[0]), np.uint64(0)
    for place in range(np.uint64(begin), np.uint64(end)):
        prefetch(indptr, np.uint64(queue[min(place + AHEAD + AHEAD, new_tail - ONE)]))
        prefetch(indices, np.uint64(indptr[np.uint64(queue[min(place + AHEAD, new_tail - ONE)])]))
        v = np.uint64(queue[place])
        row, row_end = np.uint64(indptr[v]), np.uint64(indptr[v + ONE])
        entries += row_end - row
        for slot in range(row, row_end):
            u = np.uint64(indices[slot])
            if depths[u] == NOT_VISITED:
                depths[u] = depth
                queue[new_tail] = u
                new_tail += ONE
    tail[0] = new_tail
    return np.int64(entries)


# The same beside other threads.
@helper
def push(indptr, indices, depths, queue, tail, depth, begin, end):
    found = np.empty(LOCAL_QUEUE, np.int32)
    count = 0
    for place in range(begin, end):
        v = np.uint64(queue[place])
        for slot in range(np.uint64(indptr[v]), np.uint64(indptr[v + ONE])):
            u = np.uint64(indices[slot])
            if visit(depths, u, depth):
                if count == LOCAL_QUEUE:
                    append(found, count, queue, tail)
                    count = 0
                found[count] = u
                count += 1
    append(found, count, queue, tail)


# Set the depth of an unvisited vertex. The load before the compare-and-swap saves most of these: on wide
# frontiers most neighbours are already visited.
@helper
def visit(depths, v, depth):
    if relaxed_load(depths, v) != NOT_VISITED:
        return False
    return exchange_if(depths, v, NOT_VISITED, depth) == NOT_VISITED


# Each unvisited vertex of a chunk searches its row for a neighbour in the frontier.
@helper
def pull(indptr, indices, depths, queue, tail, frontier_depth, begin):
    found = np.empty(CHUNK, np.int32)
    count = 0
    for v in range(begin, min(begin + CHUNK, depths.size)):
        if relaxed_load(depths, v) != NOT_VISITED:
            continue
        for slot in range(np.uint64(indptr[v]), np.uint64(indptr[v + 1])):
            if relaxed_load(depths, np.uint64(indices[slot])) == frontier_depth:
                relaxed_store(depths, v, frontier_depth + 1)
                found[count] = v
                count += 1
                break
    append(found, count, queue, tail)


# Move a local queue to the end of the shared one; one atomic reserves the room.
@helper
def append(found, count, queue, tail):
    place = fetch_add(tail, 0, count)
    for i in range(count):
        queue[place + i] = found[i]


# Counting sort of the visited vertices by (depth, index); overwrites `offsets`.
@kernel(parallel=False)
def sort_by_depth(depths, offsets, order):
    for v in range(depths.size):
        if depths[v] >= 0:
            order[offsets[depths[v]]] = v
            offsets[depths[v]] += 1


# The lowest neighbour one step closer to the source is the first in the row: columns ascend.
@kernel(parallel=True)
def pull_predecessors(indptr, indices, depths, predecessors):
    for v in prange(depths.size):
        if depths[v] > 0:
            for slot in range(indptr[v], indptr[v + 1]):
                if depths[indices[slot]] == depths[v] - 1:
                    predecessors[v] = indices[slot]
                    break


# The same for directed edges, by an atomic minimum at their heads.
@kernel(parallel=True)
def push_predecessors(indptr, indices, depths, predecessors):
    for v in prange(depths.size):
        if depths[v] >= 0:
            for slot in range(indptr[v], indptr[v + 1]):
                u = indices[slot]
                if depths[u] == depths[v] + 1 and v < load(predecessors, u):
                    fetch_min(predecessors, u, v)
