"""The CUDA backend: CuPy arrays and CUDA C++ kernels, one file per algorithm."""

from . import (
    bands,
    block_bands,
    coloring,
    components,
    cuthill_mckee,
    diagonal_blocks,
    entries,
    factor,
    fastsv,
    forest,
    greedy,
    independent_set,
    krylov,
    label_propagation,
    levels,
    ordering,
    pagerank,
    pairs,
    patterns,
    pivoting,
    products,
    spanning_forest,
    stopwatch,
    strong_components,
    sums,
    tree_roots,
    tridiagonal,
)

__all__ = [
    "bands",
    "block_bands",
    "coloring",
    "components",
    "cuthill_mckee",
    "diagonal_blocks",
    "entries",
    "factor",
    "fastsv",
    "forest",
    "greedy",
    "independent_set",
    "krylov",
    "label_propagation",
    "levels",
    "max_rows",
    "name",
    "ordering",
    "pagerank",
    "pairs",
    "patterns",
    "pivoting",
    "products",
    "spanning_forest",
    "stopwatch",
    "strong_components",
    "sums",
    "tree_roots",
    "tridiagonal",
]

name = "cuda"
# Two half-edges a vertex and a flag fit into 32 bits (forest.cu).
max_rows = 2**30 - 1


def __getattr__(attribute):
    """`xp` is CuPy, imported when first asked for."""
    if attribute == "xp":
        import cupy

        return cupy
    raise AttributeError(attribute)
