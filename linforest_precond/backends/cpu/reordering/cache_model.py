"""Misses of a modelled cache in the gathers of a sparse matrix-vector product, on the host alone.

Hardware counters cannot be read on most machines of a cloud. The model is one cache of the size of a core's
L2 cache, set-associative with least-recently-used replacement, that holds entries of x alone.
"""

import numpy as np

from ..runtime.arrays import readonly
from ..runtime.jit import kernel

# 1 MiB of 64-byte lines, 16 ways; 8 numbers in double precision in a line.
SETS, WAYS, PER_LINE = 1024, 16, 8


def missed_gathers(indices):
    """How many of the gathers x[indices], one after the other, miss the cache, which is empty at first."""
    lines = np.full((SETS, WAYS), -1, np.int64)
    return int(count_misses(readonly(indices.astype(np.int32, copy=False)), lines))


# The lines of a set are sorted by their last use, the latest one first.
@kernel
def count_misses(indices, lines):
    misses = 0
    for i in range(indices.size):
        line = indices[i] // PER_LINE
        ways = lines[line % SETS]
        place = 0
        while place < WAYS - 1 and ways[place] != line:
            place += 1
        misses += ways[place] != line
        for way in range(place, 0, -1):
            ways[way] = ways[way - 1]
        ways[0] = line
    return misses
