"""Connected components by FastSV, all rounds of hooking and shortcutting in one launch."""

import numpy as np

from ..runtime import INDICES, Program, cupy, launch
from .components import BLOCK, labels_of_marked_roots

PROGRAM = Program("csgraph/fastsv", cooperative=True, INDEX=INDICES)


def weak_components(pattern):
    n = pattern.n
    parents, grandparents, is_root = (cupy.empty(n, np.int32) for _ in range(3))
    words = cupy.zeros(4, np.uint32)
    arguments = (
        pattern.indptr, pattern.indices, n, pattern.nnz, parents, grandparents, is_root, words[:1], words[1:],
    )  # fmt: skip
    launch(PROGRAM(INDEX=pattern.indptr).hook_and_shortcut, arguments, block=BLOCK)
    return labels_of_marked_roots(parents, is_root)
