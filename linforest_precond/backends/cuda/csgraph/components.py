"""Weakly connected components by Afforest and by FastSV, numbered by their lowest vertex; roots of trees.

Each is one launch with all rounds.
"""

import numpy as np

from ..runtime import INDICES, Program, cupy, launch

# Large blocks: fewer arrivals at the grid barriers.
BLOCK = 512
PROGRAM = Program("csgraph/components", cooperative=True, INDEX=INDICES)
FASTSV = Program("csgraph/fastsv", cooperative=True, INDEX=INDICES)
TREE_ROOTS = Program("csgraph/tree_roots", cooperative=True, INDEX=INDICES)


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


def fastsv_components(pattern):
    return _fastsv(pattern, FASTSV(INDEX=pattern.indptr).hook_edges)


def fastsv_components_by_vertices(pattern):
    return _fastsv(pattern, FASTSV(INDEX=pattern.indptr).hook_vertices)


def _fastsv(pattern, kernel):
    n = pattern.n
    parents, grandparents, is_root = (cupy.empty(n, np.int32) for _ in range(3))
    words = cupy.zeros(4, np.uint32)
    arguments = (
        pattern.indptr, pattern.indices, n, pattern.nnz, parents, grandparents, is_root, words[:1], words[1:],
    )  # fmt: skip
    launch(kernel, arguments, block=BLOCK)
    return labels_of_marked_roots(parents, is_root)


def tree_roots(parents):
    roots = cupy.empty_like(parents)
    words = cupy.zeros(4, np.uint64)
    flags = words[2:].view(np.uint32)
    launch(
        TREE_ROOTS(INDEX=parents).jump, (parents, parents.size, roots, flags, flags[1:], words), block=BLOCK
    )
    # stall: the errors
    out_of_range, in_cycle = (int(~word) if word else -1 for word in words[:2].get())
    return roots, out_of_range, in_cycle
