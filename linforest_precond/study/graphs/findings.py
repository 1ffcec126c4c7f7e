"""The main results as sentences, computed from the numbers of the study."""

from __future__ import annotations

from linforest_precond.study.graphs.families import FAMILIES
from linforest_precond.study.graphs.plots import fastest_device
from linforest_precond.study.graphs.tables import DEVICES, DEVICES_IN_WORDS, TimedAlgorithm, median, rows_of
from linforest_precond.study.number_formats import count, digits3, seconds
from linforest_precond.study.paper import Finding
from linforest_precond.study.published import graph_times
from linforest_precond.study.results import JsonObject


def findings(study: JsonObject) -> list[Finding]:
    """The main findings, none for parts that were not run."""
    makers = (_validity, _components, _strong, _sets, _forests, _threads, _thesis)
    return [finding for maker in makers if (finding := maker(study))]


def _validity(study: JsonObject) -> Finding | None:
    rows = rows_of(study)
    if not rows:
        return None
    valid = sum(bool(row.found.get("valid") and row.found.get("same")) for row in rows)
    text = (
        f"{count(valid)} of {count(len(rows))} answers pass the checkers, with the same bits on every device"
    )
    return Finding("Validity", f"{text}.")


def _quotient(study: JsonObject, part: str, slow: str, fast: str) -> tuple[float, str] | None:
    """The median of the quotient of two algorithms' times on the fastest device, and its name."""
    rows = {key: rows_of(study, part, key) for key in (slow, fast)}
    device = fastest_device(rows[fast])
    pairs = [
        (one.seconds(device), other.seconds(device))
        for one, other in zip(rows[slow], rows[fast], strict=True)
    ]
    found = median(a / b for a, b in pairs if a and b)
    return None if found is None else (found, DEVICES_IN_WORDS[device])


def _components(study: JsonObject) -> Finding | None:
    found = _quotient(study, "components", "fastsv", "union")
    if found is None:
        return None
    times, where = found
    return Finding("Components", f"Afforest takes 1/{digits3(times)} of the time of FastSV {where} (median).")


def _strong(study: JsonObject) -> Finding | None:
    found = _quotient(study, "strong", "coloring", "auto")
    if found is None:
        return None
    times, where = found
    text = f"The forward-backward search takes {digits3(times)} times as long as our default {where}"
    return Finding("Strong components", f"{text} (median); one pivot finds the only large component.")


def _sets(study: JsonObject) -> Finding | None:
    rows = [row for row in rows_of(study, "independent_sets") if row.algorithm.thesis]
    longest = max(
        (value for row in rows for device in DEVICES if (value := row.seconds(device))), default=None
    )
    if longest is None:
        return None
    theirs = max(max(times) for key, times in graph_times().items() if key.algorithm == "MIS_opt3")
    text = f"No variant of Luby's algorithm takes longer than {seconds(longest)} here"
    return Finding("Independent sets", f"{text}; MIS_opt3 took the thesis up to {seconds(theirs)} on a CPU.")


def _forests(study: JsonObject) -> Finding | None:
    rows = rows_of(study, "spanning_forests", "awerbuch_shiloach")
    if not rows:
        return None
    weights = {(row.case["name"], row.found["size"]) for row in rows_of(study, "spanning_forests")}
    same = len(weights) == len(rows)
    agree = "gives the forest of Kruskal and Borůvka" if same else "gives another forest than the others"
    text = f"Awerbuch and Shiloach's algorithm ends on every graph ({len(rows)}) and {agree}"
    return Finding("Spanning forests", f"{text}; the implementations of the thesis need not end.")


def _threads(study: JsonObject) -> Finding | None:
    speedups = {
        algorithm.title: found
        for part, family in FAMILIES.items()
        for algorithm in family.algorithms
        if (found := median(row.speedup("host", "cpu") for row in rows_of(study, part, algorithm.key)))
    }
    if not speedups:
        return None
    best = max(speedups, key=lambda name: speedups[name])
    threads = max(row.threads for row in rows_of(study))
    text = f"{threads} threads are up to {digits3(speedups[best])} times as fast as one (median, {best})"
    return Finding("Threads", f"{text}.")


def _thesis(study: JsonObject) -> Finding | None:
    quotients = {device: median(_faster(row, device) for row in rows_of(study)) for device in DEVICES}
    known = [
        f"{digits3(value)} on {DEVICES[device]}" for device, value in quotients.items() if value is not None
    ]
    if not known:
        return None
    text = "The published times are longer by these factors (medians over algorithms and graphs)"
    slower = _slower(study)
    rest = f" Longer here in the median: {', '.join(slower)}." if slower else ""
    return Finding("Against the thesis", f"{text}: {', '.join(known)}; the machines differ.{rest}")


def _slower(study: JsonObject) -> list[str]:
    """The algorithms that take longer here than in the thesis, with factors."""
    found = []
    for part, family in FAMILIES.items():
        for algorithm in family.algorithms:
            for device, name in DEVICES.items():
                faster = median(_faster(row, device) for row in rows_of(study, part, algorithm.key))
                if faster is not None and faster < 1:
                    found.append(f"{algorithm.title} on {name} ({digits3(1 / faster)} times)")
    return found


def _faster(row: TimedAlgorithm, device: str) -> float | None:
    ours, theirs = row.seconds(device), row.paper_seconds(device)
    return theirs / ours if ours and theirs else None
