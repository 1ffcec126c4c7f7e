"""Algebraic multigrid by pairwise aggregation over ranks: the hierarchy of one rank."""
