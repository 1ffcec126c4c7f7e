"""Sparse direct factorizations by SuperLU."""
