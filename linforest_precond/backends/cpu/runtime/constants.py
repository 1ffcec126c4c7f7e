"""Sentinels that kernels of several rooms write."""

NO_VERTEX = -1  # in an array of vertices (neighbours, mates, ...): there is none
NOT_FOUND = -1  # in place of the position of a row or entry: there is none
