"""Forests of blocks over ranks: linear forests of a coarse graph, whose vertices are pairs of vertices."""

from __future__ import annotations

from typing import NamedTuple, Unpack

import numpy as np

from linforest_precond.backends.annotations import Array, Auto
from linforest_precond.backends.user_warnings import named_arguments
from linforest_precond.distributed.forest.factor import covered_share, propose_factor
from linforest_precond.distributed.forest.graph import RankGraph, graph_of
from linforest_precond.distributed.forest.linear_forest import Paths, break_cycles, place_paths
from linforest_precond.distributed.forest.ordering import forest_order
from linforest_precond.distributed.forest.pairs import RankPairs, graph_of_pairs, pair_up
from linforest_precond.distributed.forest.path_pairs import partners_across_paths
from linforest_precond.distributed.forest.records import RankBlockForest
from linforest_precond.distributed.partition.entries import without_rounding
from linforest_precond.distributed.partition.matrix import Matrix, agreed_options
from linforest_precond.distributed.partition.owners import lookup
from linforest_precond.graph.forest.factor import BlockKeywords, FactorOptions
from linforest_precond.graph.forest.pairs import check_block_options

# The checked options of one candidate: one set for each factor, the pairings' first.
Options = tuple[FactorOptions, ...]


@named_arguments
def block_forest(
    A: Matrix,
    block_size: int = 2,
    *,
    m: int | tuple[int, ...] | Auto = "auto",
    **options: Unpack[BlockKeywords],
) -> RankBlockForest:
    """Find a linear forest of blocks of a matrix over ranks, the same as on one rank.

    Collective: all ranks call it with the same options.

    Parameters
    ----------
    A : Matrix
        The matrix over ranks.
    block_size, m, **options
        As in `lf.pipeline.block_tridiagonal_bands`, whose forest this is, bit for bit.

    Returns
    -------
    RankBlockForest
        The order of the blocks, and the numbers that all ranks agree on.

    Examples
    --------
    >>> import linforest_precond as lf
    >>> from linforest_precond import distributed
    >>> A = lf.matrices.aniso(2, 100)
    >>> def forest(comm):
    ...     return distributed.block_forest(distributed.scatter(A, comm))
    >>> found = distributed.simulate(2, forest)[0]
    >>> found.block_size, round(found.coverage, 2), found.m, found.pairing
    (2, 0.8, (1, 1), 'paths')
    """
    candidates = agreed_options(A, lambda: check_block_options(block_size, m, **options))
    with A.comm.together():
        return best_block_forest(graph_of(without_rounding(A)), candidates)


def best_block_forest(graph: RankGraph, candidates: list[Options]) -> RankBlockForest:
    """The block forest of largest coverage, as `graph.forest.pairs.best_block_forest` chooses it."""
    chosen, best = candidates[0], blocks_of(graph, candidates[0])
    for options in candidates[1:]:
        found = blocks_of(graph, options, least=best.coverage)
        if found.coverage > best.coverage:
            chosen, best = options, found
    if len(candidates) > 1 and best.pairings and best.coverage < 1.0:
        ladders = blocks_of(graph, chosen, candidates[-1][-1], best.coverage)
        best = ladders if ladders.coverage > best.coverage else best
    return best.placed()


class RankBlocks(NamedTuple):
    """The paths of a graph of blocks, which are pairs, or pairs of pairs; None where they are not needed."""

    graph: RankGraph
    pairings: list[RankPairs]
    coarse: RankGraph
    paths: Paths | None
    coverage: float
    m: tuple[int, ...]
    pairing: str

    def placed(self) -> RankBlockForest:
        """The forest, with the order of its vertices: collective."""
        assert self.paths is not None  # those of the best candidate are needed
        places = place_paths(self.coarse, self.paths)
        positions, numbers, comm = places.positions, places.numbers, self.graph.comm
        for pairs in reversed(self.pairings):
            table = np.stack([positions, numbers], axis=1)
            positions, numbers = lookup(comm, pairs.offsets, table, pairs.places >> 1).T
            positions = 2 * positions + (pairs.places & 1)
        size = 2 ** len(self.pairings)
        order = forest_order(comm, self.graph.offsets, positions, numbers, self.coarse.n, size)
        return RankBlockForest(order, places.n_paths, places.longest, self.coverage, self.m, self.pairing)


def blocks_of(
    graph: RankGraph, options: Options, path_options: FactorOptions | None = None, least: float = -1.0
) -> RankBlocks:
    """Pair vertices once for each option but the last, which is for the paths of blocks.

    Pairs are those of [0,1]-factors; or across the paths of a forest that is found with `path_options`.
    Where even the factor, before its cycles are broken, covers at most `least`, its coverage is returned
    without paths.
    """
    coarse, pairings, kept = graph, list[RankPairs](), list[Array]()
    for pairing in options[:-1]:
        if path_options is None:
            factor = propose_factor(coarse, pairing)
            partners = factor.neighbors[:, 0]
            kept.append(factor.values)
        else:
            partners = partners_across_paths(coarse, path_options)
        pairings.append(pair_up(coarse, partners))
        coarse = graph_of_pairs(coarse, pairings[-1])

    def coverage_of(values: Array) -> float:
        coverage = covered_share(coarse, *kept, values)
        if path_options is not None:
            # All weight is covered but that between blocks that are not neighbours on a path.
            coverage = 1.0 - (covered_share(coarse, coarse.values) - coverage)
        return coverage

    factor = propose_factor(coarse, options[-1])
    paths, coverage = None, coverage_of(factor.values) if least >= 0 else 1.0
    if coverage > least:
        paths = break_cycles(coarse, factor)
        coverage = coverage_of(paths.values)
    m, along = tuple(each.m for each in options), "edges" if path_options is None else "paths"
    return RankBlocks(graph, pairings, coarse, paths, coverage, m, along)
