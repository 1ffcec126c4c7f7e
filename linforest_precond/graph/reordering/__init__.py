"""Orderings of rows and columns, and their bandwidth, profile and wavefront."""
