"""Times of a setup by stage, from the log of its kernel launches, CUDA events and the kernels' own clocks."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

from linforest_precond.backends.annotations import Array, SparseMatrix
from linforest_precond.graph.forest import linear_forest
from linforest_precond.graph.forest.factor import check_options, propose_factor
from linforest_precond.graph.forest.pipeline import tridiagonal_bands
from linforest_precond.matrix.graphs import Graph
from linforest_precond.study import timing

# The values of all iterations in a launch of the factor kernel, by the names of its columns.
IterationRecord: TypeAlias = dict[str, tuple[int, ...]]
Entry: TypeAlias = tuple[str, float | IterationRecord]

KERNELS = Path(__file__).resolve().parents[2] / "backends" / "cuda" / "kernels"
# `KERNEL __launch_bounds__(256, sizeof(INDEX)) name(`, or a macro in place of the bounds.
BOUNDS = r"(?:__launch_bounds__\((?:[^()]|\([^()]*\))*\)|[A-Z_]+)\s*"
DEFINITION = re.compile(rf"^KERNEL\s+(?:{BOUNDS})?(\w+)\s*\(", re.MULTILINE)

# The parts of a setup, as in figure 6 of Klein & Strzodka; the rest is device-to-host reads, memsets and
# launch latency.
PARTS = (
    "gate",
    "proposals",
    "confirmations",
    "path scan",
    "cycle scan",
    "ordering",
    "extraction",
    "other kernels",
    "rest",
)
PART_OF_FILE = {
    "matrix/entries": "gate",
    "matrix/sums": "gate",
    "matrix/long_row_split": "proposals",
    "forest/factor": "proposals",
    "forest/bands": "extraction",
}
# The kernels of the scan that breaks cycles, and the step kernels of both scans.
CYCLE_SCAN = ("begin_cycle_scan", "cycle_scan_step", "cut_weakest_edges")
STEPS = {"cycles": "cycle_scan_step", "paths": "path_scan_step"}
# The log has one entry for the whole ordering; the kernels in these files are part of it.
ORDERING, ORDERING_FILES = "ordering", ("forest/ordering", "runtime/prefix_sum")


def kernel_files() -> dict[str, str]:
    """The file that defines each kernel."""
    programs = {path.relative_to(KERNELS).with_suffix("").as_posix(): path for path in KERNELS.rglob("*.cu")}
    texts = {name: path.read_text(encoding="utf-8") for name, path in sorted(programs.items())}
    return {kernel: file for file, text in texts.items() for kernel in DEFINITION.findall(text)}


def read(
    log: Iterable[tuple[str, Any, Any]],
    columns: Sequence[str],
    elapsed: Callable[[Any, Any], float],
    host: Callable[[Any], Array],
) -> list[Entry]:
    """The log as numbers: (kernel, milliseconds), or (name, {column: values of all iterations}).

    `columns` names what a kernel records in each iteration, `elapsed` gives the milliseconds between two
    events, `host` copies a device array. Iterations that did not run are left out.
    """
    entries: list[Entry] = []
    for name, first, second in log:
        if second is not None:
            entries.append((name, elapsed(first, second)))
            continue
        ran = [record for record in host(first).tolist() if record[columns.index("confirmed_at")]]
        entries.append((name, dict(zip(columns, zip(*ran))) if ran else {}))
    return entries


def propose_confirm_times(launch: float, record: IterationRecord) -> tuple[float, float]:
    """Milliseconds of the propositions and of the confirmations in one launch that took `launch`."""
    if not record:
        return launch, 0.0
    confirming = _between(record, "proposed_at", "confirmed_at")
    if "started_at" not in record:
        return launch - confirming, confirming
    return _between(record, "started_at", "proposed_at"), confirming


def _between(record: IterationRecord, first: str, second: str) -> float:
    """Milliseconds between two times in nanoseconds, summed over the iterations."""
    return sum(b - a for a, b in zip(record[first], record[second])) / 1e6


def first_proposition(entries: list[Entry]) -> float:
    """Milliseconds of the proposition of a factor with one iteration."""
    launches = ((time, record) for _, time, record in _launches(entries) if record is not None)
    return propose_confirm_times(*next(launches))[0]


def times_of(entries: list[Entry], kernel: str) -> list[float]:
    """Milliseconds of each launch of a kernel."""
    return [time for name, time, _ in _launches(entries) if name == kernel]


def _launches(entries: list[Entry]) -> Iterator[tuple[str, float, IterationRecord | None]]:
    """(name, milliseconds, record) of each launch; a record is logged directly after its launch."""
    for (name, time), (_, following) in zip(entries, [*entries[1:], ("", 0.0)]):
        if not isinstance(time, dict):
            yield name, time, following if isinstance(following, dict) else None


def breakdown(entries: list[Entry], total: float, files: dict[str, str]) -> dict[str, float]:
    """Milliseconds of every part of a setup that took `total`; `files` gives each kernel's file."""
    parts: defaultdict[str, float] = defaultdict(float)
    scans = 0
    for name, time, record in _launches(entries):
        file = files.get(name, "")
        if record is not None:
            proposing, confirming = propose_confirm_times(time, record)
            parts["proposals"] += proposing
            parts["confirmations"] += confirming
        elif file == "forest/linear_forest":
            # The first scan numbers all paths; further ones deal with cycles only.
            parts["cycle scan" if scans else "path scan"] += time
            scans += 1
        elif file == "forest/bidirectional_scan":
            parts["cycle scan" if name in CYCLE_SCAN else "path scan"] += time
        elif name == ORDERING:
            parts[ORDERING] += time
        elif file not in ORDERING_FILES:
            parts[PART_OF_FILE.get(file, "other kernels")] += time
    parts["rest"] = max(0.0, total - sum(parts.values()))
    return {part: parts[part] for part in PARTS if part in parts}


def proposition_samples(graph: Graph, n: int, repeats: int) -> list[float]:
    """Milliseconds of the first proposition, by the kernel's own clock."""
    options = check_options(n, iterations=1)
    for _ in range(timing.WARM_CALLS):
        propose_factor(graph, options)
    logs = [recorded(partial(propose_factor, graph, options)) for _ in range(repeats)]
    return [first_proposition(read_on_device(log)) for log in logs]


def breakdown_samples(A: SparseMatrix, repeats: int, **options: Any) -> dict[str, list[float]]:
    """Milliseconds of each part of the setup from a matrix to its bands."""
    files = kernel_files()
    runs = []
    for _ in range(repeats):
        log = recorded(partial(tridiagonal_bands, A, **options))
        entries = read_on_device(log)
        _, total = entries.pop()  # the whole call
        runs.append(breakdown(entries, total, files))
    return {part: [run.get(part, 0.0) for run in runs] for part in runs[0]}


def scan_step_samples(label: Callable[[], Any], repeats: int) -> dict[str, list[list[float]]]:
    """Milliseconds of each launch of a step of the bidirectional scans, for each of `repeats` runs."""
    label()
    runs = []
    for _ in range(repeats):
        timing.occupy()  # the host runs ahead, so that no launch waits for it
        runs.append(read_on_device(recorded(label)))
    return {kind: [times_of(run, step) for run in runs] for kind, step in STEPS.items()}


def recorded(call: Callable[[], Any]) -> Any:
    """The log of a call's launches, and as its last entry the call itself.

    The ordering gets an entry as a whole: CuPy's own kernels, as those of the radix sort, are not recorded.
    """
    from linforest_precond.backends.cuda.runtime import launches

    with launches.recording() as log:

        def logged(call: Callable[[], Any]) -> tuple[None, Any]:
            events, ordering = timing.between_events(call)
            log.append((ORDERING, *events))
            return None, ordering

        with timing.timed_calls(linear_forest, "order_paths", logged):
            events, _ = timing.between_events(call)
        log.append(("call", *events))
    return log


def read_on_device(log: list[Any]) -> list[Any]:
    """The log as numbers, after all launches have ended."""
    import cupy

    from linforest_precond.backends.cuda.forest import factor

    cupy.cuda.Device().synchronize()
    return read(log, factor.RECORD, timing.milliseconds, cupy.asnumpy)
