"""Relaxation methods as preconditioners: Jacobi, block Jacobi, Gauss-Seidel and SOR."""
