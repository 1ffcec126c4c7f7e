"""The vector update of the Chebyshev iteration."""

from ..runtime import VALUES, Program, launch

PROGRAM = Program("tridiagonal/extrapolation", VALUE=VALUES, BLOCK=1)


def extrapolate(x, z, y, momentum, factor):
    launch(PROGRAM(VALUE=y).extrapolate, (x, z, y, y.size, float(momentum), float(factor)), items=y.size)
