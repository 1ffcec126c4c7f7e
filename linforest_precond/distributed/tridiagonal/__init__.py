"""Preconditioners over ranks: (block) tridiagonal systems along a forest, and Jacobi."""
