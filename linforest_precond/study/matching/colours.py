"""Figure 3: the effect of the probability of blue on size, weight, time and the first round."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np

from linforest_precond.backends import backend_of
from linforest_precond.gate import as_graph
from linforest_precond.graph.matching.matching import matching
from linforest_precond.records import Graph
from linforest_precond.study import timing
from linforest_precond.study.cases import Case
from linforest_precond.study.matching.calls import host_graph, match
from linforest_precond.study.matching.rounds import PROPOSALS, matched
from linforest_precond.study.results import JsonObject
from linforest_precond.study.settings import Settings

PROBABILITIES = tuple(percent / 100 for percent in (*range(5, 50, 5), 50, 53, *range(55, 100, 5)))
REPEATS = 3
# Larger graphs take the same curves at a few probabilities only.
MANY_ENTRIES, FEW_PROBABILITIES = 4_000_000, (0.1, 0.3, 0.5, 0.53, 0.7, 0.9)


def first_round(p: float) -> float:
    """
    Eq. 2 of the paper: the expected fraction matched in the first round on a large random graph.

    Examples
    --------
    >>> from linforest_precond.study.matching.colours import first_round
    >>> round(first_round(0.53406), 4), first_round(1.0)
    (0.6357, 0.0)
    """
    return 0.0 if p >= 1 else 2 * (1 - p) * -math.expm1(-p / (1 - p))


def best_probability() -> float:
    """
    The maximum of Eq. 2, where 1 - p = exp(-p / (1 - p)) (2 - p), by bisection.

    Examples
    --------
    >>> from linforest_precond.study.matching.colours import best_probability
    >>> round(best_probability(), 5)
    0.53406
    """
    low, high = 0.1, 0.9
    for _ in range(60):
        p = (low + high) / 2
        if math.exp(-p / (1 - p)) * (2 - p) > 1 - p:  # the derivative of Eq. 2 is positive
            low = p
        else:
            high = p
    return low


def colours(A: Any, case: Case, settings: Settings) -> JsonObject:
    """Size, weight, time and the fraction of the first round, by method and probability."""
    probabilities = PROBABILITIES if A.nnz <= MANY_ENTRIES else FEW_PROBABILITIES
    return {
        "p": list(probabilities),
        "theory": [first_round(p) for p in probabilities],
        "independent": [independent_round(host_graph(A), p) for p in probabilities],
        **{method: _sweep(A, method, probabilities) for method in PROPOSALS},
    }


def independent_round(graph: Graph, p: float) -> float:
    """
    The fraction matched in a first round where each blue vertex chooses among its red neighbours at random.

    This is what Eq. 2 assumes. Algorithm 3 takes the first in one random order of all vertices, so that blue
    vertices with common neighbours choose the same one.
    """
    random = np.random.default_rng(0)
    blue = random.random(graph.n) < p
    rows = np.repeat(np.arange(graph.n), np.diff(graph.indptr))
    proposes = blue[rows] & ~blue[graph.indices] & (graph.values != 0)
    rows, targets = rows[proposes], graph.indices[proposes]
    draw = np.lexsort((random.random(rows.size), rows))
    first = np.unique(rows[draw], return_index=True)[1]
    return 2 * np.unique(targets[draw][first]).size / max(graph.n, 1)


def _sweep(A: Any, method: str, probabilities: tuple[float, ...]) -> JsonObject:
    graph, device = as_graph(A), backend_of(A).name
    found: JsonObject = {"size": [], "weight": [], "seconds": [], "first": []}
    for p in probabilities:
        whole = matching(A, method, p=p)
        seconds, _ = timing.median_time(partial(match, graph, method, p=p), REPEATS, device)
        found["size"].append(whole.size)
        found["weight"].append(whole.weight)
        found["seconds"].append(seconds)
        found["first"].append(matched(matching(A, method, p=p, max_rounds=1)))
    return found
