"""Cooperative launches that process a worklist."""

import numpy as np

from ..runtime.launch import BLOCK, launch
from ..runtime.lazy_cupy import cupy
from ..runtime.structs import Struct

WORKLIST = Struct("Worklist", "csgraph/worklist.cuh", items="P", lengths="P", capacity="Q")
LENGTHS = 3


def process_worklist(kernel, problem, capacity, threads=None):
    """Launch a kernel whose worklist has at most `capacity` items, which take so many `threads`."""
    items = cupy.empty((2, capacity), np.uint32)
    # The last word is the barrier.
    words = cupy.zeros(LENGTHS + 1, np.uint64)
    worklist = WORKLIST(items=items, lengths=words, capacity=capacity)
    launch(kernel, (problem, worklist, words[LENGTHS:]), items=threads)


def listed_items(items, blocks):
    """The length of the lists of `process_own_items`: every warp may have up to 33 items more than others."""
    return items + 33 * blocks * BLOCK // 32
