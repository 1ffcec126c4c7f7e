"""The greedy matching: edges in their total order, each matched when both of its ends are free.

Algorithm 2 of Fagginger Auer & Bisseling (2012).
"""

import numpy as np

from ..runtime.arrays import NO_VERTEX, readonly
from ..runtime.edge_order import precedes
from ..runtime.hashing import edge_hash, mix64
from ..runtime.jit import helper, kernel

# Ranges of at most this many edges are sorted by insertion.
FEW = 24


def match(graph, tie_key):
    """The mate of each vertex, -1 where it is single, and an array: one sweep over the edges, maximal."""
    indptr, indices, values = map(readonly, (graph.indptr, graph.indices, graph.values))
    count = count_edges(indptr, indices, values)
    weights, ties = np.empty(count, values.dtype), np.empty(count, np.uint32)
    lows, highs = np.empty(count, indices.dtype), np.empty(count, indices.dtype)
    list_edges(indptr, indices, values, np.uint32(tie_key), weights, ties, lows, highs)
    mate = np.full(graph.n, NO_VERTEX, indices.dtype)
    match_edges(weights, ties, lows, highs, mate)
    return mate, np.array([1, 1])


@kernel
def count_edges(indptr, indices, values):
    count = 0
    for v in range(indptr.size - 1):
        for slot in range(np.int64(indptr[v]), np.int64(indptr[v + 1])):
            count += indices[slot] > v and values[slot] != 0
    return count


# The edges of the upper triangle: each edge once.
@kernel
def list_edges(indptr, indices, values, tie_key, weights, ties, lows, highs):
    count = 0
    for v in range(indptr.size - 1):
        for slot in range(np.int64(indptr[v]), np.int64(indptr[v + 1])):
            w = np.int64(indices[slot])
            if w > v and values[slot] != 0:
                weights[count], ties[count] = abs(values[slot]), edge_hash(v, w, tie_key)
                lows[count], highs[count] = v, w
                count += 1


# Quicksort interleaved with matching, as in Filter-Kruskal (Osipov, Sanders & Singler 2009): a range drops
# the edges with a matched end before it is partitioned, so most edges are never sorted. The stack holds the
# later ranges, the next one on top.
@kernel
def match_edges(weights, ties, lows, highs, mate):
    stack = np.empty((64, 2), np.int64)
    stack[0, 0], stack[0, 1] = 0, weights.size
    depth = 1
    while depth > 0:
        depth -= 1
        begin = stack[depth, 0]
        end = drop_matched(weights, ties, lows, highs, mate, begin, stack[depth, 1])
        while end - begin > FEW:
            middle = partition(weights, ties, lows, highs, begin, end)
            if depth == stack.shape[0]:
                stack = np.concatenate((stack, np.empty_like(stack)))
            stack[depth, 0], stack[depth, 1] = middle, end
            depth += 1
            end = middle
        insertion_sort(weights, ties, lows, highs, begin, end)
        for i in range(begin, end):
            low, high = lows[i], highs[i]
            if mate[low] == NO_VERTEX and mate[high] == NO_VERTEX:
                mate[low], mate[high] = high, low


# Moves the edges of a range with two free ends to its front (stream compaction); returns where they end.
@helper
def drop_matched(weights, ties, lows, highs, mate, begin, end):
    free = begin
    for i in range(begin, end):
        if mate[lows[i]] == NO_VERTEX and mate[highs[i]] == NO_VERTEX:
            weights[free], ties[free], lows[free], highs[free] = weights[i], ties[i], lows[i], highs[i]
            free += 1
    return free


# Hoare partition about the median of three edges, at a pseudorandom offset; neither part is empty.
@helper
def partition(weights, ties, lows, highs, begin, end):
    third = (end - begin) // 3
    offset = np.int64(mix64(np.uint64(begin) ^ np.uint64(end)) % np.uint64(third))
    a = begin + offset
    b, c = a + third, a + 2 * third
    if edge_precedes(weights, ties, lows, highs, b, a):
        a, b = b, a
    if edge_precedes(weights, ties, lows, highs, c, b):
        b = a if edge_precedes(weights, ties, lows, highs, c, a) else c
    weight, tie, low, high = weights[b], ties[b], lows[b], highs[b]
    i, j = begin, end - 1
    while True:
        while precedes(weights[i], ties[i], lows[i], highs[i], weight, tie, low, high):
            i += 1
        while precedes(weight, tie, low, high, weights[j], ties[j], lows[j], highs[j]):
            j -= 1
        if i >= j:
            return j + 1
        weights[i], weights[j] = weights[j], weights[i]
        ties[i], ties[j] = ties[j], ties[i]
        lows[i], lows[j] = lows[j], lows[i]
        highs[i], highs[j] = highs[j], highs[i]
        i += 1
        j -= 1


@helper
def edge_precedes(weights, ties, lows, highs, i, j):
    return precedes(weights[i], ties[i], lows[i], highs[i], weights[j], ties[j], lows[j], highs[j])


@helper
def insertion_sort(weights, ties, lows, highs, begin, end):
    for i in range(begin + 1, end):
        weight, tie, low, high = weights[i], ties[i], lows[i], highs[i]
        j = i
        while j > begin and precedes(
            weight, tie, low, high, weights[j - 1], ties[j - 1], lows[j - 1], highs[j - 1]
        ):
            weights[j], ties[j], lows[j], highs[j] = weights[j - 1], ties[j - 1], lows[j - 1], highs[j - 1]
            j -= 1
        weights[j], ties[j], lows[j], highs[j] = weight, tie, low, high
