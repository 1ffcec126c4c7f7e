"""The suitor algorithm (Manne & Halappanavar 2014): vertices propose, and each keeps its best suitor."""

import numpy as np
from numba import prange

from ..runtime.arrays import NO_VERTEX, readonly
from ..runtime.atomics import exchange_if, load, store
from ..runtime.edge_order import precedes_at_end
from ..runtime.hashing import edge_hash
from ..runtime.jit import helper, kernel

# Vertices that one thread processes at a time.
CHUNK = 256


def match(graph, tie_key):
    """The mate of each vertex, -1 where it is single, and an array: one round, maximal.

    The final suitors are the mates of the greedy matching, in whatever order the vertices propose.
    """
    suitors = np.full(graph.n, NO_VERTEX, graph.indices.dtype)
    offers = np.zeros(graph.n, graph.values.dtype)
    arrays = map(readonly, (graph.indptr, graph.indices, graph.values))
    propose_all(*arrays, np.uint32(tie_key), suitors, offers)
    return suitors, np.array([1, 1])


# Every vertex proposes; threads process chunks of the vertices.
@kernel(parallel=True)
def propose_all(indptr, indices, values, tie_key, suitors, offers):
    n = suitors.size
    for chunk in prange((n + CHUNK - 1) // CHUNK):
        for v in range(chunk * CHUNK, min((chunk + 1) * CHUNK, n)):
            propose(indptr, indices, values, tie_key, suitors, offers, v)


# A vertex proposes to the best neighbour that would accept it; then the suitor that it displaced proposes. No
# ABA problem: a displaced suitor never proposes to the same vertex again, so a suitor found unchanged by the
# compare-and-swap made the offer that was compared.
@helper
def propose(indptr, indices, values, tie_key, suitors, offers, vertex):
    while vertex != NO_VERTEX:
        best = rival = np.int64(NO_VERTEX)
        best_weight, best_tie = values.dtype.type(0), np.uint32(0)
        for slot in range(np.int64(indptr[vertex]), np.int64(indptr[vertex + 1])):
            w, weight = np.int64(indices[slot]), abs(values[slot])
            if weight < best_weight or weight == 0 or w == vertex:
                continue
            tie = edge_hash(vertex, w, tie_key)
            if weight == best_weight and tie >= best_tie:
                continue
            suitor = np.int64(load(suitors, w))
            if suitor == NO_VERTEX or precedes_at_end(
                weight, tie, vertex, load(offers, suitor), edge_hash(suitor, w, tie_key), suitor
            ):
                best, best_weight, best_tie, rival = w, weight, tie, suitor
        if best == NO_VERTEX:
            return
        store(offers, vertex, best_weight)  # visible before the suitor is
        if exchange_if(suitors, best, rival, vertex) == rival:
            vertex = rival
