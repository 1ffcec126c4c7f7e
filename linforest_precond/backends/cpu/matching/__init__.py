"""Matchings of vertices, and of rows with columns."""
