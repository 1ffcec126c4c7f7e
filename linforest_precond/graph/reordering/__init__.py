"""Orderings of rows and columns, and how good they are."""
