"""Preconditioners: tridiagonal, Jacobi and multigrid, as LinearOperators."""
