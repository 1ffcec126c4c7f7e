"""The whole flow on one screen: A → graph → factor → forest → ordering → bands."""

from __future__ import annotations

from typing import Any

from linforest_precond.gate import as_csr, as_graph
from linforest_precond.graph.forest.bands import copy_bands
from linforest_precond.graph.forest.block_bands import copy_block_bands
from linforest_precond.graph.forest.factor import check_options, propose_factor
from linforest_precond.graph.forest.linear_forest import break_cycles
from linforest_precond.graph.forest.pairs import best_block_forest, check_block_options
from linforest_precond.records import CSR, Bands, BlockForest, Forest


def tridiagonal_bands(
    A: Any, *, iterations: Any = "auto", m: int = 5, k_m: int = 0, p: float = 0.5, seed: int = 0
) -> tuple[Forest, Bands]:
    """A linear forest of A and A's bands along it, with one pass through the gate.

    The options are those of `linforest_precond.linear_forest`.

    Examples
    --------
    >>> import linforest_precond as lf
    >>> forest, bands = lf.pipeline.tridiagonal_bands(lf.matrices.poisson((20, 20)))
    >>> bands.diagonal.size, forest.longest_path > 1
    (400, True)
    """
    options = check_options(2, iterations, m, k_m, p, seed)
    return bands_along_forest(as_csr(A), options)


def bands_along_forest(csr: CSR, options: dict[str, Any]) -> tuple[Forest, Bands]:
    """The same for a checked matrix and checked options: graph, factor, forest with its ordering, bands."""
    graph = as_graph(csr)
    factor = propose_factor(graph, **options)
    forest = break_cycles(factor, in_place=True)
    values = forest.values if graph.values_are_matrix else None
    return forest, copy_bands(csr, forest, values, forest.slots)


def block_tridiagonal_bands(
    A: Any,
    block_size: int = 2,
    *,
    m: Any = "auto",
    iterations: Any = "auto",
    k_m: int = 0,
    p: float = 0.5,
    seed: int = 0,
) -> tuple[BlockForest, Bands]:
    """A linear forest of blocks of A and A's block bands along it, with one pass through the gate.

    Parameters
    ----------
    A : sparse matrix or dense array
        Square, of SciPy, NumPy or CuPy.
    block_size : int
        1, 2 (vertices are paired by a [0,1]-factor) or 4 (and the pairs are paired once more).
    m : int, tuple of int or "auto"
        For all factors, or one for each, pairings first; "auto" tries 1 and 5, then pairs across paths that
        run side by side, and keeps the largest coverage.
    iterations, k_m, p, seed
        As in `linforest_precond.graph.factor`, for each of the factors; "auto" makes five where m is 1.

    Returns
    -------
    BlockForest, Bands
        On A's device; each band has shape (blocks, block_size, block_size).

    Examples
    --------
    >>> import linforest_precond as lf
    >>> forest, bands = lf.pipeline.block_tridiagonal_bands(lf.matrices.aniso(2, 100))
    >>> bands.diagonal.shape[1:], round(forest.coverage, 2), forest.m, forest.pairing
    ((2, 2), 0.8, (1, 1), 'paths')
    """
    candidates = check_block_options(block_size, m, iterations, k_m, p, seed)
    return bands_along_block_forest(as_csr(A), candidates)


def bands_along_block_forest(csr: CSR, candidates: Any) -> tuple[BlockForest, Bands]:
    """The same for a checked matrix and the options that `check_block_options` gives."""
    forest = best_block_forest(as_graph(csr), candidates)
    return forest, copy_block_bands(csr, forest)
