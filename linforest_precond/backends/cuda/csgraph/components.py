"""Weakly connected components by Afforest, numbered by their lowest vertex."""

import numpy as np

from ..runtime import INDICES, Program, cupy, launch

# Large blocks: fewer arrivals at the grid barriers.
BLOCK = 512
PROGRAM = Program("csgraph/components", cooperative=True, INDEX=INDICES)


def weak_components(pattern):
    n = pattern.n
    parents, is_root = cupy.empty((2, n), np.int32)
    words = cupy.zeros(2, np.uint32)
    arguments = (
        pattern.indptr, pattern.indices, n, pattern.nnz, int(pattern.symmetric), parents, is_root, words[:1],
        words[1:],
    )  # fmt: skip
    launch(PROGRAM(INDEX=pattern.indptr).afforest, arguments, block=BLOCK)
    return labels_of_marked_roots(parents, is_root)


def labels_of_marked_roots(roots, is_root):
    """The number of roots, and for each vertex the index of its root among all roots; overwrites `roots`."""
    numbers = cupy.cumsum(is_root, dtype=np.int32)
    launch(PROGRAM(INDEX=np.int32).number_roots, (numbers, roots.size, roots))
    return int(numbers[-1]), roots  # stall: the number of components
