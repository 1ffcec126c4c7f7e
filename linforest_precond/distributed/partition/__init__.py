"""Partitioned matrices and vectors: communicators, halo exchange, reproducible sums, Krylov solvers."""
