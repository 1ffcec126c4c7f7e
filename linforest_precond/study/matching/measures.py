"""The measurements of the study, part by part: figures 2 to 5 of Fagginger Auer & Bisseling (2012)."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse
from scipy.optimize import brentq

from linforest_precond.backends.array_libraries import device_name, xp_of
from linforest_precond.graph.matching.matching import matching
from linforest_precond.graph.reordering.permute import permute
from linforest_precond.matrix.checked import CheckedMatrix, checked
from linforest_precond.matrix.graphs import Graph
from linforest_precond.study import timing
from linforest_precond.study.cases import Case
from linforest_precond.study.matching.algorithms import (
    count_degrees,
    host_graph,
    independent_matched,
    match,
    match_in_order,
    serial_matchings,
    upper_weights,
)
from linforest_precond.study.paper import Settings
from linforest_precond.study.results import JsonObject

# Random orders of the vertices over which qualities are averaged; the paper has 32.
QUICK_PERMUTATIONS, PAPER_PERMUTATIONS = 8, 32
# Graphs with more entries have at most that many orders, since a sequential matching takes a second or more.
LARGE_ENTRIES, LARGE_PERMUTATIONS = 20_000_000, 8
PROPOSALS = ("random", "weighted")
DOMINANT = ("locally_dominant", "suitor")
MOST_ROUNDS = 60
PROBABILITIES = tuple(percent / 100 for percent in (*range(5, 50, 5), 50, 53, *range(55, 100, 5)))
COLOUR_REPEATS = 3
# Graphs with more entries are measured at a few probabilities only.
MANY_ENTRIES, FEW_PROBABILITIES = 4_000_000, (0.1, 0.3, 0.5, 0.53, 0.7, 0.9)
# Standard deviations of the binary logarithms of the vertices' factors.
SIGMAS = (0.0, 0.5, 1.0, 1.5, 2.0)
ORDERS = 4
METHODS = (*PROPOSALS, *DOMINANT)
# (parallel, sequential): the methods whose times give the speedups of figure 5.
SPEEDUPS = {
    "random": ("random", "serial_random"),
    "weighted": ("weighted", "serial_weighted"),
    "weighted_greedy": ("weighted", "greedy"),
    "locally_dominant_greedy": ("locally_dominant", "greedy"),
    "suitor_greedy": ("suitor", "greedy"),
}
REPEATS, SEQUENTIAL_REPEATS = 5, 3


@dataclass(frozen=True)
class MatchingSettings(Settings):
    """The options of the study; `permutations` None takes a few, or the paper's 32 in a full one."""

    permutations: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.permutations is not None and self.permutations < 1:
            raise ValueError(f"permutations must be at least 1 or None, got {self.permutations}")

    @property
    def orders(self) -> int:
        """The number of random orders of the vertices."""
        if self.permutations is not None:
            return self.permutations
        return PAPER_PERMUTATIONS if self.full else QUICK_PERMUTATIONS

    def orders_of(self, entries: int) -> int:
        """The random orders for a graph: few for a large one, unless their number was given."""
        few = self.permutations is None and entries > LARGE_ENTRIES
        return min(self.orders, LARGE_PERMUTATIONS) if few else self.orders


def rounds(A: Any, case: Case, settings: Settings) -> JsonObject:
    """The fraction of matched vertices after each round of proposals; of the other methods, at their end."""
    csr = checked(A)
    found = {method: _by_rounds(csr, method) for method in PROPOSALS}
    for method in DOMINANT:
        result = matching(csr, method)
        found[method] = {"rounds": result.iterations, "matched": [matched(result)]}
    return found


def matched(result: Any) -> float:
    """The fraction of the vertices that are matched."""
    return 2 * result.size / max(result.mate.size, 1)


def _by_rounds(A: CheckedMatrix, method: str) -> JsonObject:
    """A round depends on the seed and the rounds before it only, so a limit cuts the same run short."""
    last = matching(A, method).iterations
    limits = range(1, min(last, MOST_ROUNDS) + 1)
    return {
        "rounds": last,
        "matched": [matched(matching(A, method, max_rounds=limit)) for limit in limits],
    }


def first_round(p: float) -> float:
    """Eq. 2 of the paper: the expected fraction matched in the first round on a large random graph."""
    return 0.0 if p >= 1 else 2 * (1 - p) * -math.expm1(-p / (1 - p))


def best_probability() -> float:
    """The maximum of Eq. 2, where its derivative is 0: 1 - p = exp(-p / (1 - p)) (2 - p)."""
    return float(brentq(lambda p: math.exp(-p / (1 - p)) * (2 - p) - (1 - p), 0.1, 0.9))


def colours(A: Any, case: Case, settings: Settings) -> JsonObject:
    """Size, weight, time and the fraction of the first round, by method and probability."""
    probabilities = PROBABILITIES if A.nnz <= MANY_ENTRIES else FEW_PROBABILITIES
    csr = checked(A)
    with ThreadPoolExecutor(timing.threads()) as pool:
        independent = list(pool.map(partial(independent_round, host_graph(A)), probabilities))
    return {
        "p": list(probabilities),
        "theory": [first_round(p) for p in probabilities],
        "independent": independent,
        **{method: _sweep(csr, method, probabilities) for method in PROPOSALS},
    }


def independent_round(graph: Graph, p: float) -> float:
    """
    The fraction matched in a first round where each blue vertex chooses among its red neighbours at random.

    This is what Eq. 2 assumes. Algorithm 3 takes the first in one random order of all vertices, so that blue
    vertices with common neighbours choose the same one.
    """
    random = np.random.default_rng(0)
    blue = random.random(graph.n) < p
    return 2 * independent_matched(graph, blue, random) / max(graph.n, 1)


def _sweep(A: CheckedMatrix, method: str, probabilities: tuple[float, ...]) -> JsonObject:
    graph, device = A.graph, A.backend.name
    found: JsonObject = {"size": [], "weight": [], "seconds": [], "first": []}
    for p in probabilities:
        whole = matching(A, method, p=p)
        seconds, _ = timing.median_time(partial(match, graph, method, p=p), COLOUR_REPEATS, device)
        found["size"].append(whole.size)
        found["weight"].append(whole.weight)
        found["seconds"].append(seconds)
        found["first"].append(matched(matching(A, method, p=p, max_rounds=1)))
    return found


def quality(A: Any, case: Case, settings: MatchingSettings) -> JsonObject:
    """Averages over random orders of the vertices, and their ratios with the standard deviation.

    ``size``: random proposals / Algorithm 1; ``gain`` and ``greedy``: weighted proposals / Algorithms 1 and
    2; ``serial``: Algorithm 1 / Algorithm 2; ``dominant``: our locally dominant and suitor matchings /
    Algorithm 2; ``md5``: weighted proposals with the colours of Algorithm 4 / with ours.
    """
    graph, csr, seeds = host_graph(A), checked(A), range(settings.orders_of(A.nnz))
    random, weighted = serial_matchings(graph, (False, True), seeds)
    sizes = [float(matching(csr, "random", seed=seed).size) for seed in seeds]
    weights = [matching(csr, "weighted", seed=seed).weight for seed in seeds]
    by_md5 = [matching(csr, "weighted", seed=seed, colours="md5").weight for seed in seeds]
    best = greedy_weight(csr)
    dominant = {method: share(matching(csr, method).weight, best) for method in DOMINANT}
    return {
        "permutations": len(seeds),
        "edges": int(count_degrees(graph.indptr, graph.indices, graph.values).sum()) // 2,
        **compared("size", sizes, statistics.fmean(size for size, _ in random)),
        **compared("gain", weights, statistics.fmean(weight for _, weight in weighted)),
        **compared("greedy", weights, best),
        **compared("serial", [weight for _, weight in weighted], best),
        "dominant": dominant,
        "md5": share(statistics.fmean(by_md5), statistics.fmean(weights)),
    }


def greedy_weight(A: CheckedMatrix) -> float:
    """The weight of Algorithm 2, which is that of our locally dominant matching where A is on the GPU."""
    method = "greedy" if A.backend.name == "cpu" else "locally_dominant"
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


def arrangement(A: Any, case: Case, settings: Settings) -> JsonObject:
    """The weight of weighted proposals / Algorithm 1 (gain), and of Algorithm 1 / Algorithm 2 (serial).

    With the matrix's ``own`` weights; the same weights ``shuffled`` among the edges; and unit weights
    ``scaled`` by random factors of the vertices, d_i d_j, by their spread (``sigmas``).
    """
    W = upper_weights(host_graph(A))
    random = np.random.default_rng(0)
    shuffled = W.copy()
    shuffled.data = random.permutation(W.data)
    exponents = random.normal(size=W.shape[0])
    scaled = [_measured(_scaled(W, sigma * exponents)) for sigma in SIGMAS]
    return {
        "own": _measured(W),
        "shuffled": _measured(shuffled),
        "sigmas": list(SIGMAS),
        "scaled": {key: [found[key] for found in scaled] for key in ("gain", "serial")},
    }


def _scaled(W: Any, exponents: Any) -> Any:
    """The weights 2^(e_i + e_j), not larger than 1."""
    edges = W.tocoo()
    logarithms = exponents[edges.row] + exponents[edges.col]
    values = np.exp2(logarithms - logarithms.max(initial=0.0))
    return scipy.sparse.csr_array((values, (edges.row, edges.col)), shape=W.shape)


def _measured(upper: Any) -> JsonObject:
    W = checked((upper + upper.T).tocsr())
    (found,) = serial_matchings(W.graph, (True,), range(ORDERS))
    serial = statistics.fmean(weight for _, weight in found)
    parallel = statistics.fmean(matching(W, "weighted", seed=seed).weight for seed in range(ORDERS))
    return {"gain": share(parallel, serial), "serial": share(serial, matching(W, "greedy").weight)}


def times(A: Any, case: Case, settings: Settings) -> JsonObject:
    """Median times on the graph with its vertices in random order, as in the paper."""
    B = permute(A, xp_of(A).asarray(np.random.default_rng(0).permutation(A.shape[0])))
    host, device = host_graph(B), device_name(B)
    empty = replace(host, indptr=host.indptr[:1], indices=host.indices[:0], values=host.values[:0])
    compiling = _sequential(empty)
    seconds = {
        name: timing.median_time(call, SEQUENTIAL_REPEATS, "cpu", compiling[name])[0]
        for name, call in _sequential(host).items()
    }
    graph = checked(B).graph
    for method in METHODS:
        seconds[method] = timing.median_time(partial(match, graph, method), REPEATS, device)[0]
    degrees = count_degrees(host.indptr, host.indices, host.values)
    return {
        "vertices": host.n,
        "edges": int(degrees.sum() // 2),
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
