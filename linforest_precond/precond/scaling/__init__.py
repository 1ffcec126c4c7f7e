"""Scalings of rows and columns, matchings to the diagonal, and preconditioners of scaled matrices."""
