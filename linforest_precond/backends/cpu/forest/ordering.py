"""The permutation that lays the paths one after the other: sorted by (path id, position)."""

import numpy as np

from ..runtime.jit import kernel


def order_by_scan(path_id, position, lengths):
    """Sum up the path lengths by path id: each vertex's place is its path's start plus its position."""
    order, rank = np.empty_like(path_id), np.empty_like(path_id)
    starts = np.cumsum(lengths, dtype=lengths.dtype) - lengths
    place(path_id, position, starts, order, rank)
    return order, rank


def order_by_sort(path_id, position):
    """Sort the vertices by (path id, position); the same answer as `order_by_scan`."""
    order = np.lexsort((position, path_id)).astype(path_id.dtype)
    rank = np.empty_like(order)
    rank[order] = np.arange(order.size, dtype=order.dtype)
    return order, rank


# Each vertex goes behind all paths with a smaller id and the vertices before it on its own.
@kernel(parallel=False)
def place(path_id, position, starts, order, rank):
    for v in range(path_id.size):
        rank[v] = starts[path_id[v]] + position[v] - 1
        order[rank[v]] = v
