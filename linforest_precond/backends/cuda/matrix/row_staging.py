"""Staging of short rows in shared memory, and the number of lanes per longer row."""

import numpy as np

from ..runtime.launch import BLOCK

# Up to this mean length rows are staged in shared memory, a thread per row.
STAGED_MEAN = 16
STAGED_BYTES = 40 * 1024


def staged_entries(mean, entry_bytes):
    """Entries that a block stages: those of BLOCK rows of mean length, and a tenth more.

    A multiple of 32, so that 64-bit indices stored behind 32-bit weights are aligned.
    """
    return 32 * min(STAGED_BYTES // entry_bytes // 32, int(np.ceil(BLOCK * mean * 1.1 / 32)) + 1)


def lanes_to_a_row(mean):
    return next(width for width in (8, 16, 32) if width == 32 or 2.5 * width >= mean)
