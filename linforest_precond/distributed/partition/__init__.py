"""Matrices and vectors partitioned among ranks: messages, halos, reproducible sums, Krylov solvers."""
