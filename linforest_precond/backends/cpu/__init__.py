"""The CPU backend: Numba kernels on NumPy arrays, one file per algorithm."""

import numpy as xp

from . import (
    bands,
    block_bands,
    components,
    cuthill_mckee,
    diagonal_blocks,
    entries,
    factor,
    forest,
    greedy,
    krylov,
    levels,
    ordering,
    pairs,
    patterns,
    pivoting,
    products,
    spanning_forest,
    stopwatch,
    sums,
    tridiagonal,
)

__all__ = [
    "bands",
    "block_bands",
    "components",
    "cuthill_mckee",
    "diagonal_blocks",
    "entries",
    "factor",
    "forest",
    "greedy",
    "krylov",
    "levels",
    "max_rows",
    "name",
    "ordering",
    "pairs",
    "patterns",
    "pivoting",
    "products",
    "spanning_forest",
    "stopwatch",
    "sums",
    "tridiagonal",
    "xp",
]

name = "cpu"
max_rows = 2**63 - 1
