"""Levels of rows for parallel substitution (level scheduling; Anderson & Saad 1989)."""

import numpy as np

from ..runtime import INDICES, Program, cupy, launch

WARP = 32
PROGRAM = Program("ilu/level_schedule", INDEX=INDICES)


def find_levels(pattern, order, rank, most):
    levels, words = cupy.full(pattern.n, -1, np.int32), cupy.zeros(2, np.uint32)
    program = PROGRAM(INDEX=pattern.indptr.dtype.type)
    arguments = pattern.indptr, pattern.indices, order, rank, pattern.n, most, levels, words
    launch(program.find_levels, arguments, items=pattern.n * WARP)
    return None if words[1].item() else levels  # stall: the levels are of no use where there are too many
