"""LU factorization of (block) tridiagonal matrices without pivoting, by recursive partitioning."""

import numpy as np

from linforest_precond.backends.returns import PivotFinding

from ..runtime.generated_headers import generate_header
from ..runtime.launch import BLOCK, launch_blocks
from ..runtime.lazy_cupy import cupy
from ..runtime.loader import kernels
from ..runtime.structs import Struct
from .tiles import aligned, block_size

generate_header("tridiagonal/findings.cuh", enums=(("FOUND_", PivotFinding),))

# Rows of a group, and the most rows of the coarsest level (pivots.cu).
GROUP = 16
TOP = 64
# The most bytes of a (block) row whose groups are staged in shared memory.
LARGEST_STAGED = 32

ENDS = Struct("Ends", "tridiagonal/pivots.cu", pivots="P", before="P", upper="P", inverses="P")


def macros(dtype, block):
    """The macros of pivots.cu: a thread block has GROUPS groups, one per thread."""
    size = np.dtype(dtype).itemsize * block * block
    groups = 128 if size > LARGEST_STAGED else 64 if block == 1 else 32
    return {
        "VALUE": np.dtype(dtype).type, "BLOCK": block, "GROUPS": groups, "STAGED": int(size <= LARGEST_STAGED)
    }  # fmt: skip


def factor(lower, diagonal, upper, perturb=True):
    """The inverses of the pivots, and the counters of `PivotFinding`.

    Tiny pivots are perturbed; without `perturb`, only those that vanish.
    """
    program = kernels("tridiagonal/pivots", **macros(diagonal.dtype, block_size(diagonal)))
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
        _launch_groups(program.pivots_of_top, count, arguments, bands[1])
        return
    shape = -(-count // GROUP), *bands[1].shape[1:]
    empty = (cupy.empty(shape, inverse.dtype) for _ in range(7))
    pivots, lower, change, after, diagonal, upper, coarse = empty
    reduced = pivots, lower, change, after
    _launch_groups(program.reduce_groups, count, (*bands, count, perturb, *reduced), bands[1])
    joined = bands[2], count, pivots, change, after, diagonal, upper
    launch_blocks(program.join_groups, -(-shape[0] // BLOCK), joined)
    _factor_level(program, (lower, diagonal, upper), coarse, report, perturb, finest=False)
    ends = ENDS(pivots=pivots, before=lower, upper=upper, inverses=coarse)
    kernel = program.pivots_of_rows if finest else program.pivots_of_groups
    _launch_groups(kernel, count, (*bands, count, perturb, ends, inverse, report), bands[1])


def _launch_groups(kernel, count, arguments, diagonal):
    """One thread per group of `count` rows of the kind of `diagonal`."""
    block = block_size(diagonal)
    groups, size = macros(diagonal.dtype, block)["GROUPS"], diagonal.itemsize * block * block
    # Three bands, and a unit of 16 bytes after each group.
    memory = 3 * groups * (GROUP * size + 16) if size <= LARGEST_STAGED else 0
    launch_blocks(kernel, -(-count // (GROUP * groups)), arguments, shared_memory=memory, block=groups)
