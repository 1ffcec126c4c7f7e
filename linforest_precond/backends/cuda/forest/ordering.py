"""The permutation that lays the paths one after the other: sorted by (path id, position)."""

import numpy as np

from ..runtime.launch import launch
from ..runtime.lazy_cupy import cupy
from ..runtime.loader import kernels


def order_by_scan(path_id, position, lengths):
    """Sum up the path lengths by path id: each vertex's place is its path's start plus its position."""
    n = path_id.size
    order, rank = cupy.empty_like(path_id), cupy.empty_like(path_id)
    path_ends = cupy.cumsum(lengths, dtype=lengths.dtype)
    program = kernels("forest/ordering", INDEX=path_id.dtype.type)
    launch(program.place_vertices, (path_id, position, n, path_ends, order, rank))
    return order, rank


def order_by_sort(path_id, position):
    """Sort the vertices by (path id, position); the same answer as `order_by_scan`."""
    keys = path_id.astype(np.int64) * (path_id.size + 1) + position
    order = cupy.argsort(keys).astype(path_id.dtype)
    rank = cupy.empty_like(order)
    rank[order] = cupy.arange(order.size, dtype=order.dtype)
    return order, rank
