"""Effective throughputs of SpMV, scans and propositions on both devices, by the paper's count of bytes."""

from __future__ import annotations

import statistics
from typing import Any

from linforest_precond.graph.forest.factor import check_options, propose_factor, proposition_times
from linforest_precond.matrix.graphs import Graph
from linforest_precond.records.forest import Factor
from linforest_precond.study.forests.coverage import DEGREES, ITERATIONS
from linforest_precond.study.results import JsonObject

# Iterations k of the timed propositions: the first, in which all vertices propose, and later ones, which read
# the confirmed edges too: the second, and the last of M = 5.
PROPOSITIONS = (0, 1, 4)


def throughput(counted_bytes: float, seconds: float) -> float:
    """In GB/s."""
    return counted_bytes / max(seconds, 1e-9) / 1e9


def spmv_record(A: Any, seconds: float) -> JsonObject:
    """The time of d = A x + d; matrix and x are read once, d is read and written."""
    value, index = A.dtype.itemsize, A.indices.dtype.itemsize
    counted = A.nnz * (value + index) + (A.shape[0] + 1) * index + 3 * A.shape[0] * value
    return {"seconds": seconds, "gb_per_s": throughput(counted, seconds)}


def scan_bytes(vertices: int, index: int, value: int) -> dict[str, int]:
    """The bytes of a step of the bidirectional scans: every buffer is read and written once.

    In both directions a vertex has a stride; for paths a position, and for cycles the weakest edge with its
    weight and its ends (32 bits each).
    """
    sides = 2 * 2 * vertices  # read and written, two directions
    return {"cycles": sides * (index + value + 8), "paths": sides * 2 * index}


def propositions(graph: Graph, repeats: int) -> list[JsonObject]:
    """Figure 3: one proposition without charges, for each n, in the first and in later iterations."""
    return [_proposition(graph, n, k, repeats) for k in PROPOSITIONS for n in DEGREES]


def _proposition(graph: Graph, n: int, k: int, repeats: int) -> JsonObject:
    """No time where the factor is maximal before iteration k."""
    times = proposition_times(graph, n, k, repeats)
    seconds = statistics.median(times.seconds) if times.seconds else None
    speed = None if seconds is None else throughput(times.counted_bytes, seconds)
    named = {"dtype": graph.values.dtype.name, "k": k, "n": n}
    return {**named, "seconds": seconds, "gb_per_s": speed, "vertices": times.vertices}


def two_factor(graph: Graph, charge: str = "splitmix64", ties: str = "auto", **_: Any) -> Factor:
    """The [0,2]-factor of figure 6: M = 5, m = 5, k_m = 0."""
    options = check_options(2, ITERATIONS, charge=charge, ties=ties)
    return propose_factor(graph, options)
