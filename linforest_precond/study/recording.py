"""What the time of a chain went to, from the recording of its launches and the kernels' own clocks."""

from __future__ import annotations

import re
from collections import defaultdict
from pathlib import Path

KERNELS = Path(__file__).resolve().parent.parent / "backends" / "cuda" / "kernels"
# `extern "C" __global__ void __launch_bounds__(256, sizeof(INDEX)) name(`
BOUNDS = r"__launch_bounds__\((?:[^()]|\([^()]*\))*\)\s*"
DEFINITION = re.compile(rf"__global__\s+void\s+(?:{BOUNDS})?(\w+)\s*\(")

# The parts of the chain, as in figure 6 of Klein & Strzodka; the rest is stalls, clearing and launches.
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
# Its kernels run inside the span that covers CuPy's sum over the lengths too.
ORDERING = "ordering"


def kernel_files(folder=KERNELS) -> dict[str, str]:
    """The file that each kernel is defined in."""
    folder = Path(folder)
    programs = {path.relative_to(folder).with_suffix("").as_posix(): path for path in folder.rglob("*.cu")}
    texts = {name: path.read_text(encoding="utf-8") for name, path in sorted(programs.items())}
    return {kernel: file for file, text in texts.items() for kernel in DEFINITION.findall(text)}


def read(log, columns, elapsed, host) -> list[tuple]:
    """The log with numbers for events and arrays: (kernel, milliseconds), or (note, {column: numbers}).

    `columns` names the counters of an iteration, `elapsed` gives the milliseconds between two events, `host`
    the numbers of a device array. Iterations that were not made are left out.
    """
    entries = []
    for name, first, second in log:
        if second is not None:
            entries.append((name, elapsed(first, second)))
            continue
        made = [counters for counters in host(first).tolist() if counters[columns.index("confirmed_at")]]
        entries.append((name, dict(zip(columns, zip(*made))) if made else {}))
    return entries


def halves(launch, counters) -> tuple[float, float]:
    """Milliseconds of the propositions and of the confirmations of one launch that took `launch`."""
    if not counters:
        return launch, 0.0
    confirming = _between(counters, "proposed_at", "confirmed_at")
    if "started_at" not in counters:
        return launch - confirming, confirming
    return _between(counters, "started_at", "proposed_at"), confirming


def _between(counters, first, second):
    """The nanoseconds from one mark to the next, summed over the iterations, as milliseconds."""
    return sum(b - a for a, b in zip(counters[first], counters[second])) / 1e6


def first_proposition(entries) -> float:
    """Milliseconds of the proposition of a factor that was made with one iteration."""
    launch, counters = next(entry for entry in _with_counters(entries) if entry[1] is not None)
    return halves(launch, counters)[0]


def _with_counters(entries):
    """(milliseconds, counters) of each launch; counters that follow a launch are its own."""
    for (_, time), following in zip(entries, [*entries[1:], (None, None)]):
        if not isinstance(time, dict):
            yield time, following[1] if isinstance(following[1], dict) else None


def breakdown(entries, total, files) -> dict[str, float]:
    """Milliseconds of every part of a chain that took `total`; `files` names each kernel's file."""
    parts = defaultdict(float)
    scans = 0
    launches = [name for name, time in entries if not isinstance(time, dict)]
    for name, (time, counters) in zip(launches, _with_counters(entries)):
        file = files.get(name)
        if counters is not None:
            proposing, confirming = halves(time, counters)
            parts["proposals"] += proposing
            parts["confirmations"] += confirming
        elif file == "forest/linear_forest":
            # The first scan numbers all paths; what follows is there for the cycles alone.
            parts["cycle scan" if scans else "path scan"] += time
            scans += 1
        elif name == ORDERING:
            parts[ORDERING] += time
        elif file != ORDERING:
            parts[PART_OF_FILE.get(file, "other kernels")] += time
    parts["rest"] = max(0.0, total - sum(parts.values()))
    return {part: parts[part] for part in PARTS if part in parts}
