"""The ordering of a forest: its vertices sorted by (path id, position)."""

import numpy as np

from ..runtime import INDICES, Program, cupy, launch
from ..runtime.prefix_sum import add_up

PROGRAM = Program("forest/ordering", INDEX=INDICES)


def order_by_scan(path_id, position, lengths):
    n = path_id.size
    order, rank, path_ends = (cupy.empty(n, path_id.dtype) for _ in range(3))
    add_up(lengths, path_ends)
    launch(PROGRAM(INDEX=path_id).place_vertices, (path_id, position, n, path_ends, order, rank))
    return order, rank


def order_by_radix_sort(path_id, position, lengths):
    """Sort words of path id and position; CuPy sorts integers by CUB's radix sort."""
    n = path_id.size
    words, rank = cupy.empty(n, np.uint64), cupy.empty_like(path_id)
    program = PROGRAM(INDEX=path_id)
    launch(program.pack_path_keys, (path_id, position, n, words))
    order = cupy.argsort(words).astype(path_id.dtype)
    launch(program.invert_order, (order, n, rank))
    return order, rank
