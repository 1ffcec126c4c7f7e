"""The ordering of a forest: its vertices sorted by (path id, position)."""

import numpy as np

from ..runtime.jit import kernel


def order_by_scan(path_id, position, lengths):
    """Sort by a prefix sum of the path lengths: a vertex's rank is its path's start plus its position."""
    order, rank = np.empty_like(path_id), np.empty_like(path_id)
    starts = np.cumsum(lengths, dtype=lengths.dtype) - lengths
    place(path_id, position, starts, order, rank)
    return order, rank


def order_by_radix_sort(path_id, position, lengths):
    """LSD radix sort of the words (path id, position), by digits of 16 bits: NumPy's stable sort of them."""
    order = np.arange(path_id.size, dtype=path_id.dtype)
    for half in (position, path_id):
        for shift in range(0, path_id.size.bit_length(), 16):
            digits = (half[order] >> shift).astype(np.uint16)
            order = order[np.argsort(digits, kind="stable")]
    rank = np.empty_like(order)
    rank[order] = np.arange(order.size, dtype=order.dtype)
    return order, rank


# The rank of a vertex is the start of its path plus its position, counted from 1.
@kernel(parallel=False)
def place(path_id, position, starts, order, rank):
    for v in range(path_id.size):
        rank[v] = starts[path_id[v]] + position[v] - 1
        order[rank[v]] = v
