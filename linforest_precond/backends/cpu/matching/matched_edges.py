"""Values of matched edges, and the best offers of the other ones, by which dual variables are bounded."""

import numpy as np
from numba import prange

from ..matrix.entries import find_slot
from ..runtime.arrays import NOT_FOUND, readonly
from ..runtime.jit import kernel


def matched_edge_values(graph, mate):
    """The graph's value between each vertex and its mate, 0 where it has none or nothing is stored."""
    out = np.zeros(graph.n, graph.values.dtype)
    find_matched_values(*map(readonly, (graph.indptr, graph.indices, graph.values, mate)), out)
    return out


# Binary search of the mate in each vertex's row.
@kernel(parallel=True)
def find_matched_values(indptr, indices, values, mate, out):
    for v in prange(out.size):
        if mate[v] >= 0:
            slot = find_slot(indptr, indices, v, mate[v])
            if slot != NOT_FOUND:
                out[v] = values[slot]


def best_offers(graph, duals, without):
    """For each vertex the largest weight minus dual over its neighbours but one, `without`; at least 0.

    Weights are float64, times the graph's scale.
    """
    offers = np.empty(graph.n)
    arrays = graph.indptr, graph.indices, graph.values, duals, without
    find_best_offers(*map(readonly, arrays), graph.scale, offers)
    return offers


@kernel(parallel=True)
def find_best_offers(indptr, indices, values, duals, without, scale, offers):
    for v in prange(offers.size):
        best = 0.0
        for slot in range(np.int64(indptr[v]), np.int64(indptr[v + 1])):
            x = np.int64(indices[slot])
            if x != v and x != without[v]:
                best = max(best, abs(np.float64(values[slot])) * scale - duals[x])
        offers[v] = best
