"""Matching, aggregates and coarsening over ranks."""
