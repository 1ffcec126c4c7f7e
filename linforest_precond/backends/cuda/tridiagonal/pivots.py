"""LU factorization of (block) tridiagonal matrices without pivoting, by recursive partitioning."""

import numpy as np

from linforest_precond.backends.returns import PivotFinding

from ..runtime import cupy
from ..runtime.launch import launch_blocks
from ..runtime.loader import VALUES, Program
from ..runtime.structs import Struct, generate_header
from .tiles import BLOCK_SIZES, aligned, block_size

generate_header("tridiagonal/findings.cuh", enums=(("FOUND_", PivotFinding),))

# Rows of a group, and the most rows of the coarsest level (pivots.cu).
GROUP = 16
TOP = 64
GROUPS_OF_BLOCK = 128
# The arrays of a coarse level, and the alignment of each, in bytes.
ARRAYS, ALIGNMENT = 7, 256

ENDS = Struct("Ends", "tridiagonal/pivots.cu", pivots="P", before="P", upper="P", inverses="P")
PROGRAM = Program("tridiagonal/pivots", VALUE=VALUES, BLOCK=BLOCK_SIZES)


def factor(lower, diagonal, upper, perturb=True):
    """The inverses of the pivots, and the counters of `PivotFinding`."""
    program = PROGRAM(VALUE=diagonal.dtype.type, BLOCK=block_size(diagonal))
    report = cupy.zeros(len(PivotFinding), np.int64)
    inverse = cupy.empty_like(diagonal)
    if diagonal.size:
        bands, rows = tuple(map(aligned, (lower, diagonal, upper))), diagonal.shape[0]
        levels = _CoarseLevels(rows, diagonal.nbytes // rows)
        _factor_level(program, bands, rows, inverse, report, np.int32(perturb), levels)
    return inverse, report


class _CoarseLevels:
    """The arrays of all levels but the finest, in one allocation: `arrays` has their addresses by level."""

    def __init__(self, rows, row_bytes):
        sizes = []
        while rows > TOP:
            rows = -(-rows // GROUP)
            sizes.append(-(-rows * row_bytes // ALIGNMENT) * ALIGNMENT)
        self.buffer = cupy.empty(ARRAYS * sum(sizes), np.uint8)
        self.arrays, first = [], self.buffer.data.ptr
        for size in sizes:
            self.arrays.append([first + i * size for i in range(ARRAYS)])
            first += ARRAYS * size


def _factor_level(program, bands, count, inverse, report, perturb, levels, level=0):
    """Reduce each group to its last row, factor the reduced system, and compute the pivots in between."""
    if count <= TOP:
        arguments = *bands, count, perturb, np.int32(level == 0), inverse, report
        launch_blocks(program.pivots_of_top, 1, arguments, block=32)
        return
    pivots, lower, change, after, diagonal, upper, coarse = levels.arrays[level]
    _launch_groups(program.reduce_groups, count, (*bands, count, perturb, pivots, lower, change, after))
    _launch_groups(program.join_groups, count, (bands[2], count, pivots, change, after, diagonal, upper))
    groups, reduced = -(-count // GROUP), (lower, diagonal, upper)
    _factor_level(program, reduced, groups, coarse, report, perturb, levels, level + 1)
    ends = ENDS(pivots=pivots, before=lower, upper=upper, inverses=coarse)
    kernel = program.pivots_of_groups if level else program.pivots_of_rows
    _launch_groups(kernel, count, (*bands, count, perturb, ends, inverse, report))


def _launch_groups(kernel, count, arguments):
    """One thread per group."""
    blocks = -(-count // (GROUP * GROUPS_OF_BLOCK))
    launch_blocks(kernel, blocks, arguments, block=GROUPS_OF_BLOCK)
