"""LU factorization of (block) tridiagonal matrices without pivoting, by recursive partitioning."""

import numpy as np

from linforest_precond.backends.returns import PivotFinding

from ..runtime.generated_headers import generate_header
from ..runtime.launch import BLOCK, launch_blocks
from ..runtime.lazy_cupy import cupy
from ..runtime.loader import kernels
from ..runtime.structs import Struct, address
from .tiles import aligned, block_size

generate_header("tridiagonal/findings.cuh", enums=(("FOUND_", PivotFinding),))

# Rows of a group, and the most rows of the coarsest level (pivots.cu).
GROUP = 16
TOP = 64
# Reduced systems of at most so many rows are factored by one thread block; its threads, by block size.
SMALL = 32768
SMALL_THREADS = {1: 512, 2: 256, 4: 256}
# The most bytes of a (block) row whose groups are staged in shared memory.
LARGEST_STAGED = 32

REDUCED = Struct(
    "Reduced", "tridiagonal/pivots.cu",
    pivots="P", before="P", change="P", after="P", diagonal="P", upper="P",
)  # fmt: skip
ENDS = Struct("Ends", "tridiagonal/pivots.cu", rows="PPPPPP", inverses="P")


def macros(dtype, block):
    """The macros of pivots.cu: a thread block has GROUPS groups, one per thread."""
    size = np.dtype(dtype).itemsize * block * block
    groups = 128 if size > LARGEST_STAGED else 64 if block == 1 else 32
    return {
        "VALUE": np.dtype(dtype).type, "BLOCK": block, "GROUPS": groups,
        "STAGED": int(size <= LARGEST_STAGED), "SMALL_THREADS": SMALL_THREADS[block],
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
    count, shape = bands[1].shape[0], bands[1].shape[1:]
    if count <= TOP or (count <= SMALL and not finest):
        space = cupy.empty((_small_space(count), *shape), inverse.dtype)
        arguments = *bands, count, perturb, np.int32(finest), space, inverse, report
        memory, threads = _shared_memory(bands[1]), SMALL_THREADS[block_size(bands[1])]
        launch_blocks(program.pivots_of_small, 1, arguments, shared_memory=memory, block=threads)
        return
    groups = -(-count // GROUP)
    arrays = [cupy.empty((groups, *shape), inverse.dtype) for _ in REDUCED.fields]
    reduced, coarse = dict(zip(REDUCED.fields, arrays)), cupy.empty((groups, *shape), inverse.dtype)
    _launch_groups(program.reduce_groups, (*bands, count, perturb, REDUCED(**reduced)), bands[1])
    launch_blocks(program.join_groups, -(-groups // BLOCK), (bands[2], groups, REDUCED(**reduced)))
    coarser = reduced["before"], reduced["diagonal"], reduced["upper"]
    _factor_level(program, coarser, coarse, report, perturb, finest=False)
    ends = ENDS(rows=[address(array) for array in arrays], inverses=coarse)
    kernel = program.pivots_of_rows if finest else program.pivots_of_groups
    _launch_groups(kernel, (*bands, count, perturb, ends, inverse, report), bands[1])


def _small_space(count):
    """The work space of a small system: seven arrays of each level but the coarsest, in whole units."""
    groups = -(-count // GROUP)
    return 7 * -(-groups // 4) * 4 + _small_space(groups) if count > TOP else 0


def _launch_groups(kernel, arguments, diagonal):
    """One thread per group of rows."""
    groups = macros(diagonal.dtype, block_size(diagonal))["GROUPS"]
    blocks = -(-diagonal.shape[0] // (GROUP * groups))
    launch_blocks(kernel, blocks, arguments, shared_memory=_shared_memory(diagonal), block=groups)


def _shared_memory(diagonal):
    """Bytes of a tile of three bands, with a unit of 16 bytes after each group."""
    block = block_size(diagonal)
    size = diagonal.itemsize * block * block
    groups = macros(diagonal.dtype, block)["GROUPS"]
    return 3 * groups * (GROUP * size + 16) if size <= LARGEST_STAGED else 0
