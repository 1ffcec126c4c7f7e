"""Clipping of couplings: makes a Hermitian (block) tridiagonal matrix positive definite."""

from ..runtime import cupy
from ..runtime.launch import launch
from .pivots import PROGRAM
from .tiles import block_size


def clip(lower, diagonal, upper):
    """Scale couplings down until the matrix is a sum of positive definite pairs of (block) rows."""
    program = PROGRAM(VALUE=diagonal.dtype.type, BLOCK=block_size(diagonal))
    clipped = [cupy.empty_like(diagonal) for _ in range(3)]
    launch(program.clip_couplings, (diagonal, upper, diagonal.shape[0], *clipped))
    return tuple(clipped)
