"""Sparse approximate inverses: small dense systems row by row, on patterns that grow with them."""
