"""Algebraic multigrid over ranks by smoothed or pairwise aggregation."""
