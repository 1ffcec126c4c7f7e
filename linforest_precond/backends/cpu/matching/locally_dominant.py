"""Matching of locally dominant edges (Preis 1999; Manne & Bisseling 2008): the best at both of their ends."""

import numpy as np
from numba import prange

from ..runtime.arrays import BLOCK, NO_VERTEX, compact, readonly
from ..runtime.hashing import edge_hash
from ..runtime.jit import helper, kernel

# A round that matches fewer than one in SLOW vertices ends the parallel rounds.
SLOW = 16


def match(graph, tie_key):
    """The mate of each vertex, -1 where it is single, and an array: rounds that matched edges, maximal.

    In a round every free vertex whose target is not free any more points along its best edge to a free
    vertex; then mutual pointers are matched. Vertices without a free neighbour become inactive.
    """
    vertices, index = graph.n, graph.indices.dtype
    mate, pointers = np.full(vertices, NO_VERTEX, index), np.full(vertices, NO_VERTEX, index)
    active, left = np.arange(vertices, dtype=index), np.empty(-(-vertices // BLOCK), np.int64)
    arrays = map(readonly, (graph.indptr, graph.indices, graph.values))
    rounds = match_rounds(*arrays, np.uint32(tie_key), mate, pointers, active, left)
    return mate, np.array([rounds, 1])


# Parallel rounds, while there are enough active vertices and many of them are matched. The list of active
# vertices is compacted block by block.
@kernel(parallel=True)
def match_rounds(indptr, indices, values, tie_key, mate, pointers, active, left):
    size, rounds = active.size, 0
    matched = size
    while size > BLOCK and SLOW * matched > size:
        blocks = (size + BLOCK - 1) // BLOCK
        for block in prange(blocks):
            begin, end = block * BLOCK, min((block + 1) * BLOCK, size)
            left[block] = set_pointers(indptr, indices, values, tie_key, mate, pointers, active, begin, end)
        size = compact(active, left[:blocks])
        blocks = (size + BLOCK - 1) // BLOCK
        for block in prange(blocks):
            left[block] = match_mutual(mate, pointers, active, block * BLOCK, min((block + 1) * BLOCK, size))
        matched = size
        size = compact(active, left[:blocks])
        matched -= size
        rounds += matched > 0
    return finish(indptr, indices, values, tie_key, mate, pointers, active[:size], rounds)


# The remaining rounds, by one thread, with a queue: vertices that lost their target are found in the rows of
# the newly matched vertices, so a long chain of dependent edges is not rescanned in every round.
@helper
def finish(indptr, indices, values, tie_key, mate, pointers, queue, rounds):
    size = set_pointers(indptr, indices, values, tie_key, mate, pointers, queue, 0, queue.size)
    matched = np.empty(queue.size, queue.dtype)
    while size > 0:
        count = 0
        for v in queue[:size]:
            w = pointers[v]
            if mate[v] == NO_VERTEX and pointers[w] == v:
                mate[v], mate[w] = w, v
                matched[count], matched[count + 1] = v, w
                count += 2
        size = 0
        for v in matched[:count]:
            for slot in range(np.int64(indptr[v]), np.int64(indptr[v + 1])):
                w = indices[slot]
                if pointers[w] == v and mate[w] == NO_VERTEX:
                    queue[size] = w
                    size += 1
        size = set_pointers(indptr, indices, values, tie_key, mate, pointers, queue, 0, size)
        rounds += 1
    return rounds


# Sets the pointers of the vertices whose targets were matched; compacts the vertices that have a target, and
# returns their number.
@helper
def set_pointers(indptr, indices, values, tie_key, mate, pointers, active, begin, end):
    stay = begin
    for i in range(begin, end):
        v = np.int64(active[i])
        target = np.int64(pointers[v])
        if target == NO_VERTEX or mate[target] != NO_VERTEX:
            target = np.int64(NO_VERTEX)
            best, best_tie = values.dtype.type(0), np.uint32(0)
            for slot in range(np.int64(indptr[v]), np.int64(indptr[v + 1])):
                w, weight = np.int64(indices[slot]), abs(values[slot])
                if weight < best or weight == 0 or w == v or mate[w] != NO_VERTEX:
                    continue
                tie = edge_hash(v, w, tie_key)
                if weight > best or tie < best_tie:
                    target, best, best_tie = w, weight, tie
            pointers[v] = target
        if target != NO_VERTEX:
            active[stay] = v
            stay += 1
    return stay - begin


# Matches mutual pointers; compacts the other vertices, and returns their number. Each vertex writes its own
# mate only.
@helper
def match_mutual(mate, pointers, active, begin, end):
    stay = begin
    for i in range(begin, end):
        v = active[i]
        if pointers[pointers[v]] == v:
            mate[v] = pointers[v]
        else:
            active[stay] = v
            stay += 1
    return stay - begin
