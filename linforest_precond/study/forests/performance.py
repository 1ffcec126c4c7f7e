"""Times of the parts of a setup in double precision: figures 3, 5 and 6 of the paper."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from functools import partial
from typing import Any

from linforest_precond.annotations import Array, SparseMatrix
from linforest_precond.backends import backend_of, cpu
from linforest_precond.gate import as_csr, as_graph
from linforest_precond.graph.forest import linear_forest
from linforest_precond.graph.forest.bands import copy_bands
from linforest_precond.graph.forest.factor import check_options, propose_factor
from linforest_precond.pipeline import tridiagonal_bands
from linforest_precond.precond.tridiagonal.solver import solver_of
from linforest_precond.records import Factor, Graph
from linforest_precond.study import timing
from linforest_precond.study.forests import launches
from linforest_precond.study.json_types import JsonObject

DEGREES = (1, 2, 3, 4)
# As in figure 6.
ITERATIONS = 5
# For every vertex a scan reads both neighbours and writes its path and its position on it.
SCAN_WORDS = 4
# Samples: on the CPU; on the GPU of short calls, and of whole setups.
REPEATS, QUEUED_REPEATS, CHAIN_REPEATS = 5, 50, 20
# Matrices with more entries are measured once on the CPU.
MANY_ENTRIES = 20_000_000
COPIED_BYTES = {"cpu": 2**27, "cuda": 2**29}
# The sequential scan is left out for more vertices: one thread would take too long.
MOST_WALKED_VERTICES = 2**25


def performance(A: Any) -> JsonObject:
    """
    Times of the steps from a matrix to its factored bands, medians of several runs.

    Returns
    -------
    dict
        ``spmv_seconds`` of ``A @ x`` by SciPy or cupyx; ``copy_gb_per_s``, read plus written bytes;
        ``propositions`` by n: the first one of a [0,n]-factor, in which all vertices propose; ``scan``, which
        breaks cycles and numbers the paths; ``sequential_scan_seconds``, the same by one thread of the CPU
        that walks along the paths; ``setup`` by stages; ``setup_seconds``, their sum; ``threads`` of the CPU:
        for copy, SpMV, propositions and scan, and for the stages of the setup.

    Notes
    -----
    The throughput of a scan is computed from the least it has to move: four indices per vertex, namely both
    neighbours, path and position. Parallel scans visit vertices repeatedly and move more bytes, so this is an
    effective throughput, not a memory bandwidth. On the CPU, copies, propositions and scans run on one
    thread, as SciPy's `A @ x` does; the stages of the setup run on all threads.

    Examples
    --------
    >>> import linforest_precond as lf
    >>> from linforest_precond.study.forests.performance import performance
    >>> found = performance(lf.matrices.aniso(2, 50))
    >>> [stage["stage"] for stage in found["setup"]]
    ['gate', 'factor', 'cycles and paths', 'ordering', 'bands', 'factorization']
    >>> found["scan"]["counted_bytes"]
    40000
    """
    device = backend_of(A).name
    bench = _on_gpu if device == "cuda" else _on_cpu
    found = bench(A)
    counted = SCAN_WORDS * A.shape[0] * A.indices.dtype.itemsize
    scan = found.pop("scan_seconds")
    stages = found.pop("stages")
    return {
        **found,
        "scan": {"seconds": scan, "gb_per_s": counted / max(scan, 1e-9) / 1e9, "counted_bytes": counted},
        "setup": [{"stage": stage, "seconds": seconds} for stage, seconds in stages.items()],
        "setup_seconds": sum(stages.values()),
    }


def _on_cpu(A: Any) -> JsonObject:
    x = cpu.xp.ones(A.shape[0])
    graph = as_graph(A)
    repeats = REPEATS if A.nnz <= MANY_ENTRIES else 1
    with timing.numba_threads(1):
        propositions = {str(n): _proposition(graph, n, repeats) for n in DEGREES}
        factor = _factor(graph)
        walk = _walk_seconds(factor.neighbors, factor.values, repeats)
    del graph, factor
    runs = [_stages(A) for _ in range(1 + repeats)][1:]  # the first compiles
    return {
        "spmv_seconds": statistics.median(timing.host_samples(lambda: A @ x, 4 * repeats)),
        "copy_gb_per_s": statistics.median(timing.host_copy_bandwidths(COPIED_BYTES["cpu"], REPEATS)),
        "propositions": propositions,
        "sequential_scan_seconds": walk,
        "scan_seconds": walk,
        "stages": {stage: statistics.median(run[stage] for run in runs) / 1e3 for stage in runs[0]},
        "threads": [1, timing.threads()],
    }


def _factor(graph: Graph) -> Factor:
    return propose_factor(graph, **check_options(2, ITERATIONS, m=5, k_m=0, p=0.5, seed=0))


def _proposition(graph: Graph, n: int, repeats: int) -> float:
    """Seconds of the proposition kernel in the first iteration."""
    options = check_options(n, iterations=1, m=5, k_m=0, p=0.5, seed=0)
    with timing.timed_calls(cpu.forest.factor, "propose", timing.host_time) as times:
        for _ in range(1 + repeats):
            propose_factor(graph, **options)
    return float(statistics.median(times[1:])) / 1e3


def _walk_seconds(neighbors: Array, values: Array, repeats: int) -> float:
    """Seconds of one thread of the CPU that walks along all paths and breaks the cycles."""
    samples = []
    for _ in range(1 + repeats):
        arrays = neighbors.copy(), values.copy(), None
        walk = partial(cpu.forest.linear_forest.linear_forest, *arrays, in_place=True)
        samples.append(timing.host_time(walk)[0])
    return statistics.median(samples[1:]) / 1e3


def _stages(A: SparseMatrix) -> dict[str, float]:
    """Milliseconds of each stage of one setup on the CPU."""
    times: dict[str, float] = {}

    def timed(stage: str, call: Callable[[], Any]) -> Any:
        times[stage], answer = timing.host_time(call)
        return answer

    csr, graph = timed("gate", lambda: ((csr := as_csr(A)), as_graph(csr)))
    factor = timed("factor", lambda: _factor(graph))
    with timing.timed_calls(linear_forest, "order_paths", timing.host_time) as ordering:
        forest = timed("cycles and paths", lambda: linear_forest.break_cycles(factor, in_place=True))
    times["ordering"] = ordering[0]
    times["cycles and paths"] -= ordering[0]
    values = forest.values if graph.values_are_matrix else None
    bands = timed("bands", lambda: copy_bands(csr, forest, values, forest.slots))
    timed("factorization", lambda: solver_of(bands))
    return times


def _on_gpu(A: Any) -> JsonObject:
    xp = backend_of(A).xp
    x = xp.ones(A.shape[0])
    graph = as_graph(A)
    propositions = {
        str(n): statistics.median(launches.proposition_samples(graph, n, QUEUED_REPEATS)) / 1e3
        for n in DEGREES
    }
    walk = None
    if A.shape[0] <= MOST_WALKED_VERTICES:
        factor = _factor(graph)
        walk = _walk_seconds(xp.asnumpy(factor.neighbors), xp.asnumpy(factor.values), REPEATS)
        del factor
    del graph
    options: dict[str, Any] = {"iterations": ITERATIONS}
    launches.breakdown_samples(A, timing.WARM_CALLS, **options)
    parts = launches.breakdown_samples(A, CHAIN_REPEATS, **options)
    _, bands = tridiagonal_bands(A, **options)
    parts["factorization"] = timing.device_samples(lambda: solver_of(bands), CHAIN_REPEATS)
    stages = {part: statistics.median(samples) / 1e3 for part, samples in parts.items()}
    spmv = timing.device_samples(lambda: A @ x, QUEUED_REPEATS, queued=True)
    copies = timing.copy_bandwidths(COPIED_BYTES["cuda"], QUEUED_REPEATS)
    return {
        "spmv_seconds": statistics.median(spmv) / 1e3,
        "copy_gb_per_s": statistics.median(copies),
        "propositions": propositions,
        "sequential_scan_seconds": walk,
        "scan_seconds": stages.get("path scan", 0.0) + stages.get("cycle scan", 0.0),
        "stages": stages,
        "threads": None,
    }
