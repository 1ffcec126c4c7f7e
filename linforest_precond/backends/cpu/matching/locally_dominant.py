"""Locally dominant edges: those that come first at both of their ends are matched, round after round."""

import numpy as np
from numba import prange

from ..runtime.arrays import readonly
from ..runtime.compaction import BLOCK, compact
from ..runtime.constants import NO_VERTEX
from ..runtime.hashing import edge_hash
from ..runtime.jit import helper, kernel

# A round that matches less than one in so many vertices is slow.
SLOW = 16


def match(graph, tie_key):
    """The mate of each vertex, -1 of a single one, and an array: rounds that matched, maximal.

    In a round every free vertex whose choice is not free any more points along its first free edge; edges
    that both ends point along are matched. Vertices without a free edge drop out.
    """
    vertices, index = graph.n, graph.indices.dtype
    mate, choices = np.full(vertices, NO_VERTEX, index), np.full(vertices, NO_VERTEX, index)
    active, left = np.arange(vertices, dtype=index), np.empty(-(-vertices // BLOCK), np.int64)
    arrays = map(readonly, (graph.indptr, graph.indices, graph.values))
    rounds = match_rounds(*arrays, np.uint32(tie_key), mate, choices, active, left)
    return mate, np.array([rounds, 1])


# Rounds of all threads, as long as these have enough to do: each block of active vertices keeps those that go
# on at its front.
@kernel(parallel=True)
def match_rounds(indptr, indices, values, tie_key, mate, choices, active, left):
    size, rounds = active.size, 0
    taken = size
    while size > BLOCK and SLOW * taken > size:
        blocks = (size + BLOCK - 1) // BLOCK
        for block in prange(blocks):
            begin, end = block * BLOCK, min((block + 1) * BLOCK, size)
            left[block] = point(indptr, indices, values, tie_key, mate, choices, active, begin, end)
        size = compact(active, left[:blocks])
        blocks = (size + BLOCK - 1) // BLOCK
        for block in prange(blocks):
            left[block] = take(mate, choices, active, block * BLOCK, min((block + 1) * BLOCK, size))
        taken = size
        size = compact(active, left[:blocks])
        taken -= size
        rounds += taken > 0
    return finish(indptr, indices, values, tie_key, mate, choices, active[:size], rounds)


# The remaining rounds, by one thread: whoever loses its choice is found in the rows of those that are
# matched, so a long chain of edges is worked off without a look at all of it in every round.
@helper
def finish(indptr, indices, values, tie_key, mate, choices, queue, rounds):
    size = point(indptr, indices, values, tie_key, mate, choices, queue, 0, queue.size)
    matched = np.empty(queue.size, queue.dtype)
    while size > 0:
        count = 0
        for v in queue[:size]:
            w = choices[v]
            if mate[v] == NO_VERTEX and choices[w] == v:
                mate[v], mate[w] = w, v
                matched[count], matched[count + 1] = v, w
                count += 2
        size = 0
        for v in matched[:count]:
            for slot in range(np.int64(indptr[v]), np.int64(indptr[v + 1])):
                w = indices[slot]
                if choices[w] == v and mate[w] == NO_VERTEX:
                    queue[size] = w
                    size += 1
        size = point(indptr, indices, values, tie_key, mate, choices, queue, 0, size)
        rounds += 1
    return rounds


# Vertices choose anew where their choice is gone; how many have one.
@helper
def point(indptr, indices, values, tie_key, mate, choices, active, begin, end):
    stay = begin
    for i in range(begin, end):
        v = np.int64(active[i])
        choice = np.int64(choices[v])
        if choice == NO_VERTEX or mate[choice] != NO_VERTEX:
            choice = np.int64(NO_VERTEX)
            best, best_tie = values.dtype.type(0), np.uint32(0)
            for slot in range(np.int64(indptr[v]), np.int64(indptr[v + 1])):
                w, weight = np.int64(indices[slot]), abs(values[slot])
                if weight < best or weight == 0 or w == v or mate[w] != NO_VERTEX:
                    continue
                tie = edge_hash(v, w, tie_key)
                if weight > best or tie < best_tie:
                    choice, best, best_tie = w, weight, tie
            choices[v] = choice
        if choice != NO_VERTEX:
            active[stay] = v
            stay += 1
    return stay - begin


# Vertices whose choices chose them are matched; how many go on. Each one writes its own mate alone.
@helper
def take(mate, choices, active, begin, end):
    stay = begin
    for i in range(begin, end):
        v = active[i]
        if choices[choices[v]] == v:
            mate[v] = choices[v]
        else:
            active[stay] = v
            stay += 1
    return stay - begin
