"""Algebraic multigrid by smoothed or pairwise aggregation over ranks: the hierarchy of one rank."""
