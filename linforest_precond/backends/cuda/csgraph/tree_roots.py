"""The root of each vertex of a forest, by pointer jumping."""

import numpy as np

from ..runtime import INDICES, Program, cupy, launch
from .components import BLOCK

PROGRAM = Program("csgraph/tree_roots", cooperative=True, INDEX=INDICES)


def tree_roots(parents):
    roots = cupy.empty_like(parents)
    words = cupy.zeros(4, np.uint64)
    flags = words[2:].view(np.uint32)
    launch(PROGRAM(INDEX=parents).jump, (parents, parents.size, roots, flags, flags[1:], words), block=BLOCK)
    # stall: the errors
    out_of_range, in_cycle = (int(~word) if word else -1 for word in words[:2].get())
    return roots, out_of_range, in_cycle
