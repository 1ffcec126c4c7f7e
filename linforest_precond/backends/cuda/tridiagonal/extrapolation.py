"""The vector update of the Chebyshev iteration."""

from ..runtime.launch import launch
from ..runtime.loader import VALUES, Program

PROGRAM = Program("tridiagonal/extrapolation", VALUE=VALUES, BLOCK=1)


def extrapolate(x, z, y, momentum, factor):
    """y = x + momentum (x - y) + factor z."""
    program = PROGRAM(VALUE=y.dtype.type)
    launch(program.extrapolate, (x, z, y, y.size, float(momentum), float(factor)), items=y.size)
