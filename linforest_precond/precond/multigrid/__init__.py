"""Algebraic multigrid: coarsening, grid transfer, smoothers, cycles, hierarchies."""
