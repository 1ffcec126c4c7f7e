"""Lists of what is left to do in the rounds of one cooperative launch."""

import numpy as np

from ..runtime.launch import launch
from ..runtime.lazy_cupy import cupy
from ..runtime.structs import Struct

# The struct in worklist.cuh.
WORKLIST = Struct("Worklist", "csgraph/worklist.cuh", items="P", lengths="P", room="Q")
LENGTHS = 3


def work_off(kernel, problem, room):
    """Launch a kernel that works off a list of at most `room` items."""
    items = cupy.empty((2, room), np.uint32)
    # The last word serves the barrier.
    words = cupy.zeros(LENGTHS + 1, np.uint64)
    launch(kernel, (problem, WORKLIST(items=items, lengths=words, room=room), words[LENGTHS:]))
