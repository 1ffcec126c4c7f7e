"""The ordering of a forest: its vertices sorted by (path id, position)."""

import numpy as np

from ..runtime.jit import kernel


def order_by_scan(path_id, position, lengths):
    """Sort by a prefix sum of the path lengths: a vertex's rank is its path's start plus its position."""
    order, rank = np.empty_like(path_id), np.empty_like(path_id)
    starts = np.cumsum(lengths, dtype=lengths.dtype) - lengths
    place(path_id, position, starts, order, rank)
    return order, rank


# The rank of a vertex is the start of its path plus its position, counted from 1.
@kernel(parallel=False)
def place(path_id, position, starts, order, rank):
    for v in range(path_id.size):
        rank[v] = starts[path_id[v]] + position[v] - 1
        order[rank[v]] = v
