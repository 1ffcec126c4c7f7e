"""Orderings by communities: vertices of a community are numbered one after another, on every level."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from linforest_precond.backends.annotations import Array
from linforest_precond.backends.array_libraries import xp_of
from linforest_precond.graph.matching.matching import match_graph, tie_key_of
from linforest_precond.graph.matching.repeated_coarsening import is_stalled
from linforest_precond.graph.reordering.cuthill_mckee import order_pattern
from linforest_precond.graph.reordering.gap_metrics import loop_free
from linforest_precond.graph.reordering.permute import ordering_of
from linforest_precond.matrix.checked import CheckedMatrix, checked, described
from linforest_precond.matrix.doors import as_pattern
from linforest_precond.matrix.graphs import Pattern

# Rounds of label propagation on each level.
ROUNDS = 20

# ``merge(csr, seed)`` gives the community of each vertex, numbered from 0, and their count.
Merge = Callable[[CheckedMatrix, int], tuple[Array, int]]


def merge_by_matching(csr: CheckedMatrix, seed: int) -> tuple[Array, int]:
    """Communities of matched vertices; single ones join the matched neighbour of the largest gain."""
    backend = csr.backend
    gains = described(csr.indptr, csr.indices, modularity_gains(csr))
    graph = checked(gains).graph
    mate, _ = match_graph(graph, "suitor", seed=seed)
    return backend.matching.aggregates.of_mates(graph, mate, tie_key_of(seed))


def merge_by_labels(csr: CheckedMatrix, seed: int) -> tuple[Array, int]:
    """The communities of label propagation."""
    labels = csr.backend.csgraph.label_propagation.propagate_labels(as_pattern(csr), ROUNDS, seed)
    return labels.astype(csr.indices.dtype), int(labels.max()) + 1  # stall: the size of the next level


def modularity_gains(csr: CheckedMatrix) -> Array:
    """The modularity gain of merging the ends of each edge, times the number of edges; 0 for a loss.

    The weight of the edge minus that expected in a random graph of the same degrees (Newman, Phys. Rev. E 69,
    2004). All numbers but the quotient are integers, so their sums are exact.
    """
    backend = csr.backend
    rows = backend.matrix.entries.rows_of(csr.indptr, csr.nnz)
    degrees = backend.xp.bincount(rows, csr.data, csr.n)
    expected = degrees[rows] * degrees[csr.indices] / max(float(csr.data.sum()), 1.0)  # stall: edges
    return backend.xp.maximum(csr.data - expected, 0.0)


def order_by_communities(merge: Merge, pattern: Pattern, seed: int) -> Array:
    """The order of a dendrogram of communities; those of the last level are in Cuthill-McKee order."""
    if pattern.n == 0:
        return pattern.degrees.copy()
    finest = _edge_counts(pattern)
    levels = list(_levels(finest, merge, seed))
    coarsest = levels[-1][1] if levels else finest
    order = order_pattern(as_pattern(coarsest))
    for communities, _ in reversed(levels):
        rank = ordering_of(order).rank
        order = xp_of(rank).argsort(rank[communities], kind="stable").astype(np.int32)
    return order


def _levels(csr: CheckedMatrix, merge: Merge, seed: int) -> Iterator[tuple[Array, CheckedMatrix]]:
    """The communities of each level, and the weights between them, until few vertices merge."""
    while csr.n > 1:
        communities, count = merge(csr, seed)
        if is_stalled(csr.n, count):
            return
        backend = csr.backend
        indptr, members = backend.matching.aggregates.members_of(communities, count)
        csr = described(*backend.multigrid.transfers.coarse_matrix(csr, communities, indptr, members))
        yield communities, csr


def _edge_counts(pattern: Pattern) -> CheckedMatrix:
    """The adjacency matrix: 1 for each edge."""
    indptr, neighbours = loop_free(pattern)
    index = pattern.indptr.dtype
    ones = xp_of(neighbours).ones(neighbours.size)
    return described(indptr.astype(index), neighbours.astype(index), ones)
