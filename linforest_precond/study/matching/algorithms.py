"""Matchings of a checked graph by the methods of `lf.graph.matching`, and by the sequential Algorithm 1."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeAlias

import numba
import numpy as np
import scipy.sparse

from linforest_precond.graph.matching.matching import DEFAULTS, check_matching_options, match_graph
from linforest_precond.matrix.checked import checked
from linforest_precond.matrix.graphs import Graph
from linforest_precond.study import timing

Serial: TypeAlias = tuple[int, float]


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


def serial_matchings(graph: Graph, weighted: Sequence[bool], seeds: Iterable[int]) -> list[list[Serial]]:
    """Size and weight of the sequential matching in random orders of vertices, which break ties too.

    For each of `weighted`, the results by seed. Every thread runs the sequential algorithm in its own order.
    """

    def run(seed: int) -> list[Serial]:
        order = np.random.default_rng(seed).permutation(graph.n)
        ranks = np.empty_like(order)
        ranks[order] = np.arange(graph.n)
        arrays = graph.indptr, graph.indices, graph.values, order, ranks
        return [match_in_order(*arrays, each) for each in weighted]

    with ThreadPoolExecutor(timing.threads()) as pool:
        return [list(results) for results in zip(*pool.map(run, seeds))]


@numba.njit(nogil=True)
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


# Each vertex's edges: stored entries but the diagonal and explicit zeros.
@numba.njit
def count_degrees(indptr: Any, indices: Any, values: Any) -> Any:
    degrees = np.zeros(indptr.size - 1, np.int64)
    for v in range(degrees.size):
        for slot in range(indptr[v], indptr[v + 1]):
            degrees[v] += indices[slot] != v and values[slot] != 0
    return degrees


def independent_matched(graph: Graph, blue: Any, random: np.random.Generator) -> int:
    """The red vertices that are chosen where each blue one chooses among its red neighbours at random."""
    arrays = graph.indptr, graph.indices, graph.values, blue
    return int(count_chosen(*arrays, random.random(count_proposals(*arrays))))


@numba.njit(nogil=True)
def count_proposals(indptr: Any, indices: Any, values: Any, blue: Any) -> int:
    count = 0
    for v in range(blue.size):
        if blue[v]:
            for slot in range(indptr[v], indptr[v + 1]):
                count += not blue[indices[slot]] and values[slot] != 0
    return count


# A draw for each edge from a blue vertex to a red one; each blue vertex chooses the edge of the least one.
@numba.njit(nogil=True)
def count_chosen(indptr: Any, indices: Any, values: Any, blue: Any, draws: Any) -> int:
    chosen = np.zeros(blue.size, np.bool_)
    count, place = 0, 0
    for v in range(blue.size):
        best, least = -1, 1.0
        if blue[v]:
            for slot in range(indptr[v], indptr[v + 1]):
                if not blue[indices[slot]] and values[slot] != 0:
                    if draws[place] < least:
                        best, least = indices[slot], draws[place]
                    place += 1
        if best >= 0 and not chosen[best]:
            chosen[best] = True
            count += 1
    return count
