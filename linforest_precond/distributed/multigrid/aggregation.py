"""Pairwise aggregation over ranks: strongly coupled unknowns are matched, and the pairs are matched again."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from linforest_precond.distributed.forest.graph import RankGraph, graph_of, symmetrized
from linforest_precond.distributed.matching.aggregates import (
    RankAggregates,
    aggregates_of_mates,
    compose,
    galerkin_product,
    number_pairs,
)
from linforest_precond.distributed.matching.matching import match_rank_graph
from linforest_precond.distributed.multigrid.level_matrix import RankLevelMatrix
from linforest_precond.distributed.multigrid.transfers import AggregateTransfer
from linforest_precond.distributed.partition import host, readonly
from linforest_precond.graph.matching.matching import tie_key_of
from linforest_precond.graph.matching.repeated_coarsening import coarsen_repeatedly

find_strongest = host.multigrid.strength.find_strongest
weigh_entries = host.multigrid.strength.weigh_entries


@dataclass(frozen=True, eq=False)
class PairwiseAggregation:
    """The tentative prolongator of pairwise aggregates."""

    aggregates: RankAggregates

    def refreshed(self, fine: RankLevelMatrix) -> PairwiseAggregation:
        return self

    def coarse_matrix(self, fine: RankLevelMatrix) -> RankLevelMatrix:
        return fine.coarse(galerkin_product(fine.A, self.aggregates))

    def transfer(self, fine: RankLevelMatrix, to_all: bool) -> AggregateTransfer:
        return AggregateTransfer(fine.comm, fine.A.offsets, self.aggregates, to_all)


def aggregate_pairwise(
    fine: RankLevelMatrix, matchings: int, weights: str, strength: float, seed: int
) -> RankAggregates:
    """Aggregates of about ``2**matchings`` unknowns, those of `precond.multigrid.pairwise_aggregation`."""

    def pair_up(matrix: RankLevelMatrix, last: bool) -> tuple[RankAggregates, RankLevelMatrix | None]:
        graph = strength_graph(matrix, weights, strength)
        mate = match_rank_graph(graph, seed).mate
        if last:
            return aggregates_of_mates(graph, mate, tie_key_of(seed)), None
        pairs = number_pairs(graph, mate)
        return pairs, PairwiseAggregation(pairs).coarse_matrix(matrix)

    return coarsen_repeatedly(
        fine, matchings, pair_up, lambda first, second: compose(fine.comm, first, second)
    )[0]


def strength_graph(matrix: RankLevelMatrix, weights: str, strength: float) -> RankGraph:
    """The graph whose weights are strengths of connection; weak connections have weight 0."""
    if weights == "magnitude":
        return graph_of(matrix.A)
    A, csr = matrix.A, matrix.csr
    diagonal = A.halo.with_ghosts(csr.diagonal)
    strongest, found = np.empty(csr.n), np.empty(csr.nnz)
    find_strongest(*map(readonly, (csr.indptr, csr.indices, csr.data, diagonal)), strongest)
    with A.comm.checking():
        if not np.isfinite(strongest).all():
            raise ValueError("A's entries differ too much in size, scale its rows and columns")
    # Ghosts have empty rows.
    indptr = np.append(csr.indptr, np.full(A.ghosts.size, csr.nnz, csr.indptr.dtype))
    arrays = map(readonly, (indptr, csr.indices, csr.data, diagonal, A.halo.with_ghosts(strongest)))
    weigh_entries(*arrays, float(strength), found)
    graph = RankGraph(
        A.comm, A.offsets, csr.indptr.astype(np.int64), csr.indices.astype(np.int64), found, A.halo
    )
    # A Hermitian matrix whose diagonal has one sign has symmetric strengths.
    return graph if matrix.hermitian and matrix.has_one_sign() else symmetrized(graph)
