"""Matchings of a checked graph by the methods of `lf.graph.matching`, and by the sequential Algorithm 1."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
import scipy.sparse

from linforest_precond.graph.matching.matching import DEFAULTS, check_matching_options, match_graph
from linforest_precond.matrix.checked import checked
from linforest_precond.matrix.graphs import Graph


def match(graph: Graph, method: str, seed: int = 0, **options: Any) -> Any:
    """The mates of a graph's vertices by a method of `linforest_precond.graph.matching`."""
    checked = check_matching_options(method, seed, **(DEFAULTS | options))
    return match_graph(graph, method, **checked)[0]


def host_graph(A: Any) -> Graph:
    """The graph on the host, for sequential algorithms."""
    return checked(A.get() if hasattr(A, "get") else A).graph


def upper_weights(graph: Graph) -> Any:
    """The weights above the diagonal, as a matrix without explicit zeros."""
    values = np.abs(graph.values).astype(np.float64)
    W = scipy.sparse.csr_array((values, graph.indices, graph.indptr), shape=(graph.n, graph.n))
    W.eliminate_zeros()
    return scipy.sparse.triu(W, 1).tocsr()


def serial_matching(graph: Graph, weighted: bool, seed: int) -> tuple[int, float]:
    """Size and weight of the sequential matching in a random order of vertices, which breaks ties too."""
    order = np.random.default_rng(seed).permutation(graph.n)
    ranks = np.argsort(order)
    size, weight = match_in_order(graph.indptr, graph.indices, graph.values, order, ranks, weighted)
    return int(size), float(weight)


@numba.njit
def match_in_order(
    indptr: Any, indices: Any, values: Any, order: Any, ranks: Any, weighted: bool
) -> tuple[int, float]:
    free = np.ones(order.size, np.bool_)
    size, total = 0, 0.0
    for v in order:
        if not free[v]:
            continue
        best, best_weight, best_worth = -1, 0.0, 0.0
        for slot in range(indptr[v], indptr[v + 1]):
            w, weight = indices[slot], abs(values[slot])
            if not free[w] or w == v or weight == 0:
                continue
            worth = weight if weighted else 1.0
            if worth > best_worth or (worth == best_worth and ranks[w] < ranks[best]):
                best, best_weight, best_worth = w, weight, worth
        if best >= 0:
            free[v] = free[best] = False
            size += 1
            total += best_weight
    return size, total
