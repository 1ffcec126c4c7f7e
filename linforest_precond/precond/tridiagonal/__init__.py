"""Tridiagonal and block tridiagonal preconditioners, and the solvers behind them."""
