"""Levels of a breadth-first search, one after the other, each by all threads."""

import numpy as np
from numba import prange

from .atomics import exchange_if, fetch_add, load
from .entries import wide_pattern
from .jit import helper, kernel

NOT_REACHED = -1
# Vertices of a level that one thread takes at a time, and those it finds before it appends them.
CHUNK = 256
FOUND = 256
# Levels of fewer vertices are left to one thread: to wake the others takes longer.
NARROW = 1024


def bfs_levels(pattern, source):
    """The level of each vertex."""
    levels, _, _ = walk(pattern, np.array([source], np.int32))
    return levels


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
    count = walk_levels(indptr, indices, levels, queue, begins)
    return levels, queue[: begins[count]], begins[: count + 1]


# The queue holds the first level; each level appends the vertices that none before has reached. Gives the
# number of levels.
@kernel(parallel=True)
def walk_levels(indptr, indices, levels, queue, begins):
    depth = 0
    tail = begins[1:2].copy()
    while begins[depth + 1] > begins[depth]:
        begin, end = begins[depth], begins[depth + 1]
        if end - begin < NARROW:
            reach(indptr, indices, levels, queue, tail, depth + 1, begin, end)
        elif tail[0] < queue.size:
            for chunk in prange((end - begin + CHUNK - 1) // CHUNK):
                first = begin + chunk * CHUNK
                reach(indptr, indices, levels, queue, tail, depth + 1, first, min(first + CHUNK, end))
        depth += 1
        begins[depth + 1] = tail[0]
    return depth


# Give the level to all neighbours of a part of the queue that have none, and append them.
@helper
def reach(indptr, indices, levels, queue, tail, level, begin, end):
    found = np.empty(FOUND, np.int32)
    count = 0
    for place in range(begin, end):
        v = queue[place]
        for slot in range(np.uint64(indptr[v]), np.uint64(indptr[v + 1])):
            u = np.uint64(indices[slot])
            if load(levels, u) == NOT_REACHED and exchange_if(levels, u, NOT_REACHED, level) == NOT_REACHED:
                if count == FOUND:
                    append(found, count, queue, tail)
                    count = 0
                found[count] = u
                count += 1
    append(found, count, queue, tail)


@helper
def append(found, count, queue, tail):
    place = fetch_add(tail, 0, count)
    for i in range(count):
        queue[place + i] = found[i]
