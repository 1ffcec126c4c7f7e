"""Figure 5, quality: sizes and weights of matchings against those of the sequential algorithms."""

from __future__ import annotations

import statistics
from typing import Any

import numpy as np

from linforest_precond.annotations import Array
from linforest_precond.backends import backend_of
from linforest_precond.graph.matching.matching import matching
from linforest_precond.records import Graph
from linforest_precond.study.cases import Case
from linforest_precond.study.matching.calls import host_graph
from linforest_precond.study.matching.rounds import PROPOSALS
from linforest_precond.study.matching.serial import serial_matching
from linforest_precond.study.matching.settings import MatchingSettings
from linforest_precond.study.results import JsonObject

DOMINANT = ("locally_dominant", "suitor")


def quality(A: Any, case: Case, settings: MatchingSettings) -> JsonObject:
    """
    Averages over random orders of the vertices, and their ratios with the standard deviation.

    Returns
    -------
    dict
        ``size`` (random proposals / Algorithm 1), ``gain`` (weighted proposals / Algorithm 1, weights),
        ``greedy`` (weighted proposals / Algorithm 2), ``serial`` (Algorithm 1 / Algorithm 2), each with
        its deviation; ``dominant``: the weight of our locally dominant and suitor matchings / Algorithm 2.

    Examples
    --------
    >>> import linforest_precond as lf
    >>> from linforest_precond.study.matching.quality import quality
    >>> from linforest_precond.study.matching.settings import MatchingSettings
    >>> found = quality(lf.matrices.aniso(2, 40), None, MatchingSettings(permutations=2))
    >>> found["dominant"], 0.9 < found["size"] < 1.1
    ({'locally_dominant': 1.0, 'suitor': 1.0}, True)
    """
    graph, seeds = host_graph(A), range(settings.orders)
    serial = {
        weighted: [serial_matching(graph, weighted, seed) for seed in seeds] for weighted in (False, True)
    }
    found = {method: [matching(A, method, seed=seed) for seed in seeds] for method in PROPOSALS}
    sizes = [float(result.size) for result in found["random"]]
    weights = [result.weight for result in found["weighted"]]
    best = greedy_weight(A)
    dominant = {method: share(matching(A, method).weight, best) for method in DOMINANT}
    return {
        "permutations": settings.orders,
        "edges": int(edge_weights(graph).size),
        **compared("size", sizes, statistics.fmean(size for size, _ in serial[False])),
        **compared("gain", weights, statistics.fmean(weight for _, weight in serial[True])),
        **compared("greedy", weights, best),
        **compared("serial", [weight for _, weight in serial[True]], best),
        "dominant": dominant,
    }


def greedy_weight(A: Any) -> float:
    """The weight of Algorithm 2, which is that of our locally dominant matching where A is on the GPU."""
    method = "greedy" if backend_of(A).name == "cpu" else "locally_dominant"
    return float(matching(A, method).weight)


def compared(name: str, values: list[float], reference: float) -> JsonObject:
    """The average and the standard deviation of values, in units of a reference."""
    deviation = statistics.pstdev(values)
    return {
        name: share(statistics.fmean(values), reference),
        f"{name}_deviation": share(deviation, reference, 0),
    }


def share(part: float, whole: float, empty: float = 1.0) -> float:
    return part / whole if whole else empty


def edge_weights(graph: Graph) -> Array:
    """The weight of each edge, once."""
    rows = np.repeat(np.arange(graph.n), np.diff(graph.indptr))
    values: Any = np.abs(graph.values)
    return values[(graph.indices > rows) & (values > 0)]
