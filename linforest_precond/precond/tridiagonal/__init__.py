"""Tridiagonal and block tridiagonal preconditioners, and their solvers."""
