"""Times of the stages of a setup on the GPU, in single precision; propositions in double precision, too."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from linforest_precond.backends.annotations import SparseMatrix
from linforest_precond.backends.array_libraries import xp_of
from linforest_precond.graph.forest.pipeline import tridiagonal_bands
from linforest_precond.matrix.checked import checked
from linforest_precond.precond.tridiagonal.solver import solver_of
from linforest_precond.records.forest import Factor
from linforest_precond.study import timing
from linforest_precond.study.forests import host_performance, recording
from linforest_precond.study.forests.counted_times import (
    propositions,
    scan_bytes,
    spmv_record,
    throughput,
    two_factor,
)
from linforest_precond.study.forests.coverage import ITERATIONS
from linforest_precond.study.results import JsonObject

SINGLE, PRECISIONS = "float32", ("float32", "float64")
# Repeats of short calls, of whole setups, and of Algorithm 3 with a time for each launch.
QUEUED_REPEATS, CHAIN_REPEATS, SCAN_REPEATS = 50, 20, 5
PROPOSITION_REPEATS = 20
COPIED_BYTES = 2**29
# Graphs with more vertices are not scanned sequentially: one thread takes too long.
MOST_WALKED_VERTICES = 2**25
HOST_REPEATS = 3


def measured(A: Any, ways: dict[str, JsonObject]) -> JsonObject:
    """The times of all parts."""
    spmv, timed_propositions = {}, []
    for precision in PRECISIONS:
        B = A.astype(precision)
        spmv[precision] = spmv_record(B, _spmv_seconds(B)) | {"srcsr": spmv_record(B, _srcsr_seconds(B))}
        timed_propositions += propositions(checked(B).graph, PROPOSITION_REPEATS)
    B = A.astype(SINGLE)
    factor = two_factor(checked(B).graph, **ways["paper"])
    found = {
        "precision": SINGLE,
        "spmv": spmv,
        "copy_gb_per_s": statistics.median(timing.copy_bandwidths(COPIED_BYTES, QUEUED_REPEATS)),
        "propositions": timed_propositions,
        "scans": {"seconds": _scan_seconds(factor), "launches": _launch_throughputs(factor)},
        "sequential_scan_seconds": _walk_seconds(factor),
        "orderings": _ordering_seconds(factor),
        "threads": None,
    }
    del factor
    return found | {"stages": {way: _stages(B, options) for way, options in ways.items()}}


def _median_seconds(call: Callable[[], Any], repeats: int, **options: Any) -> float:
    return statistics.median(timing.device_samples(call, repeats, **options)) / 1e3


def _spmv_seconds(A: SparseMatrix) -> float:
    """cuSPARSE's d = A x + d, without its setup."""
    import cupy
    from cupyx import cusparse

    x, d = cupy.ones(A.shape[0], A.dtype), cupy.zeros(A.shape[0], A.dtype)
    return _median_seconds(partial(cusparse.spmv, A, x, y=d, beta=1.0), QUEUED_REPEATS, queued=True)


def _srcsr_seconds(A: SparseMatrix) -> float:
    """The same by segmented reduction."""
    import cupy

    from linforest_precond.backends.cuda.krylov.segmented_spmv import SegmentedProduct

    x, d = cupy.ones(A.shape[0], A.dtype), cupy.zeros(A.shape[0], A.dtype)
    return _median_seconds(partial(SegmentedProduct(A).add_to, d, x), QUEUED_REPEATS, queued=True)


def _scan_seconds(factor: Factor) -> dict[str, float]:
    """Breaking the cycles and labelling the paths, from an idle device, by both methods."""
    forest = factor.backend.forest
    rooms = {"bidirectional_scan": forest.bidirectional_scan, "list_ranking": forest.linear_forest}
    return {name: _labelling_seconds(room, factor) for name, room in rooms.items()}


def _labelling_seconds(room: Any, factor: Factor) -> float:
    arrays = factor.neighbors.copy(), factor.values.copy(), None

    def restore() -> None:
        arrays[0][...], arrays[1][...] = factor.neighbors, factor.values

    label = partial(room.linear_forest, *arrays, in_place=True)
    return _median_seconds(label, CHAIN_REPEATS, before=restore)


def _launch_throughputs(factor: Factor) -> dict[str, list[float]]:
    """Figure 5: GB/s of each launch of a step, the median of several runs."""
    index, value = factor.neighbors.dtype.itemsize, factor.values.dtype.itemsize
    counted = scan_bytes(factor.neighbors.shape[0], index, value)
    scan = factor.backend.forest.bidirectional_scan.linear_forest
    label = partial(scan, factor.neighbors, factor.values, None)
    steps = recording.scan_step_samples(label, SCAN_REPEATS)
    return {
        kind: [throughput(counted[kind], statistics.median(samples) / 1e3) for samples in zip(*runs)]
        for kind, runs in steps.items()
    }


def _walk_seconds(factor: Factor) -> float | None:
    if factor.neighbors.shape[0] > MOST_WALKED_VERTICES:
        return None
    from linforest_precond.backends.cpu.forest import linear_forest

    xp = xp_of(factor.neighbors)
    arrays = xp.asnumpy(factor.neighbors), xp.asnumpy(factor.values)
    return host_performance.scan_seconds(linear_forest, *arrays, HOST_REPEATS)


def _ordering_seconds(factor: Factor) -> dict[str, float]:
    forest = factor.backend.forest
    found = forest.linear_forest.linear_forest(factor.neighbors, factor.values, None)
    labels = found.path_id, found.position, found.lengths
    calls = {
        "radix_sort": partial(forest.linear_forest.order_by_radix_sort, *labels),
        "scan": partial(forest.linear_forest.order_by_scan, *labels),
    }
    return {name: _median_seconds(call, CHAIN_REPEATS) for name, call in calls.items()}


def _stages(A: SparseMatrix, way: JsonObject) -> dict[str, float]:
    """Figure 6: seconds of each part of a setup."""
    options = {"iterations": ITERATIONS, **way}
    recording.breakdown_samples(A, timing.WARM_CALLS, **options)
    parts = recording.breakdown_samples(A, CHAIN_REPEATS, **options)
    _, bands = tridiagonal_bands(A, **options)
    parts["factorization"] = timing.device_samples(lambda: solver_of(bands), CHAIN_REPEATS)
    return {part: float(np.median(samples)) / 1e3 for part, samples in parts.items()}
