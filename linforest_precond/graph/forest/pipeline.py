"""The whole flow on one screen: A → graph → factor → forest → ordering → bands.

``lf.tridiagonal(A)`` goes on from here: the bands are factored, and an operator applies their inverse.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Unpack

from linforest_precond.backends.annotations import Array, Auto, MatrixLike
from linforest_precond.backends.user_warnings import named_arguments, renamed_arguments
from linforest_precond.graph.forest.bands import copy_bands, copy_block_bands
from linforest_precond.graph.forest.factor import (
    BlockKeywords,
    FactorKeywords,
    FactorOptions,
    begin_factor,
    check_options,
    propose_factor,
)
from linforest_precond.graph.forest.linear_forest import break_cycles, check_methods
from linforest_precond.graph.forest.pairs import (
    best_block_forest,
    check_block_options,
    tries_pairs_across_paths,
)
from linforest_precond.matrix.checked import CheckedMatrix, checked
from linforest_precond.records.forest import Bands, BlockForest, Forest

__all__ = ["block_tridiagonal_bands", "tridiagonal_bands"]


def __dir__() -> list[str]:
    return __all__


def bands_along_forest(
    csr: CheckedMatrix, options: FactorOptions, methods: dict[str, str] | None = None
) -> tuple[Forest, Bands]:
    """A linear forest of a checked matrix and the matrix's bands along it, with checked options."""
    graph, methods = checked(csr).graph, methods or {"method": "list_ranking"}
    csr.backend.prefetch("bands_along_forest", csr, graph, options, methods["method"])
    factor = propose_factor(graph, options)
    forest = break_cycles(factor, in_place=True, **methods)  # and order the vertices along the paths
    values = forest.values if graph.values_are_matrix else None
    return forest, copy_bands(csr, forest, values, forest.slots)


def bands_along_forests(csr: CheckedMatrix, options: FactorOptions, count: int) -> list[tuple[Forest, Bands]]:
    """At most `count` disjoint linear forests, each of the edges that are left, and the bands along them."""
    graph = checked(csr).graph
    found: list[tuple[Forest, Bands]] = []
    for _ in range(count):
        forest = break_cycles(propose_factor(graph, options), in_place=True)
        if found and forest.n_paths == csr.n:
            break
        values = forest.values if graph.values_are_matrix else None
        found.append((forest, copy_bands(csr, forest, values, forest.slots)))
        graph = replace(graph, values=csr.backend.forest.bands.without_edges(graph, forest.neighbors))
    return found


def bands_along_block_forest(
    csr: CheckedMatrix, candidates: list[tuple[FactorOptions, ...]], partners: Array | None = None
) -> tuple[BlockForest, Bands]:
    """A linear forest of blocks and the block bands along it; `check_block_options` gives the candidates."""
    graph = checked(csr).graph
    # On this backend, pairs are disjoint only if the weights do not change during the factor.
    if graph.values_are_matrix and not csr.backend.checks_shared_arrays:
        graph = replace(graph, values=graph.values.copy())
    across_paths = tries_pairs_across_paths(candidates, partners)
    csr.backend.prefetch("bands_along_block_forest", csr, graph, candidates, across_paths)
    forest = best_block_forest(graph, candidates, partners)
    return forest, copy_block_bands(csr, forest)


@renamed_arguments(permutation="sorting")
def tridiagonal_bands(
    A: MatrixLike, *, method: str = "list_ranking", sorting: str = "scan", **options: Unpack[FactorKeywords]
) -> tuple[Forest, Bands]:
    """Find a linear forest of A and copy A's bands along it; A is checked once.

    The options are those of `linforest_precond.linear_forest`.

    Examples
    --------
    >>> import linforest_precond as lf
    >>> forest, bands = lf.pipeline.tridiagonal_bands(lf.matrices.poisson((20, 20)))
    >>> bands.diagonal.size, forest.longest_path > 1
    (400, True)
    """
    factor, methods = check_options(2, **options), check_methods(method, sorting)
    return bands_along_forest(checked(A, shared=True, begin=begin_factor(factor)), factor, methods)


@named_arguments
def block_tridiagonal_bands(
    A: MatrixLike,
    block_size: int = 2,
    *,
    m: int | tuple[int, ...] | Auto = "auto",
    **options: Unpack[BlockKeywords],
) -> tuple[BlockForest, Bands]:
    """Find a linear forest of blocks of A and copy A's block bands along it; A is checked once.

    Parameters
    ----------
    A : sparse matrix or dense array
        Square, of SciPy, NumPy or CuPy.
    block_size : int
        1, 2 (vertices are paired by a [0,1]-factor) or 4 (and the pairs are paired again).
    m : int, tuple of int or "auto"
        For all factors, or one for each, pairings first; "auto" tries 1 and 5, then pairs across neighbouring
        paths, and keeps the largest coverage.
    iterations, k_m, p, seed, charge, ties
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
    candidates = check_block_options(block_size, m, **options)
    return bands_along_block_forest(checked(A, shared=True), candidates)
