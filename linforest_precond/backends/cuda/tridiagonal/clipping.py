"""Clipping of couplings: makes a Hermitian (block) tridiagonal matrix positive definite."""

from ..runtime import cupy, launch
from .pivots import PROGRAM
from .tiles import block_size


def clip(lower, diagonal, upper):
    program = PROGRAM(VALUE=diagonal.dtype.type, BLOCK=block_size(diagonal))
    clipped = [cupy.empty_like(diagonal) for _ in range(3)]
    launch(program.clip_couplings, (diagonal, upper, diagonal.shape[0], *clipped))
    return tuple(clipped)
