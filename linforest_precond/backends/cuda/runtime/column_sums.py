"""Work space of the grid-wide sums over columns in column_sums.cuh."""

import numpy as np

from .lazy_cupy import cupy
from .structs import Struct

# Threads of a block, and the most blocks: with more, they would only contend for the arrival counter.
THREADS = 256
LARGEST_GRID = 1056
SUMS = Struct("Sums", "runtime/column_sums.cuh")


def sums_of(columns, count, wide):
    """Work space for `count` sums of each column as a struct, and the arrays that it refers to."""
    if columns > THREADS:
        raise ValueError(f"vectors must have at most {THREADS} columns on cuda, got {columns}")
    partials, arrivals = cupy.empty(LARGEST_GRID * count * columns, wide), cupy.zeros(1, np.uint32)
    return SUMS(partials=partials, arrivals=arrivals, columns=columns), (partials, arrivals)
