"""Multigrid: aggregation, strength of connection, interpolation, Galerkin products, cycles."""
