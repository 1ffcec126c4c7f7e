"""Degrees of the vertices of a pattern."""

import numpy as np

from ..runtime import cupy
from ..runtime.launch import launch
from ..runtime.loader import INDICES, Program

PROGRAM = Program("csgraph/degrees", INDEX=INDICES)


def degrees(pattern):
    """The number of off-diagonal entries of each row."""
    n = pattern.n
    counts = cupy.empty(n, np.int32)
    program = PROGRAM(INDEX=pattern.indptr.dtype.type)
    launch(program.count_neighbors, (pattern.indptr, pattern.indices, n, counts), items=n)
    return counts
