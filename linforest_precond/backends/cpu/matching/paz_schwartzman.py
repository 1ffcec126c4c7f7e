"""The semi-streaming local-ratio algorithm of Paz & Schwartzman (2018): one pass, few edges kept on a stack.

Implemented in the form of Ghaffari & Wajc, "Simplified and Space-Optimal Semi-Streaming (2+ε)-Approximate
Matching" (2019), doi:10.4230/OASIcs.SOSA.2019.13: the vertices' dual variables (potentials), scaled by
1 + ε/2, cover every edge, and their sum is at most twice the weight of the matching.
"""

import numpy as np

from ..runtime.arrays import NO_VERTEX, readonly
from ..runtime.jit import kernel


def match(graph, epsilon):
    """The mate of each vertex, -1 where it is single, and an array: one pass, whether it is maximal."""
    arrays = tuple(map(readonly, (graph.indptr, graph.indices, graph.values)))
    lows, highs = keep_edges(*arrays, 1.0 + 0.5 * epsilon, graph.scale)
    mate = np.full(graph.n, NO_VERTEX, graph.indices.dtype)
    unwind(lows, highs, mate)
    return mate, np.array([1, is_maximal(*arrays, mate)])


# The stack of edges: an edge is pushed if its weight exceeds `factor` times the potentials of its ends; both
# potentials then grow by the excess of the weight over their sum.
@kernel
def keep_edges(indptr, indices, values, factor, scale):
    n = indptr.size - 1
    potentials = np.zeros(n)
    lows, highs = np.empty(n + 1, indices.dtype), np.empty(n + 1, indices.dtype)
    count = 0
    for v in range(n):
        for slot in range(np.int64(indptr[v]), np.int64(indptr[v + 1])):
            w = np.int64(indices[slot])
            weight, covered = abs(np.float64(values[slot])) * scale, potentials[v] + potentials[w]
            if w <= v or weight <= factor * covered:
                continue
            potentials[v] += weight - covered
            potentials[w] += weight - covered
            if count == lows.size:
                lows, highs = np.concatenate((lows, lows)), np.concatenate((highs, highs))
            lows[count], highs[count] = v, w
            count += 1
    return lows[:count], highs[:count]


# Unwinds the stack: the last edge is matched first, and each that has two free ends.
@kernel
def unwind(lows, highs, mate):
    for i in range(lows.size - 1, -1, -1):
        low, high = lows[i], highs[i]
        if mate[low] == NO_VERTEX and mate[high] == NO_VERTEX:
            mate[low], mate[high] = high, low


@kernel
def is_maximal(indptr, indices, values, mate):
    for v in range(mate.size):
        if mate[v] == NO_VERTEX:
            for slot in range(np.int64(indptr[v]), np.int64(indptr[v + 1])):
                w = np.int64(indices[slot])
                if w != v and values[slot] != 0 and mate[w] == NO_VERTEX:
                    return False
    return True
