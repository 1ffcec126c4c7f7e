"""Dual variables of the fractional matching problem bound the weight of every matching."""

from __future__ import annotations

from linforest_precond.backends.annotations import Array
from linforest_precond.matrix.graphs import Graph

# Sweeps that balance dual variables along matched edges, and sweeps that lower feasible ones.
BALANCING_SWEEPS, LOWERING_SWEEPS = 4, 1


def vertex_duals(graph: Graph, mate: Array, mate_weights: Array) -> Array:
    """Numbers y >= 0 with y_u + y_v >= weight of (u, v) for all edges: their sum bounds every matching.

    They start as halves of the weights of the matched edges (float64, times the graph's scale, as the
    result). In a sweep the two ends of a matched edge divide its weight by what their other neighbours leave
    them (Nash's bargaining solution), and all vertices go half of the way, at once; single ones stay at 0.
    Then the ends of edges that are not covered are raised, each by half of what is missing, and all vertices
    are lowered to the mean of themselves and the least that their neighbours allow, which keeps all edges
    covered.

    Rounding errors of the last sweeps are a few units in the last place: `Matching.upper_bound` covers them.
    """
    xp, best_offers = graph.backend.xp, graph.backend.matching.matched_edges.best_offers
    duals, nobody = 0.5 * mate_weights, xp.full_like(mate, -1)
    other = xp.where(mate < 0, xp.arange(mate.size, dtype=mate.dtype), mate)
    for _ in range(BALANCING_SWEEPS):
        offers = best_offers(graph, duals, mate)
        offers -= offers[other]
        offers += mate_weights
        offers *= 0.5
        duals += xp.maximum(offers, 0.0, out=offers)
        duals *= 0.5
    duals = xp.maximum(duals, 0.5 * (duals + best_offers(graph, duals, nobody)))
    for _ in range(LOWERING_SWEEPS):
        duals += best_offers(graph, duals, nobody)
        duals *= 0.5
    return duals
