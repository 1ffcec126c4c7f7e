"""Sorted neighbourhoods of an ordering, and sums of logarithms in fixed point."""

import numpy as np

from ..runtime import Program, cupy, launch

# As in the CPU backend, and in fixed_logarithm.cuh.
UNIT = 2**32
PROGRAM = Program("reordering/gap_metrics", INDEX=np.int32)


def sorted_positions(indptr, neighbours, order):
    n = order.size
    rank = cupy.empty(n, np.int64)
    rank[order] = cupy.arange(n)
    rows = cupy.searchsorted(indptr, cupy.arange(neighbours.size), side="right") - 1
    return (cupy.sort(rows * n + rank[neighbours]) % max(n, 1)).astype(np.int32)


def log_sum(numbers):
    sums = cupy.zeros(2, np.uint64)
    launch(PROGRAM(INDEX=numbers).sum_logarithms, (numbers, numbers.size, sums), items=numbers.size)
    whole, fraction = sums.tolist()  # stall: the answer
    return whole * UNIT + fraction
