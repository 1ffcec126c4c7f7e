"""How fast the parts of a setup are: figures 3, 5 and 6 of the paper, in double precision."""

from __future__ import annotations

import statistics
from functools import partial
from typing import Any

from linforest_precond.backends import backend_of, cpu
from linforest_precond.gate import as_csr, as_graph
from linforest_precond.graph.forest import linear_forest
from linforest_precond.graph.forest.bands import copy_bands
from linforest_precond.graph.forest.factor import check_options, propose_factor
from linforest_precond.pipeline import tridiagonal_bands
from linforest_precond.precond.tridiagonal.solver import solver_of
from linforest_precond.records import Factor
from linforest_precond.study import launches, timing

DEGREES = (1, 2, 3, 4)
# As in figure 6.
ITERATIONS = 5
# Of every vertex a scan reads both neighbours and writes its path and its place on it.
WORDS_OF_A_SCAN = 4
# On the CPU; on the GPU, short calls and whole chains.
REPEATS, QUEUED_REPEATS, CHAIN_REPEATS = 5, 50, 20
# Larger matrices are measured once on the CPU.
MANY_ENTRIES = 20_000_000
COPIED_BYTES = {"cpu": 2**27, "cuda": 2**29}
# A walk by one thread is not waited for on more vertices.
MOST_WALKED_VERTICES = 2**25


def performance(A: Any) -> dict:
    """
    Time the steps from a matrix to its factored bands, medians of several runs.

    Returns
    -------
    dict
        ``spmv_seconds`` of ``A @ x`` by SciPy or cupyx; ``copy_gb_per_s``, read and written bytes counted;
        ``propositions``, the first one of a [0,n]-factor by n, when all vertices take part; ``scan``, which
        breaks the cycles and numbers the paths; ``sequential_scan_seconds``, the same by a walk along the
        paths on one thread of the CPU; ``setup``, stage by stage; ``setup_seconds``, their sum; ``threads``
        of the CPU that copy, product, propositions and scan, and all others, ran on.

    Notes
    -----
    A scan is counted at four indices a vertex, as if it read and wrote each once: both neighbours, path and
    position. It has to do that much; parallel ones come back to vertices and move more, so the speed that
    follows is what a scan achieves, not what the memory delivers. On the CPU, `A @ x`, copies, propositions
    and scans run on one thread, as SciPy's product does; the stages of the setup run on all.

    Examples
    --------
    >>> import linforest_precond as lf
    >>> from linforest_precond.study.performance import performance
    >>> found = performance(lf.matrices.aniso(2, 50))
    >>> [stage["stage"] for stage in found["setup"]]
    ['gate', 'factor', 'cycles and paths', 'ordering', 'bands', 'factorization']
    >>> found["scan"]["counted_bytes"]
    40000
    """
    device = backend_of(A).name
    bench = _on_gpu if device == "cuda" else _on_cpu
    found = bench(A)
    counted = WORDS_OF_A_SCAN * A.shape[0] * A.indices.dtype.itemsize
    scan = found.pop("scan_seconds")
    stages = found.pop("stages")
    return {
        **found,
        "scan": {"seconds": scan, "gb_per_s": counted / max(scan, 1e-9) / 1e9, "counted_bytes": counted},
        "setup": [{"stage": stage, "seconds": seconds} for stage, seconds in stages.items()],
        "setup_seconds": sum(stages.values()),
    }


def _on_cpu(A: Any) -> dict:
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


def _factor(graph: Any) -> Factor:
    return propose_factor(graph, **check_options(2, ITERATIONS, 5, 0, 0.5, 0))


def _proposition(graph: Any, n: int, repeats: int) -> float:
    """Seconds of the kernel that proposes, in the first iteration."""
    options = check_options(n, 1, 5, 0, 0.5, 0)
    with timing.watched(cpu.forest.factor, "propose", timing.host_time) as times:
        for _ in range(1 + repeats):
            propose_factor(graph, **options)
    return statistics.median(times[1:]) / 1e3


def _walk_seconds(neighbors: Any, values: Any, repeats: int) -> float:
    """Seconds of a walk along all paths that cuts the cycles on its way, by one thread of the CPU."""
    samples = []
    for _ in range(1 + repeats):
        arrays = neighbors.copy(), values.copy(), None
        samples.append(
            timing.host_time(partial(cpu.forest.linear_forest.linear_forest, *arrays, in_place=True))[0]
        )
    return statistics.median(samples[1:]) / 1e3


def _stages(A: Any) -> dict[str, float]:
    """Milliseconds of each stage of the setup, once, on the CPU."""
    times = {}

    def timed(stage, call):
        times[stage], answer = timing.host_time(call)
        return answer

    csr, graph = timed("gate", lambda: ((csr := as_csr(A)), as_graph(csr)))
    factor = timed("factor", lambda: _factor(graph))
    with timing.watched(linear_forest, "order_paths", timing.host_time) as ordering:
        found = timed("cycles and paths", lambda: linear_forest.break_cycles(factor, in_place=True))
    times["ordering"] = ordering[0]
    times["cycles and paths"] -= ordering[0]
    values = found.values if graph.values_are_matrix else None
    bands = timed("bands", lambda: copy_bands(csr, found, values, found.slots))
    timed("factorization", lambda: solver_of(bands))
    return times


def _on_gpu(A: Any) -> dict:
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
        walk = _walk_seconds(factor.neighbors.get(), factor.values.get(), REPEATS)
        del factor
    del graph
    options = {"iterations": ITERATIONS}
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
