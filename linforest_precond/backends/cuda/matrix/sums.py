"""Sums by a tree of fixed shape: the same bits as on the CPU."""

import numpy as np

from ..runtime import cupy
from ..runtime.launch import launch_blocks
from ..runtime.loader import WEIGHTS, Program

CHUNK = 2048
PROGRAM = Program("matrix/sums", VALUE=WEIGHTS, INDEX=np.int32)


def tree_sum(x, scale=1.0):
    """The sum of the magnitudes of reals, each times `scale`, in float64."""
    return tree_sums((x,), scale)[0]


def tree_sums(arrays, scale=1.0):
    """As `tree_sum` of each array."""
    out = cupy.zeros(len(arrays))
    for i, x in enumerate(arrays):
        tree_sum_on_device(x.reshape(1, -1), out[i : i + 1], scale)
    return out.tolist()  # stall: the sums are wanted on the host


def tree_sum_on_device(x, out, scale=1.0):
    """As `tree_sum` of each row, into the zeroed array `out`, without a stall."""
    while x.size:
        rows, count = x.shape
        chunks = -(-count // CHUNK)
        sums = cupy.empty((rows, chunks)) if chunks > 1 else out
        level = PROGRAM(VALUE=x.dtype.type)
        launch_blocks(level.tree_level, sums.size, (x, count, float(scale), sums))
        if chunks == 1:
            return
        x, scale = sums, 1.0
