"""Matchings, and the coarser matrices of their aggregates."""
