"""Matchings, and aggregates of matched vertices."""
