"""How many entries of short rows a block stages in shared memory, and how many lanes share a longer row."""

import numpy as np

from ..runtime.launch import BLOCK

# Rows of this mean length at most are staged in shared memory, a thread to a row.
STAGED_MEAN = 16
STAGED_BYTES = 40 * 1024


def staged_entries(mean, entry_bytes):
    """Entries that a block stages: those of its rows, and some more where rows differ.

    A multiple of 32, so that wide indices behind as many narrow weights are aligned.
    """
    return 32 * min(STAGED_BYTES // entry_bytes // 32, int(np.ceil(BLOCK * mean * 1.1 / 32)) + 1)


def lanes_to_a_row(mean):
    return next(width for width in (8, 16, 32) if width == 32 or 2.5 * width >= mean)
