"""Sums of magnitudes in a fixed order, so that every backend and thread count gives the same bits.

A chunk of 2048 values is dealt out to 256 lanes in turn; a lane adds its eight in order, then the lanes are
folded in halves. The sums of the chunks are summed by the same rule until one value is left.
"""

import numpy as np
from numba import prange

from ..runtime.jit import helper, kernel

CHUNK = 2048
LANES = 256


def tree_sum(x, scale=1.0):
    """Sum the magnitudes of reals in float64; each is multiplied by `scale`, a power of two, first."""
    sums = x.ravel()
    while True:
        chunks = -(-sums.size // CHUNK)
        if chunks == 0:
            return 0.0
        values, sums = sums, np.empty(chunks)
        sum_chunks(values, scale, sums)
        if chunks == 1:
            return float(sums[0])
        scale = 1.0


# The sum of one chunk; `values` is overwritten.
@helper
def fold(values):
    for i in range(LANES, CHUNK):
        values[i % LANES] += values[i]
    return fold_lanes(values, LANES)


# The sum of the first values, so many, a power of two: folded in halves, and overwritten.
@helper
def fold_lanes(values, lanes):
    half = lanes // 2
    while half > 0:
        for lane in range(half):
            values[lane] += values[lane + half]
        half //= 2
    return values[0]


# One sum per chunk; what is missing in the last chunk counts as 0.
@kernel(parallel=True)
def sum_chunks(x, scale, sums):
    for chunk in prange(sums.size):
        values = np.zeros(CHUNK)
        start = chunk * CHUNK
        for i in range(start, min(start + CHUNK, x.size)):
            values[i - start] = abs(np.float64(x[i])) * scale
        sums[chunk] = fold(values)
