"""Matchings and the coarser matrices that they lead to."""
