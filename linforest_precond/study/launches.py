"""What the launches of a chain take on the GPU: by events around them, and by the kernels' own clocks."""

from __future__ import annotations

from functools import partial

from linforest_precond.graph.forest import linear_forest
from linforest_precond.graph.forest.factor import check_options, propose_factor
from linforest_precond.pipeline import tridiagonal_bands
from linforest_precond.study import recording, timing


def proposition_samples(graph, n, repeats) -> list[float]:
    """Milliseconds of the first proposition, by the kernel's own clock."""
    options = check_options(n, 1, 5, 0, 0.5, 0)
    for _ in range(timing.WARM_CALLS):
        propose_factor(graph, **options)
    logs = [recorded(partial(propose_factor, graph, **options)) for _ in range(repeats)]
    return [recording.first_proposition(read(log)) for log in logs]


def breakdown_samples(A, repeats, **options) -> dict[str, list[float]]:
    """Milliseconds of each part of the chain from a matrix to its bands."""
    files = recording.kernel_files()
    runs = []
    for _ in range(repeats):
        log = recorded(partial(tridiagonal_bands, A, **options))
        entries = read(log)
        _, total = entries.pop()  # the whole call is the last to end
        runs.append(recording.breakdown(entries, total, files))
    return {part: [run.get(part, 0.0) for run in runs] for part in runs[0]}


def recorded(call):
    """The log of a call's launches, and of the call itself at the end.

    The ordering is marked as a whole: CuPy's own kernels are not in the log.
    """
    from linforest_precond.backends.cuda.runtime import launch

    with launch.recording() as log:

        def marked(call):
            marks, ordering = timing.span(call)
            log.append((recording.ORDERING, *marks))
            return None, ordering

        with timing.watched(linear_forest, "order_paths", marked):
            marks, _ = timing.span(call)
        log.append(("call", *marks))
    return log


def read(log):
    """The log in numbers."""
    import cupy

    from linforest_precond.backends.cuda.forest import factor

    cupy.cuda.Device().synchronize()
    return recording.read(log, factor.RECORD, timing.milliseconds, cupy.asnumpy)
