"""Sums of a fixed shape: the same bits as on the CPU."""

import numpy as np

from .launch import launch_blocks
from .lazy import cupy
from .loader import kernels

CHUNK = 2048


def tree_sum(x, scale=1.0):
    """The sum of the magnitudes of reals, each times `scale`, in float64."""
    out = cupy.zeros(1)
    tree_sum_on_device(x.ravel(), out, scale)
    return float(out.item())  # stall: the sum is wanted on the host


def tree_sum_on_device(x, out, scale=1.0):
    """As `tree_sum`, into the zeroed array `out` of one number, without a stall."""
    while x.size:
        chunks = -(-x.size // CHUNK)
        sums = cupy.empty(chunks) if chunks > 1 else out
        level = kernels("sums", VALUE=x.dtype.type, INDEX=np.int32)
        launch_blocks(level.tree_level, sums.size, (x, x.size, float(scale), sums))
        if chunks == 1:
            return
        x, scale = sums, 1.0
