"""Levels of rows for parallel substitution (level scheduling; Anderson & Saad 1989)."""

import numpy as np

from ..matrix.entries import wide_pattern
from ..runtime.arrays import readonly
from ..runtime.jit import kernel


def find_levels(pattern, order, rank, most):
    """The level of each vertex, one more than the highest of its neighbours before it in the order.

    The pattern is symmetric. None where there are more than `most` levels.
    """
    indptr, indices, _ = wide_pattern(pattern)
    levels = np.empty(pattern.n, np.int32)
    deeper = longest_paths(indptr, indices, readonly(order), readonly(rank), most, levels)
    return None if deeper else levels


# The longest path that ends at each vertex, of edges that lead to later ones; stops above `most` vertices.
@kernel
def longest_paths(indptr, indices, order, rank, most, levels):
    for place in range(order.size):
        vertex, level = order[place], np.int32(0)
        for slot in range(indptr[vertex], indptr[vertex + 1]):
            if rank[indices[slot]] < place:
                level = max(level, np.int32(levels[indices[slot]] + 1))
        levels[vertex] = level
        if level >= most:
            return True
    return False
