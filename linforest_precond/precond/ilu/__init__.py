"""Incomplete LU and Cholesky preconditioners without fill-in: ILU(0) and IC(0)."""
