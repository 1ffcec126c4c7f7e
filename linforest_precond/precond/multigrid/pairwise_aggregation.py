"""Pairwise aggregation: strongly coupled unknowns are matched, and the pairs are matched again."""

from __future__ import annotations

import math
from dataclasses import replace

from linforest_precond.backends.annotations import Array
from linforest_precond.backends.array_libraries import xp_of
from linforest_precond.graph.matching.matching import match_graph, tie_key_of
from linforest_precond.graph.matching.repeated_coarsening import coarsen_repeatedly
from linforest_precond.matrix.checked import checked, described
from linforest_precond.matrix.conversion import index_dtype
from linforest_precond.matrix.graphs import Graph
from linforest_precond.precond.multigrid.grid_transfer import Aggregates
from linforest_precond.precond.multigrid.level_matrix import LevelMatrix

WEIGHTS = "coupling", "magnitude"


def aggregate_pairwise(
    fine: LevelMatrix, matchings: int, weights: str, strength: float, seed: int
) -> Aggregates:
    """Aggregates of about ``2**matchings`` unknowns.

    An unknown that is not matched takes part in the next matching; after the last, it joins the aggregate of
    its strongest neighbour.
    """

    def pair_up(matrix: LevelMatrix, last: bool) -> tuple[Aggregates, LevelMatrix | None]:
        graph = strength_graph(matrix, weights, strength)
        mate, _ = match_graph(graph, "suitor", seed=seed)
        if last:
            aggregates = graph.backend.matching.aggregates.of_mates(graph, mate, tie_key_of(seed))
            return Aggregates(*aggregates), None
        pairs = Aggregates(*number_pairs(mate))
        return pairs, pairs.coarse_matrix(matrix)

    def compose(first: Aggregates, second: Aggregates) -> Aggregates:
        return Aggregates(second.numbers[first.numbers], second.count)

    return coarsen_repeatedly(fine, matchings, pair_up, compose)[0]


def strength_graph(matrix: LevelMatrix, weights: str, strength: float) -> Graph:
    """The graph of strengths of connection, 0 for weak ones; without its total weight."""
    csr = matrix.csr
    if weights == "magnitude":
        return checked(csr).graph
    values, _, flags = matrix.backend.multigrid.strength.weigh(csr, strength)
    overflows, positive, not_positive = flags.tolist()  # stall: is the graph symmetric?
    if overflows:
        described(csr.indptr, csr.indices, values)  # raises
    # Of a Hermitian matrix, both unknowns see the same strength if their diagonals have one sign.
    symmetric = matrix.hermitian and not (positive and not_positive)
    index = csr.indices.dtype if symmetric else index_dtype(2 * csr.nnz, csr.indices.dtype)
    weighted = replace(
        csr,
        indptr=csr.indptr.astype(index, copy=False),
        indices=csr.indices.astype(index, copy=False),
        data=values,
        symmetric=symmetric,
        total_weight=math.nan,
        adjacent_weight=math.nan,
        scale=1.0,
    )
    return checked(weighted).graph


def number_pairs(mate: Array) -> tuple[Array, int]:
    """Pairs and single unknowns numbered by their lowest unknowns: each unknown's number, and how many."""
    xp = xp_of(mate)
    unknowns = xp.arange(mate.size, dtype=mate.dtype)
    lowest = xp.where(mate < 0, unknowns, xp.minimum(unknowns, mate))
    numbers = xp.cumsum(lowest == unknowns, dtype=mate.dtype)
    return numbers[lowest] - mate.dtype.type(1), int(numbers[-1]) if mate.size else 0  # stall: how many
