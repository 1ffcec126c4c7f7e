"""Degrees of the vertices of a pattern."""

import numpy as np
from numba import prange

from ..matrix.entries import wide_pattern
from ..runtime.jit import kernel


def degrees(pattern):
    """The number of off-diagonal entries of each row."""
    indptr, indices, _ = wide_pattern(pattern)
    counts = np.empty(pattern.n, np.int32)
    count_neighbors(indptr, indices, counts)
    return counts


@kernel(parallel=True)
def count_neighbors(indptr, indices, counts):
    for row in prange(counts.size):
        count = 0
        for slot in range(indptr[row], indptr[row + 1]):
            count += indices[slot] != row
        counts[row] = count
