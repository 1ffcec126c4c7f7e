"""LU factorization of (block) tridiagonal matrices without pivoting, by recursive partitioning."""

import functools

import numpy as np

from linforest_precond.backends.returns import PivotFinding

from ..runtime import VALUES, Program, Struct, cupy, generate_header, launch, launch_blocks
from ..runtime.reports import Report
from .tiles import BLOCK_SIZES, aligned, block_size

generate_header("tridiagonal/findings.cuh", enums=(("FOUND_", PivotFinding),))

# Rows of a group, and the most rows of the coarsest level. One launch factors all levels of a system that a
# few reductions bring to the coarsest level: by one block, or by several, whose barriers take longer than
# launches where there are many of them.
GROUP, TOP, FEW_LEVELS, LEVELS_AT_ONCE = 16, 64, 2, 3
FEW_ROWS, ROWS_AT_ONCE = (TOP * GROUP**levels for levels in (FEW_LEVELS, LEVELS_AT_ONCE))
GROUPS_OF_BLOCK, FEW_THREADS = 128, 256
# The arrays of a level's reduction, and the alignment of each, in bytes.
ARRAYS, ALIGNMENT = ("pivots", "before", "change", "after", "diagonal", "upper", "inverses"), 256

generate_header(
    "tridiagonal/pivot_sizes.cuh",
    PIVOT_GROUP=GROUP,
    TOP_ROWS=TOP,
    FEW_LEVELS=FEW_LEVELS,
    LEVELS_AT_ONCE=LEVELS_AT_ONCE,
    FEW_THREADS=FEW_THREADS,
    PIVOT_ALIGNMENT=ALIGNMENT,
)
REDUCED = Struct("Reduced", "tridiagonal/pivots.cuh", **dict.fromkeys(ARRAYS, "P"))
AT_ONCE = Program("tridiagonal/pivots_at_once", cooperative=True, VALUE=VALUES, BLOCK=BLOCK_SIZES)
PROGRAM = Program("tridiagonal/pivots", VALUE=VALUES, BLOCK=BLOCK_SIZES)


def factor(lower, diagonal, upper, perturb=True, report=None):
    """The inverses of the pivots, and the counters of `PivotFinding`, read together with another report."""
    report = (Report() if report is None else report).take(len(PivotFinding))
    report.take(1)  # the barrier
    inverse, rows = cupy.empty_like(diagonal), diagonal.shape[0]
    program = program_of(rows, diagonal.dtype, block_size(diagonal))
    if diagonal.size:
        bands, perturb = tuple(map(aligned, (lower, diagonal, upper))), np.int32(perturb)
        sizes = _array_bytes(rows, diagonal.nbytes // rows)
        memory = cupy.empty(len(ARRAYS) * sum(sizes), np.uint8)
        if is_at_once(rows):
            arguments = *bands, rows, perturb, memory, inverse, report.address
            launch(program.pivots_at_once, arguments, block=GROUPS_OF_BLOCK, items=-(-rows // GROUP))
        else:
            place = report.address
            _factor_level(program, bands, rows, inverse, place, perturb, sizes, memory.data.ptr)
    return inverse, report


def is_at_once(rows):
    """Whether one launch of several blocks factors a system."""
    return FEW_ROWS < rows <= ROWS_AT_ONCE


def program_of(rows, dtype, block):
    """The program that factors a system of (block) rows."""
    return (AT_ONCE if is_at_once(rows) else PROGRAM)(VALUE=dtype, BLOCK=block)


@functools.lru_cache(256)
def _array_bytes(rows, row_bytes):
    """The bytes of each array of the reductions, by level."""
    sizes = []
    while rows > TOP:
        rows = -(-rows // GROUP)
        sizes.append(-(-rows * row_bytes // ALIGNMENT) * ALIGNMENT)
    return sizes


def _factor_level(program, bands, count, inverse, report, perturb, sizes, memory, is_finest=True):
    """Reduce each group to its last row, factor the reduced system, and compute the pivots in between."""
    if count <= FEW_ROWS:
        arguments = *bands, count, perturb, np.int32(is_finest), memory, inverse, report
        launch_blocks(program.pivots_of_few, 1, arguments, block=FEW_THREADS)
        return
    size, *coarser = sizes
    arrays = {name: memory + i * size for i, name in enumerate(ARRAYS)}
    reduced, memory = REDUCED(**arrays), memory + len(ARRAYS) * size
    _launch_groups(program.reduce_groups, count, (*bands, count, perturb, reduced))
    _launch_groups(program.join_groups, count, (bands[2], count, reduced))
    coarse, groups = (arrays["before"], arrays["diagonal"], arrays["upper"]), -(-count // GROUP)
    inverses = arrays["inverses"]
    _factor_level(program, coarse, groups, inverses, report, perturb, coarser, memory, is_finest=False)
    kernel = program.pivots_of_rows if is_finest else program.pivots_of_groups
    _launch_groups(kernel, count, (*bands, count, perturb, reduced, inverse, report))


def _launch_groups(kernel, count, arguments):
    """One thread per group."""
    blocks = -(-count // (GROUP * GROUPS_OF_BLOCK))
    launch_blocks(kernel, blocks, arguments, block=GROUPS_OF_BLOCK)
