"""Connected components by FastSV, in rounds of hooking and shortcutting."""

import numpy as np

from .components import BLOCK, numbered
from .launch import launch
from .lazy import cupy
from .loader import kernels


def weak_components(pattern):
    """The number of components, and each vertex's."""
    n = pattern.n
    program = kernels("fastsv", cooperative=True, INDEX=pattern.indptr.dtype.type)
    parents, grandparents, is_root = (cupy.empty(n, np.int32) for _ in range(3))
    words = cupy.zeros(4, np.uint32)
    arguments = (
        pattern.indptr, pattern.indices, n, pattern.nnz, parents, grandparents, is_root, words[:1], words[1:],
    )  # fmt: skip
    launch(program.hook_and_shortcut, arguments, block=BLOCK)
    return numbered(parents, is_root)
