"""From a forest to a preconditioner: the tridiagonal bands."""

from linforest_precond.precond.bands import extract_bands as extract_bands
