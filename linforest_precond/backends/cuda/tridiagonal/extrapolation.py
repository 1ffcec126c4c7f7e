"""The update of a Chebyshev iteration, of contiguous (n, k) vectors."""

from ..runtime.launch import launch
from ..runtime.loader import kernels


def extrapolate(x, z, y, momentum, factor):
    """y = x + momentum (x - y) + factor z."""
    program = kernels("tridiagonal/extrapolation", VALUE=y.dtype.type, BLOCK=1)
    launch(program.extrapolate, (x, z, y, y.size, float(momentum), float(factor)), items=y.size)
