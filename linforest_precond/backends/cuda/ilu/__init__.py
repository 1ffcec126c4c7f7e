"""Incomplete LU factorization: level scheduling, factors on the pattern of A, triangular solves."""
