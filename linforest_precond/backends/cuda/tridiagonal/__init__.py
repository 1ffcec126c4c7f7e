"""Factorization and solution of scalar and block tridiagonal systems."""
