"""Factorization and solution of scalar and block tridiagonal systems."""

from . import clipping as clipping
from . import extrapolation as extrapolation
from . import pivoting as pivoting
from . import pivots as pivots
from . import refinement as refinement
from . import strided_vectors as strided_vectors
from . import sweeps as sweeps
from . import tiles as tiles
