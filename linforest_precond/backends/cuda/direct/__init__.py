"""Sparse direct factorizations by cuDSS."""
