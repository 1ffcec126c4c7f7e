"""Sparse direct factorizations: LU factors with a fill-reducing order."""
