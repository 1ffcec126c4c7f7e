"""The three bands of the permuted matrix, copied bit for bit from its entries."""

import numpy as np
from numba import prange

from ..matrix.entries import find_slot
from ..runtime.arrays import readonly
from ..runtime.jit import helper, kernel

# What a search finds where A stores nothing.
NO_SLOT = -1


def extract(csr, neighbors, order, values, slots):
    """Copy the diagonal and the forest's edges, both directions as A has them, to their new places.

    The entries along the edges are `values` themselves, or lie at `slots`, or are searched in A's rows (0
    where A has none): whichever is not None, in this order.
    """
    if values is not None:
        values, slots = values.ravel(), _own_places(neighbors)
    else:
        values, slots = csr.data, _search(csr, neighbors) if slots is None else slots
    # Values are moved as words of four bytes, so that one compiled kernel serves every type.
    words = values.view(np.uint32).reshape(values.size, values.itemsize // 4)
    lower, upper = (np.zeros((csr.n, words.shape[1]), np.uint32) for _ in range(2))
    copy_edges(*map(readonly, (words, neighbors, slots, order)), lower, upper)
    lower, upper = (band.reshape(-1).view(values.dtype) for band in (lower, upper))
    return lower, csr.diagonal[order], upper


def _own_places(neighbors):
    """Where each edge's value lies in a raveled table of the shape of `neighbors`."""
    return np.arange(neighbors.size).reshape(neighbors.shape)


def _search(csr, neighbors):
    slots = np.empty(neighbors.shape, np.int64)
    find_slots(*map(readonly, (csr.indptr, csr.indices, neighbors)), slots)
    return slots


# Where A stores each edge of the forest.
@kernel(parallel=True)
def find_slots(indptr, indices, neighbors, slots):
    for v in prange(slots.shape[0]):
        for j in range(2):
            w = np.int64(neighbors[v, j])
            slots[v, j] = find_slot(indptr, indices, v, w) if w >= 0 else NO_SLOT


# Each place of the new order takes its vertex's edges: the one to the vertex before it and the other one.
@kernel(parallel=True)
def copy_edges(words, neighbors, slots, order, lower, upper):
    for place in prange(order.size):
        v = np.int64(order[place])
        before = np.int64(order[place - 1]) if place > 0 else np.int64(-1)
        for j in range(2):
            w = np.int64(neighbors[v, j])
            if w >= 0:
                copy(words, np.int64(slots[v, j]), lower if w == before else upper, place)


@helper
def copy(words, slot, band, place):
    if slot >= 0:
        for i in range(words.shape[1]):
            band[place, i] = words[slot, i]
