"""The CPU backend: Numba kernels on NumPy arrays, one file per algorithm."""

import numpy as xp

from . import (
    bands,
    block_bands,
    diagonal_blocks,
    entries,
    factor,
    forest,
    greedy,
    krylov,
    ordering,
    pairs,
    patterns,
    pivoting,
    products,
    stopwatch,
    sums,
    tridiagonal,
)

__all__ = [
    "bands",
    "block_bands",
    "diagonal_blocks",
    "entries",
    "factor",
    "forest",
    "greedy",
    "krylov",
    "max_rows",
    "name",
    "ordering",
    "pairs",
    "patterns",
    "pivoting",
    "products",
    "stopwatch",
    "sums",
    "tridiagonal",
    "xp",
]

name = "cpu"
max_rows = 2**63 - 1
