"""Figures 4 and 5: times by the number of threads, and against the sequential algorithms."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from linforest_precond.backends import backend_of
from linforest_precond.gate import as_graph
from linforest_precond.graph.reordering.permute import permute
from linforest_precond.study import timing
from linforest_precond.study.cases import Case
from linforest_precond.study.matching.calls import host_graph, match
from linforest_precond.study.matching.serial import match_in_order
from linforest_precond.study.results import JsonObject
from linforest_precond.study.settings import Settings

METHODS = ("random", "weighted", "locally_dominant", "suitor")
# (parallel, sequential): the quotients of the paper's figure 5, by their names there.
SPEEDUPS = {
    "random": ("random", "serial_random"),
    "weighted": ("weighted", "serial_weighted"),
    "weighted_greedy": ("weighted", "greedy"),
    "locally_dominant_greedy": ("locally_dominant", "greedy"),
    "suitor_greedy": ("suitor", "greedy"),
}
REPEATS = 5


def times(A: Any, case: Case, settings: Settings) -> JsonObject:
    """
    Median times on the graph with its vertices in random order, as in the paper.

    Returns
    -------
    dict
        ``vertices``, ``edges``; ``seconds`` by method, with "serial_random" and "serial_weighted" for
        Algorithm 1 and "greedy" for Algorithm 2, all three on one thread of the CPU; ``speedups``;
        ``degree_ratio``, the largest degree over the smallest positive one; ``threads``.
    """
    B = permute(A, backend_of(A).xp.asarray(np.random.default_rng(0).permutation(A.shape[0])))
    host, device = host_graph(B), backend_of(B).name
    seconds = {name: timing.median_time(call, REPEATS, "cpu")[0] for name, call in _sequential(host).items()}
    graph = as_graph(B)
    for method in METHODS:
        seconds[method] = timing.median_time(partial(match, graph, method), REPEATS, device)[0]
    degrees = np.diff(host.indptr)
    return {
        "vertices": host.n,
        "edges": int(host.indices.size // 2),
        "seconds": seconds,
        "speedups": {name: seconds[slow] / seconds[fast] for name, (fast, slow) in SPEEDUPS.items()},
        "degree_ratio": float(
            degrees.max(initial=0) / degrees[degrees > 0].min(initial=degrees.max(initial=1))
        ),
        "threads": timing.threads(),
    }


def _sequential(graph: Any) -> dict[str, Callable[[], Any]]:
    """Algorithms 1 and 2 on one thread."""
    order = np.arange(graph.n)
    arrays = graph.indptr, graph.indices, graph.values, order, order
    return {
        "serial_random": partial(match_in_order, *arrays, False),
        "serial_weighted": partial(match_in_order, *arrays, True),
        "greedy": partial(_on_one_thread, partial(match, graph, "greedy")),
    }


def _on_one_thread(call: Callable[[], Any]) -> Any:
    with timing.numba_threads(1):
        return call()


def threads(A: Any, case: Case, settings: Settings) -> JsonObject:
    """Times of random matching by the number of threads of the CPU, whatever the device of the study."""
    graph = host_graph(A)
    counts = sorted({*(2**k for k in range(8) if 2**k < timing.threads()), timing.threads()})
    found: JsonObject = {"threads": counts}
    for method in METHODS:
        found[method] = [_seconds_with(count, graph, method) for count in counts]
    return found


def _seconds_with(count: int, graph: Any, method: str) -> float:
    with timing.numba_threads(count):
        return timing.median_time(partial(match, graph, method), REPEATS, "cpu")[0]
