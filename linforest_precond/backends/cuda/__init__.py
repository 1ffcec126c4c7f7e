"""The CUDA backend: CuPy arrays and CUDA C++ kernels, one file per algorithm."""

from . import (
    aggregates,
    bands,
    block_bands,
    coloring,
    components,
    couplings,
    cuthill_mckee,
    cycles,
    dense,
    diagonal_blocks,
    entries,
    factor,
    fastsv,
    forest,
    galerkin,
    greedy,
    independent_set,
    krylov,
    label_propagation,
    levels,
    locally_dominant,
    mates,
    ordering,
    pagerank,
    pairs,
    path_interpolation,
    pattern_scan,
    patterns,
    pivoting,
    products,
    proposals,
    spanning_forest,
    sparse_products,
    stopwatch,
    streamed,
    strong_components,
    suitor,
    sums,
    transfers,
    tree_roots,
    tridiagonal,
)

__all__ = [
    "aggregates",
    "bands",
    "block_bands",
    "coloring",
    "components",
    "couplings",
    "cuthill_mckee",
    "cycles",
    "dense",
    "diagonal_blocks",
    "entries",
    "factor",
    "fastsv",
    "forest",
    "galerkin",
    "greedy",
    "independent_set",
    "krylov",
    "label_propagation",
    "levels",
    "locally_dominant",
    "mates",
    "max_rows",
    "name",
    "ordering",
    "pagerank",
    "pairs",
    "path_interpolation",
    "pattern_scan",
    "patterns",
    "pivoting",
    "products",
    "proposals",
    "spanning_forest",
    "sparse_products",
    "stopwatch",
    "streamed",
    "strong_components",
    "suitor",
    "sums",
    "transfers",
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
