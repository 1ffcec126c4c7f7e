"""Prefix sums in one launch by decoupled look-back; CuPy's take two launches, and more time on the host."""

import numpy as np

from .launches import launch_blocks
from .lazy_cupy import cupy
from .loader import INDICES, Program

# The numbers of a tile, THREADS * AT_A_TIME in prefix_sum.cu.
THREADS = 256
TILE = THREADS * 16
PROGRAM = Program("runtime/prefix_sum", INDEX=INDICES)


def add_up(numbers, out=None):
    """The inclusive prefix sums of nonnegative integers, in `out`; by default they replace the numbers."""
    out = numbers if out is None else out
    tiles = -(-numbers.size // TILE)
    if tiles:
        words = cupy.zeros(1 + tiles, np.uint64)
        program = PROGRAM(INDEX=numbers)
        launch_blocks(program.add_up, tiles, (numbers, numbers.size, out, words), block=THREADS)
    return out
