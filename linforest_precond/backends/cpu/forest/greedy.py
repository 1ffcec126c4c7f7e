"""The greedy [0,n]-factor: Algorithm 1 of Klein & Strzodka (2022), sequential."""

import numpy as np

from ..matrix.entries import find_slot, gathered, magnitudes, rows_of
from ..runtime.arrays import NO_VERTEX, readonly
from ..runtime.hashing import edge_hash, edge_order_key
from ..runtime.jit import kernel
from .factor import insert


def greedy_factor(graph, n, ties="index", seed=0):
    """Visit the edges by decreasing weight and keep each one whose ends both have fewer than n edges.

    Equal weights are ordered by (min, max); with `ties` "random" by (hash, min, max).
    """
    indptr, indices = readonly(graph.indptr), readonly(graph.indices)
    weights = magnitudes(graph.values)
    rows = rows_of(indptr, indices.size)
    upper = np.flatnonzero((indices > rows) & (weights > 0))  # sorted by (min, max)
    if ties == "random":
        hashes = np.empty(upper.size, np.uint32)
        hash_edges(rows[upper], indices[upper], edge_order_key(seed), hashes)
        upper = upper[np.argsort(hashes, kind="stable")]
    order = upper[np.argsort(-weights[upper], kind="stable")]
    vertices = indptr.size - 1
    neighbors, slots = (np.full((vertices, n), NO_VERTEX, indices.dtype) for _ in range(2))
    take_edges(indptr, indices, rows, order, neighbors, slots, np.zeros(vertices, np.uint8))
    return neighbors, gathered(graph.values, slots), slots


@kernel(parallel=False)
def hash_edges(rows, columns, key, hashes):
    for i in range(hashes.size):
        hashes[i] = edge_hash(rows[i], columns[i], key)


# Keeps each edge whose ends both have fewer than n edges so far.
@kernel(parallel=False)
def take_edges(indptr, indices, rows, order, neighbors, slots, degrees):
    n = neighbors.shape[1]
    for slot in order:
        v, w = rows[slot], indices[slot]
        if degrees[v] < n and degrees[w] < n:
            insert(neighbors, slots, v, np.int64(degrees[v]), w, slot)
            insert(neighbors, slots, w, np.int64(degrees[w]), v, find_slot(indptr, indices, w, v))
            degrees[v] += 1
            degrees[w] += 1
