"""Locally dominant edges: those that come first at both of their ends are matched, round after round."""

import numpy as np
from numba import prange

from .entries import readonly
from .factor import BLOCK, NO_VERTEX, pack
from .hashing import edge_hash
from .jit import helper, kernel


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


# Each block of active vertices keeps those that go on at its front. A single block needs no other thread.
@kernel(parallel=True)
def match_rounds(indptr, indices, values, tie_key, mate, choices, active, left):
    size, rounds = active.size, 0
    while True:
        blocks = (size + BLOCK - 1) // BLOCK
        if blocks == 1:
            left[0] = point(indptr, indices, values, tie_key, mate, choices, active, 0, size)
        else:
            for block in prange(blocks):
                begin, end = block * BLOCK, min((block + 1) * BLOCK, size)
                left[block] = point(indptr, indices, values, tie_key, mate, choices, active, begin, end)
        size = pack(active, left[:blocks])
        if size == 0:
            return rounds
        rounds += 1
        blocks = (size + BLOCK - 1) // BLOCK
        if blocks == 1:
            left[0] = take(mate, choices, active, 0, size)
        else:
            for block in prange(blocks):
                left[block] = take(mate, choices, active, block * BLOCK, min((block + 1) * BLOCK, size))
        size = pack(active, left[:blocks])


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
