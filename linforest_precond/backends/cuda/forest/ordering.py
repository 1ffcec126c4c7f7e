"""The ordering of a forest: its vertices sorted by (path id, position)."""

from ..runtime.launch import launch
from ..runtime.lazy_cupy import cupy
from ..runtime.loader import kernels


def order_by_scan(path_id, position, lengths):
    """Sort by a prefix sum of the path lengths: a vertex's rank is its path's start plus its position."""
    n = path_id.size
    order, rank = cupy.empty_like(path_id), cupy.empty_like(path_id)
    path_ends = cupy.cumsum(lengths, dtype=lengths.dtype)
    program = kernels("forest/ordering", INDEX=path_id.dtype.type)
    launch(program.place_vertices, (path_id, position, n, path_ends, order, rank))
    return order, rank
