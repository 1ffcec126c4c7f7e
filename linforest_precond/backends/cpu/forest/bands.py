"""The three (block) bands of the permuted matrix: copies of its entries along the paths of a forest."""

import numpy as np
from numba import prange

from ..matrix.entries import find_slot
from ..runtime.arrays import NOT_FOUND, readonly
from ..runtime.jit import helper, kernel

# No entry is stored.
NO_SLOT = -1

# Entries of a row that is searched from end to end; longer ones are searched by halves.
LONGEST_SCANNED = 12


def extract(csr, neighbors, order, values, slots):
    """Copy the diagonal and the entries along the forest's edges, in both directions, in the new order.

    The entries along the edges are `values`, or are stored at `slots`, or are found by binary search in A's
    rows (0 where A has none): whichever is not None, in this order.
    """
    if values is not None:
        values, slots = values.ravel(), np.arange(neighbors.size).reshape(neighbors.shape)
    else:
        values, slots = csr.data, slots_of_edges(csr, neighbors) if slots is None else slots
    # Values are copied as 32-bit words, so that one compiled kernel serves every type.
    words = values.view(np.uint32).reshape(values.size, values.itemsize // 4)
    lower, upper = (np.zeros((csr.n, words.shape[1]), np.uint32) for _ in range(2))
    copy_edges(*map(readonly, (words, neighbors, slots, order)), lower, upper)
    lower, upper = (band.reshape(-1).view(values.dtype) for band in (lower, upper))
    return lower, csr.diagonal[order], upper


def without_edges(graph, neighbors):
    """The graph's values, with zeros for the edges of a forest: they are no edges then."""
    values, slots = graph.values.copy(), slots_of_edges(graph, neighbors)
    values[slots[slots >= 0]] = 0
    return values


def slots_of_edges(csr, neighbors):
    """The slots of the edges in the rows of a matrix or graph."""
    slots = np.empty(neighbors.shape, np.int64)
    find_slots(*map(readonly, (csr.indptr, csr.indices, neighbors)), slots)
    return slots


# The slot in A of each edge of the forest.
@kernel(parallel=True)
def find_slots(indptr, indices, neighbors, slots):
    for v in prange(slots.shape[0]):
        for j in range(2):
            w = np.int64(neighbors[v, j])
            slots[v, j] = find_slot(indptr, indices, v, w) if w >= 0 else NO_SLOT


# Rows over ranks: the slots of a row's entries in the blocks before, at and after its own one, on the same
# path. `positions` and `paths` are those of the columns, the own ones first.
@kernel(parallel=True)
def find_slots_of_rows(indptr, columns, positions, paths, slots):
    block = slots.shape[2]
    for row in prange(slots.shape[0]):
        for slot in range(indptr[row], indptr[row + 1]):
            column = columns[slot]
            band = positions[column] // block - positions[row] // block + 1
            if 0 <= band <= 2 and paths[column] == paths[row]:
                slots[row, band, positions[column] % block] = slot


# Each row of the new order copies the entries along its vertex's edges: to the row before into `lower`,
# to the row after into `upper`.
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
    if 0 <= slot < words.shape[0]:  # it is beyond the entries if it is that of another matrix
        for i in range(words.shape[1]):
            band[place, i] = words[slot, i]


def extract_blocks(csr, members, starts_path):
    """Copy A's entries inside the blocks and between neighbours on a path.

    The diagonal entry of a ghost is that of the first vertex of its block, so that it has the scale of A; it
    is 1 where that is 0. `members` holds a row of vertices for each block, `starts_path` whether the block is
    the first of its path.
    """
    n, b = members.shape
    # Values are copied as 32-bit words, so that one compiled kernel serves every type.
    words = csr.data.view(np.uint32).reshape(csr.nnz, csr.data.itemsize // 4)
    own = np.where(csr.diagonal != 0, csr.diagonal, csr.data.dtype.type(1))
    ghosts = own.view(np.uint32).reshape(csr.n, words.shape[1])
    bands = [np.zeros((n, b, b, words.shape[1]), np.uint32) for _ in range(3)]
    arrays = map(readonly, (csr.indptr, csr.indices, words, ghosts, members, starts_path))
    copy_blocks(*arrays, *bands)
    return tuple(band.view(csr.data.dtype).reshape(n, b, b) for band in bands)


# Each block copies the entries of its rows in its own columns and in those of the blocks before and after it.
# (One long function: a helper that takes these arrays, called for every block, costs several times as much.)
@kernel(parallel=True)
def copy_blocks(indptr, indices, words, ghosts, members, starts_path, lower, diagonal, upper):
    n, b = members.shape
    for block in prange(n):
        first = block if starts_path[block] else block - 1
        end = block + 1 if block + 1 == n or starts_path[block + 1] else block + 2
        for i in range(b):
            v = np.int64(members[block, i])
            if v < 0:
                for k in range(ghosts.shape[1]):
                    diagonal[block, i, i, k] = ghosts[members[block, 0], k]
                continue
            begin, row_end = np.int64(indptr[v]), np.int64(indptr[v + 1])
            for other in range(first, end):
                for j in range(b):
                    w = np.int64(members[other, j])
                    slot = np.int64(NOT_FOUND)
                    if row_end - begin > LONGEST_SCANNED:
                        slot = find_slot(indptr, indices, v, w)
                    else:
                        for place in range(begin, row_end):
                            slot = place if indices[place] == w else slot
                    for k in range(words.shape[1] if slot >= 0 else 0):
                        if other < block:
                            lower[block, i, j, k] = words[slot, k]
                        elif other == block:
                            diagonal[block, i, j, k] = words[slot, k]
                        else:
                            upper[block, i, j, k] = words[slot, k]
