"""Greedy matching by proposals: the study of Fagginger Auer & Bisseling (2012)."""
