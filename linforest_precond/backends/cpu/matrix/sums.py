"""Sums of magnitudes by a tree of fixed shape: the same bits on every backend and for any number of threads.

In a chunk of 2048 values, lane i of 256 adds the values i, i + 256, ... in order, then the lanes are reduced
pairwise in halves. The sums of the chunks are summed by the same rule until one value is left.
"""

import numpy as np
from numba import prange

from ..runtime.arrays import readonly
from ..runtime.jit import helper, kernel

CHUNK = 2048
LANES = 256


def tree_sum(x, scale=1.0):
    """Sum the magnitudes of reals in float64; each is multiplied by `scale`, a power of two, first."""
    sums = chunk_sums(x.ravel(), scale)
    while sums.size > 1:
        sums = chunk_sums(sums)
    return float(sums[0]) if sums.size else 0.0


def chunk_sums(x, scale=1.0):
    """The sum of each chunk of a vector; the last one is padded with zeros."""
    sums = np.empty(-(-x.size // CHUNK))
    sum_chunks(readonly(x), scale, sums)
    return sums


def tree_sums(arrays, scale=1.0):
    """As `tree_sum` of each array."""
    return [tree_sum(x, scale) for x in arrays]


# The sum of one chunk; `values` is overwritten.
@helper
def fold(values):
    for i in range(LANES, CHUNK):
        values[i % LANES] += values[i]
    return fold_lanes(values, LANES)


# Tree reduction of the first `lanes` values, a power of two, in halves; they are overwritten.
@helper
def fold_lanes(values, lanes):
    half = lanes // 2
    while half > 0:
        for lane in range(half):
            values[lane] += values[lane + half]
        half //= 2
    return values[0]


@kernel(parallel=True)
def sum_chunks(x, scale, sums):
    for chunk in prange(sums.size):
        sums[chunk] = sum_of_chunk(x, chunk, scale)


@helper
def sum_of_chunk(x, chunk, scale):
    values = np.zeros(CHUNK)
    start = chunk * CHUNK
    for i in range(start, min(start + CHUNK, x.size)):
        values[i - start] = abs(np.float64(x[i])) * scale
    return fold(values)
