"""Times of the stages of a setup on the CPU, in double precision."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from linforest_precond.backends.annotations import Array, SparseMatrix
from linforest_precond.backends.cpu.forest import bidirectional_scan
from linforest_precond.backends.cpu.forest import linear_forest as list_ranking
from linforest_precond.graph.forest import linear_forest
from linforest_precond.graph.forest.bands import copy_bands
from linforest_precond.matrix.checked import checked
from linforest_precond.precond.tridiagonal.solver import solver_of
from linforest_precond.records.forest import Factor
from linforest_precond.study import timing
from linforest_precond.study.forests.counted_times import propositions, spmv_record, two_factor
from linforest_precond.study.results import JsonObject

REPEATS = 5
# Matrices with more entries are measured once instead of REPEATS times.
MANY_ENTRIES = 20_000_000
COPIED_BYTES = 2**27


def measured(A: Any, ways: dict[str, JsonObject]) -> JsonObject:
    """Copies, propositions and scans run on one thread, as SciPy's `A @ x` does; setups on all threads."""
    repeats = REPEATS if A.nnz <= MANY_ENTRIES else 1
    graph, x = checked(A).graph, np.ones(A.shape[0])
    with timing.numba_threads(1):
        timed_propositions = propositions(graph, repeats)
        factor = two_factor(graph, **ways["paper"])
        walk = scan_seconds(list_ranking, factor.neighbors, factor.values, repeats)
        scan = scan_seconds(bidirectional_scan, factor.neighbors, factor.values, repeats)
        orderings = _ordering_seconds(factor, repeats)
    del graph, factor
    spmv = statistics.median(timing.host_samples(lambda: A @ x, 4 * repeats))
    return {
        "precision": "float64",
        "spmv": {"float64": spmv_record(A, spmv) | {"srcsr": None}},
        "copy_gb_per_s": statistics.median(timing.host_copy_bandwidths(COPIED_BYTES, REPEATS)),
        "propositions": timed_propositions,
        "scans": {"seconds": {"bidirectional_scan": scan, "list_ranking": walk}, "launches": None},
        "sequential_scan_seconds": walk,
        "orderings": orderings,
        "stages": {way: _median_stages(A, options, repeats) for way, options in ways.items()},
        "threads": [1, timing.threads()],
    }


def scan_seconds(room: Any, neighbors: Array, values: Array, repeats: int) -> float:
    """Seconds of breaking the cycles and labelling the paths of a factor on the CPU."""
    samples = []
    for _ in range(1 + repeats):
        arrays = neighbors.copy(), values.copy(), None
        samples.append(timing.host_time(partial(room.linear_forest, *arrays, in_place=True))[0])
    return statistics.median(samples[1:]) / 1e3


def _ordering_seconds(factor: Factor, repeats: int) -> dict[str, float]:
    forest = list_ranking.linear_forest(factor.neighbors, factor.values, None)
    labels = forest.path_id, forest.position, forest.lengths
    calls = {
        "radix_sort": partial(list_ranking.order_by_radix_sort, *labels),
        "scan": partial(list_ranking.order_by_scan, *labels),
    }
    return {name: statistics.median(timing.host_samples(call, repeats)) for name, call in calls.items()}


def _median_stages(A: SparseMatrix, way: JsonObject, repeats: int) -> dict[str, float]:
    runs = [_stages(A, way) for _ in range(1 + repeats)][1:]  # the first compiles
    return {stage: statistics.median(run[stage] for run in runs) / 1e3 for stage in runs[0]}


def _stages(A: SparseMatrix, way: JsonObject) -> dict[str, float]:
    """Milliseconds of each stage of one setup."""
    times: dict[str, float] = {}

    def timed(stage: str, call: Callable[[], Any]) -> Any:
        times[stage], answer = timing.host_time(call)
        return answer

    methods = {name: way[name] for name in ("method", "sorting") if name in way}
    csr, graph = timed("gate", lambda: ((csr := checked(A)), checked(csr).graph))
    factor = timed("factor", lambda: two_factor(graph, **way))
    with timing.timed_calls(linear_forest, "order_paths", timing.host_time) as ordering:
        forest = timed(
            "cycles and paths", lambda: linear_forest.break_cycles(factor, in_place=True, **methods)
        )
    times["ordering"] = ordering[0]
    times["cycles and paths"] -= ordering[0]
    values = forest.values if graph.values_are_matrix else None
    bands = timed("bands", lambda: copy_bands(csr, forest, values, forest.slots))
    timed("factorization", lambda: solver_of(bands))
    return times
