"""LU factorization of (block) tridiagonal matrices without pivoting, by recursive partitioning."""

import numpy as np

from linforest_precond.backends.returns import PivotFinding

from ..runtime.generated_headers import generate_header
from ..runtime.launch import launch_blocks
from ..runtime.lazy_cupy import cupy
from ..runtime.loader import kernels
from ..runtime.structs import Struct
from .tiles import aligned, block_size

generate_header("tridiagonal/findings.cuh", enums=(("FOUND_", PivotFinding),))

# Rows of a group, and the most rows of the coarsest level (pivots.cu).
GROUP = 16
TOP = 64
GROUPS_OF_BLOCK = 128

ENDS = Struct("Ends", "tridiagonal/pivots.cu", pivots="P", before="P", upper="P", inverses="P")


def factor(lower, diagonal, upper, perturb=True):
    """The inverses of the pivots, and the counters of `PivotFinding`.

    Tiny pivots are perturbed; without `perturb`, only those that vanish.
    """
    program = kernels("tridiagonal/pivots", VALUE=diagonal.dtype.type, BLOCK=block_size(diagonal))
    report = cupy.zeros(len(PivotFinding), np.int64)
    inverse = cupy.empty_like(diagonal)
    if diagonal.size:
        bands = tuple(map(aligned, (lower, diagonal, upper)))
        _factor_level(program, bands, inverse, report, np.int32(perturb), finest=True)
    return inverse, report


def _factor_level(program, bands, inverse, report, perturb, finest):
    """Reduce each group to its last row, factor the reduced system, and compute the pivots in between."""
    count = bands[1].shape[0]
    if count <= TOP:
        arguments = *bands, count, perturb, np.int32(finest), inverse, report
        launch_blocks(program.pivots_of_top, 1, arguments, block=32)
        return
    shape = -(-count // GROUP), *bands[1].shape[1:]
    empty = (cupy.empty(shape, inverse.dtype) for _ in range(7))
    pivots, lower, change, after, diagonal, upper, coarse = empty
    _launch_groups(program.reduce_groups, count, (*bands, count, perturb, pivots, lower, change, after))
    _launch_groups(program.join_groups, count, (bands[2], count, pivots, change, after, diagonal, upper))
    _factor_level(program, (lower, diagonal, upper), coarse, report, perturb, finest=False)
    ends = ENDS(pivots=pivots, before=lower, upper=upper, inverses=coarse)
    kernel = program.pivots_of_rows if finest else program.pivots_of_groups
    _launch_groups(kernel, count, (*bands, count, perturb, ends, inverse, report))


def _launch_groups(kernel, count, arguments):
    """One thread per group."""
    blocks = -(-count // (GROUP * GROUPS_OF_BLOCK))
    launch_blocks(kernel, blocks, arguments, block=GROUPS_OF_BLOCK)
