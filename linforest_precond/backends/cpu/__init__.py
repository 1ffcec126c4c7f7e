"""The CPU backend: Numba kernels on NumPy arrays, one file per algorithm."""

import numpy as xp

from . import bands, entries, factor, forest, greedy, ordering, sums

__all__ = ["bands", "entries", "factor", "forest", "greedy", "max_rows", "name", "ordering", "sums", "xp"]

name = "cpu"
max_rows = 2**63 - 1
