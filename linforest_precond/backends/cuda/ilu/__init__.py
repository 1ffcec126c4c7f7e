"""Incomplete LU factorization: level scheduling, factors on the pattern of A, triangular solves."""

from . import incomplete_factors as incomplete_factors
from . import level_schedule as level_schedule
from . import triangular as triangular
