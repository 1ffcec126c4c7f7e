"""Times of the kernel launches of a setup on the GPU, by CUDA events and by the kernels' own clocks."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from linforest_precond.backends.annotations import SparseMatrix
from linforest_precond.graph.forest import linear_forest
from linforest_precond.graph.forest.factor import check_options, propose_factor
from linforest_precond.graph.forest.pipeline import tridiagonal_bands
from linforest_precond.matrix.graphs import Graph
from linforest_precond.study import timing
from linforest_precond.study.forests import recording


def proposition_samples(graph: Graph, n: int, repeats: int) -> list[float]:
    """Milliseconds of the first proposition, by the kernel's own clock."""
    options = check_options(n, iterations=1)
    for _ in range(timing.WARM_CALLS):
        propose_factor(graph, options)
    logs = [recorded(partial(propose_factor, graph, options)) for _ in range(repeats)]
    return [recording.first_proposition(read(log)) for log in logs]


def breakdown_samples(A: SparseMatrix, repeats: int, **options: Any) -> dict[str, list[float]]:
    """Milliseconds of each part of the setup from a matrix to its bands."""
    files = recording.kernel_files()
    runs = []
    for _ in range(repeats):
        log = recorded(partial(tridiagonal_bands, A, **options))
        entries = read(log)
        _, total = entries.pop()  # the whole call
        runs.append(recording.breakdown(entries, total, files))
    return {part: [run.get(part, 0.0) for run in runs] for part in runs[0]}


def scan_step_samples(label: Callable[[], Any], repeats: int) -> dict[str, list[list[float]]]:
    """Milliseconds of each launch of a step of the bidirectional scans, for each of `repeats` runs."""
    label()
    runs = []
    for _ in range(repeats):
        timing.occupy()  # the host runs ahead, so that no launch waits for it
        runs.append(read(recorded(label)))
    return {kind: [recording.times_of(run, step) for run in runs] for kind, step in recording.STEPS.items()}


def recorded(call: Callable[[], Any]) -> Any:
    """The log of a call's launches, and as its last entry the call itself.

    The ordering gets an entry as a whole: CuPy's own kernels, as those of the radix sort, are not recorded.
    """
    from linforest_precond.backends.cuda.runtime import launches

    with launches.recording() as log:

        def logged(call: Callable[[], Any]) -> tuple[None, Any]:
            events, ordering = timing.between_events(call)
            log.append((recording.ORDERING, *events))
            return None, ordering

        with timing.timed_calls(linear_forest, "order_paths", logged):
            events, _ = timing.between_events(call)
        log.append(("call", *events))
    return log


def read(log: list[Any]) -> list[Any]:
    """The log with milliseconds in place of events."""
    import cupy

    from linforest_precond.backends.cuda.forest import factor

    cupy.cuda.Device().synchronize()
    return recording.read(log, factor.RECORD, timing.milliseconds, cupy.asnumpy)
