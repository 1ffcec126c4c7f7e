"""Breadth-first search, level by level, each by all threads."""

import numpy as np
from numba import prange

from ..matrix.entries import wide_pattern
from ..runtime.arrays import readonly
from ..runtime.atomics import exchange_if, fetch_add, fetch_min, load, store
from ..runtime.jit import helper, kernel

NOT_REACHED = -1
NO_PREDECESSOR = -9999
BEYOND_ALL = np.iinfo(np.int32).max
# Vertices of a level that one thread takes at a time, and those it finds before it appends them.
CHUNK = 256
FOUND = 256
# Levels of fewer vertices are left to one thread: to wake the others takes longer.
NARROW = 1024
# Vertices look back where the front has more than this share of the entries left, and of the vertices
# (S. Beamer, K. Asanović, D. Patterson, "Direction-Optimizing Breadth-First Search", 2012).
ENTRIES_TO_ONE = 14
VERTICES_TO_ONE = 24


def bfs_levels(pattern, source):
    """The level of each vertex."""
    levels, _, _ = walk(pattern, np.array([source], np.int32))
    return levels


def breadth_first_order(pattern, source, with_predecessors):
    """The vertices that can be reached by (level, index), and the lowest predecessor of each or None."""
    levels, order, begins = walk(pattern, np.array([source], np.int32))
    sort_levels(levels, begins, order)
    return order, _predecessors(pattern, levels) if with_predecessors else None


def _predecessors(pattern, levels):
    indptr, indices, _ = wide_pattern(pattern)
    predecessors = np.full(pattern.n, BEYOND_ALL, np.int32)
    find_predecessors = look_back_from_all if pattern.symmetric else look_ahead_from_all
    find_predecessors(indptr, indices, readonly(levels), predecessors)
    predecessors[predecessors == BEYOND_ALL] = NO_PREDECESSOR
    return predecessors


def walk(pattern, sources):
    """Breadth first from all sources at once.

    Gives the level of each vertex, the vertices level by level (in no certain order within one), and where
    in these each level begins, and the last ends.
    """
    n = pattern.n
    levels = np.full(n, NOT_REACHED, np.int32)
    queue = np.empty(n, np.int32)
    queue[: sources.size] = sources
    levels[sources] = 0
    begins = np.zeros(n + 2, np.int64)
    begins[1] = sources.size
    indptr, indices, _ = wide_pattern(pattern)
    count = walk_levels(indptr, indices, pattern.symmetric, levels, queue, begins)
    return levels, queue[: begins[count]], begins[: count + 1]


# The queue holds the first level; each level appends the vertices that none before has reached. Gives the
# number of levels.
@kernel(parallel=True)
def walk_levels(indptr, indices, symmetric, levels, queue, begins):
    depth = 0
    tail = begins[1:2].copy()
    left = indices.size
    while begins[depth + 1] > begins[depth]:
        begin, end = begins[depth], begins[depth + 1]
        if end - begin < NARROW:
            left -= reach(indptr, indices, levels, queue, tail, depth + 1, begin, end, True)
        elif tail[0] < queue.size:
            front = 0
            for place in prange(begin, end):
                front += indptr[queue[place] + 1] - indptr[queue[place]]
            if symmetric and front * ENTRIES_TO_ONE > left and (end - begin) * VERTICES_TO_ONE > levels.size:
                for chunk in prange((levels.size + CHUNK - 1) // CHUNK):
                    look_back(indptr, indices, levels, queue, tail, depth, chunk * CHUNK)
            else:
                for chunk in prange((end - begin + CHUNK - 1) // CHUNK):
                    first, last = begin + chunk * CHUNK, min(begin + (chunk + 1) * CHUNK, end)
                    reach(indptr, indices, levels, queue, tail, depth + 1, first, last, False)
            left -= front
        depth += 1
        begins[depth + 1] = tail[0]
    return depth


# Give the level to all neighbours of a part of the queue that have none, and append them. Gives the number of
# entries looked at.
@helper
def reach(indptr, indices, levels, queue, tail, level, begin, end, alone):
    found = np.empty(FOUND, np.int32)
    count = looked_at = 0
    for place in range(begin, end):
        v = queue[place]
        looked_at += indptr[v + 1] - indptr[v]
        for slot in range(np.uint64(indptr[v]), np.uint64(indptr[v + 1])):
            u = np.uint64(indices[slot])
            if take(levels, u, level, alone):
                if count == FOUND:
                    append(found, count, queue, tail)
                    count = 0
                found[count] = u
                count += 1
    append(found, count, queue, tail)
    return looked_at


# Give a vertex its level, if it has none.
@helper
def take(levels, v, level, alone):
    if load(levels, v) != NOT_REACHED:
        return False
    if alone:
        store(levels, v, level)
        return True
    return exchange_if(levels, v, NOT_REACHED, level) == NOT_REACHED


# Those of a chunk of vertices that have no level look for a neighbour that has the last one.
@helper
def look_back(indptr, indices, levels, queue, tail, last_level, begin):
    found = np.empty(CHUNK, np.int32)
    count = 0
    for v in range(begin, min(begin + CHUNK, levels.size)):
        if load(levels, v) != NOT_REACHED:
            continue
        for slot in range(np.uint64(indptr[v]), np.uint64(indptr[v + 1])):
            if load(levels, np.uint64(indices[slot])) == last_level:
                store(levels, v, last_level + 1)
                found[count] = v
                count += 1
                break
    append(found, count, queue, tail)


@helper
def append(found, count, queue, tail):
    place = fetch_add(tail, 0, count)
    for i in range(count):
        queue[place + i] = found[i]


# Bring the vertices of each level into ascending order; levels begin at `begins`, which are used up.
@kernel(parallel=False)
def sort_levels(levels, begins, order):
    for v in range(levels.size):
        if levels[v] >= 0:
            order[begins[levels[v]]] = v
            begins[levels[v]] += 1


# The lowest neighbour in the level before: columns ascend.
@kernel(parallel=True)
def look_back_from_all(indptr, indices, levels, predecessors):
    for v in prange(levels.size):
        if levels[v] > 0:
            for slot in range(indptr[v], indptr[v + 1]):
                if levels[indices[slot]] == levels[v] - 1:
                    predecessors[v] = indices[slot]
                    break


# The same along entries that lead one way.
@kernel(parallel=True)
def look_ahead_from_all(indptr, indices, levels, predecessors):
    for v in prange(levels.size):
        if levels[v] >= 0:
            for slot in range(indptr[v], indptr[v + 1]):
                u = indices[slot]
                if levels[u] == levels[v] + 1 and v < load(predecessors, u):
                    fetch_min(predecessors, u, v)
