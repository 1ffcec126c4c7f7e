"""The sequential greedy matching, Algorithm 1 of Fagginger Auer & Bisseling (2012)."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np

from linforest_precond.matrix.graphs import Graph


def serial_matching(graph: Graph, weighted: bool, seed: int) -> tuple[int, float]:
    """
    Size and weight of the sequential matching in a random order of the vertices.

    Each vertex is matched to its first free neighbour in that order, or along its heaviest free edge, where
    the order breaks ties.

    Examples
    --------
    >>> import linforest_precond as lf
    >>> from linforest_precond.matrix.checked import checked
    >>> from linforest_precond.study.matching.serial import serial_matching
    >>> serial_matching(checked(lf.matrices.poisson((2, 1))).graph, weighted=True, seed=0)
    (1, 1.0)
    """
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
