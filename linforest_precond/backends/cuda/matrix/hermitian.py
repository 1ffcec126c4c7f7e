"""Hermitian matrices: whether a matrix is one to rounding, and values that make it exactly Hermitian.

The module of the CPU backend states the rule.
"""

import numpy as np

from ..runtime import INDICES, VALUES, Program, cupy, launch

# Differences in units of eps.
ULPS = 8
# As in hermitian.cu: lanes per row, and the words of a report.
LANES_PER_ROW = 8
FAR, DIFFERENT, UNPAIRED, WORDS = range(4)
PROGRAM = Program("matrix/hermitian", VALUE=VALUES, INDEX=INDICES)


def values_without_rounding(indptr, indices, data, diagonal):
    """The user may change the indices meanwhile: the comparison checks them, the copy clips them."""
    rows, program = diagonal.size, PROGRAM(VALUE=data, INDEX=indices)
    scales, report = cupy.empty(rows), cupy.zeros(WORDS, np.uint64)
    tolerance = ULPS * float(np.finfo(data.dtype).eps)
    threads = rows * LANES_PER_ROW
    launch(program.find_scales, (indptr, data, diagonal, rows, scales), items=threads)
    arguments = indptr, indices, data, scales, rows, tolerance, report
    launch(program.compare_mirrors, arguments, items=threads)
    words = report.get()  # stall: CG or not
    if words[FAR] or words[UNPAIRED] or not words[DIFFERENT]:
        return None
    values = data.copy()
    mirror_upper(indptr, cupy.clip(indices, 0, rows - 1), values)
    return values


def mirror_upper(indptr, indices, data):
    launch(PROGRAM(VALUE=data, INDEX=indices).copy_upper, (indptr, indices, indptr.size - 1, data))
