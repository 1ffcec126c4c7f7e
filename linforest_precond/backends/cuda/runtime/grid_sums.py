"""Sums over the whole grid in one launch: prefix sums, and work space of the sums over columns.

Prefix sums are found by decoupled look-back; CuPy's take two launches, and more time on the host. The sums
over columns are those of column_sums.cuh.
"""

import numpy as np

from .launches import launch_blocks
from .lazy_cupy import cupy
from .loader import INDICES, Program
from .structs import Struct

# Threads of a block, as in prefix_sum.cu and column_sums.cuh.
THREADS = 256
# The numbers of a tile, THREADS * AT_A_TIME in prefix_sum.cu.
TILE = THREADS * 16
PREFIX_SUM = Program("runtime/prefix_sum", INDEX=INDICES)
# The most blocks of sums over columns: with more, they would only contend for the arrival counter.
LARGEST_GRID = 1056
SUMS = Struct("Sums", "runtime/column_sums.cuh")


def add_up(numbers, out=None):
    """The inclusive prefix sums of nonnegative integers, in `out`; by default they replace the numbers."""
    out = numbers if out is None else out
    tiles = -(-numbers.size // TILE)
    if tiles:
        words = cupy.zeros(1 + tiles, np.uint64)
        program = PREFIX_SUM(INDEX=numbers)
        launch_blocks(program.add_up, tiles, (numbers, numbers.size, out, words), block=THREADS)
    return out


def sums_of(columns, count, wide):
    """Work space for `count` sums of each column as a struct, and the arrays that it refers to."""
    if columns > THREADS:
        raise ValueError(f"vectors must have at most {THREADS} columns on cuda, got {columns}")
    partials, arrivals = cupy.empty(LARGEST_GRID * count * columns, wide), cupy.zeros(1, np.uint32)
    return SUMS(partials=partials, arrivals=arrivals, columns=columns), (partials, arrivals)
