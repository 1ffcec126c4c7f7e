"""Degrees of the vertices of a pattern."""

import numpy as np

from ..runtime import INDICES, Program, cupy, launch

PROGRAM = Program("csgraph/degrees", INDEX=INDICES)


def degrees(pattern):
    n = pattern.n
    counts = cupy.empty(n, np.int32)
    program = PROGRAM(INDEX=pattern.indptr)
    launch(program.count_neighbors, (pattern.indptr, pattern.indices, n, counts), items=n)
    return counts
