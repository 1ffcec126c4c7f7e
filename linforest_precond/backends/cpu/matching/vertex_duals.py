"""Dual variables of the fractional matching problem: the best offers of the neighbours of a vertex."""

import numpy as np
from numba import prange

from ..runtime.arrays import readonly
from ..runtime.jit import kernel


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
