"""Connected components by FastSV, all rounds of hooking and shortcutting in one launch."""

import numpy as np

from ..runtime import INDICES, Program, cupy, launch
from .components import BLOCK, labels_of_marked_roots

PROGRAM = Program("csgraph/fastsv", cooperative=True, INDEX=INDICES)


def weak_components(pattern):
    return _labelled(pattern, PROGRAM(INDEX=pattern.indptr).hook_edges)


def weak_components_by_vertices(pattern):
    return _labelled(pattern, PROGRAM(INDEX=pattern.indptr).hook_vertices)


def _labelled(pattern, kernel):
    n = pattern.n
    parents, grandparents, is_root = (cupy.empty(n, np.int32) for _ in range(3))
    words = cupy.zeros(4, np.uint32)
    arguments = (
        pattern.indptr, pattern.indices, n, pattern.nnz, parents, grandparents, is_root, words[:1], words[1:],
    )  # fmt: skip
    launch(kernel, arguments, block=BLOCK)
    return labels_of_marked_roots(parents, is_root)
