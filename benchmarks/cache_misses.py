"""Misses of a modelled cache in the gathers of a sparse matrix-vector product.

Hardware counters are not available on most machines of a cloud. The model is one cache of the size of a
core's L2 cache, set-associative with least-recently-used replacement, for the entries of x alone.
"""

from __future__ import annotations

import numpy as np
from numba import njit

# 1 MiB of 64-byte lines, 16 ways; 8 numbers in double precision in a line.
SETS, WAYS, PER_LINE = 1024, 16, 8


def share(indices) -> float:
    """The share of the gathers x[indices] that miss."""
    return misses(np.asarray(indices), SETS, WAYS, PER_LINE) / max(len(indices), 1)


@njit
def misses(indices, sets, ways, per_line):
    lines = np.full((sets, ways), -1, np.int64)  # most recently used first
    count = 0
    for index in indices:
        line = index // per_line
        ways_of_set = lines[line % sets]
        place = 0
        while place < ways - 1 and ways_of_set[place] != line:
            place += 1
        count += ways_of_set[place] != line
        for way in range(place, 0, -1):
            ways_of_set[way] = ways_of_set[way - 1]
        ways_of_set[0] = line
    return count
