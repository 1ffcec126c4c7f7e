"""The summary of the study: checked answers, comparisons of algorithms, threads, and the thesis' times."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TypeAlias

from linforest_precond.study.findings import Findings
from linforest_precond.study.graphs.graphs import graph_times
from linforest_precond.study.graphs.measures import FAMILIES, Algorithm
from linforest_precond.study.graphs.tables import (
    DEVICES,
    DEVICES_IN_WORDS,
    TimedAlgorithm,
    fastest_device,
    median,
    rows_of,
)
from linforest_precond.study.number_formats import count, digits3, listed, seconds
from linforest_precond.study.results import JsonObject

Pair: TypeAlias = tuple[TimedAlgorithm, TimedAlgorithm]

findings = Findings()


@findings.about("Graphs", rows_of)
def _graphs(rows: list[TimedAlgorithm]) -> str:
    """A run may have some problems on some graphs only."""
    parts = []
    for part, family in FAMILIES.items():
        cases = {row.case["name"]: row.case for row in rows if row.part == part}
        ours = sum(bool(case.get("paper")) for case in cases.values())
        if cases:
            parts.append(f"{family.title.lower()} on {len(cases)} ({ours} of the thesis)")
    return f"The problems were run on these numbers of graphs: {listed(parts)}."


@findings.about("Validity", rows_of)
def _validity(rows: list[TimedAlgorithm]) -> str:
    valid = sum(bool(row.found.get("valid") and row.found.get("same")) for row in rows)
    return (
        f"{count(valid)} of {count(len(rows))} answers pass the checkers, with the same bits on every device."
    )


def _quotient(study: JsonObject, part: str, slow: str, fast: str) -> tuple[str, str] | None:
    """The median of the quotient of two algorithms' times on the fastest device, and its name."""
    pairs = _pairs(study, part, slow, fast)
    device = fastest_device([fast for _, fast in pairs])
    found = _median_quotient(pairs, partial(TimedAlgorithm.seconds, device=device))
    return None if found is None else (digits3(found), DEVICES_IN_WORDS[device])


def _pairs(study: JsonObject, part: str, slow: str, fast: str) -> list[Pair]:
    """The rows of two algorithms on the same graphs."""
    others = {row.case["name"]: row for row in rows_of(study, part, fast)}
    rows = [row for row in rows_of(study, part, slow) if row.case["name"] in others]
    return [(row, others[row.case["name"]]) for row in rows]


def _median_quotient(pairs: list[Pair], seconds_of: Callable[[TimedAlgorithm], float | None]) -> float | None:
    times = [(seconds_of(slow), seconds_of(fast)) for slow, fast in pairs]
    return median(a / b for a, b in times if a and b)


@findings.about("Components")
def _components(study: JsonObject) -> str | None:
    found = _quotient(study, "components", "fastsv", "union")
    return found and f"Afforest takes 1/{found[0]} of the time of FastSV {found[1]} (median)."


@findings.about("Loops over vertices", lambda study: _pairs(study, "components", "fastsv_vertices", "fastsv"))
def _vertices(pairs: list[Pair]) -> str | None:
    """Figure 7.13 of the thesis."""
    ours, theirs = (
        {
            device: digits3(found)
            for device in DEVICES_IN_WORDS
            if (found := _median_quotient(pairs, partial(seconds_of, device=device))) is not None
        }
        for seconds_of in (TimedAlgorithm.seconds, TimedAlgorithm.paper_seconds)
    )
    here, there = (
        listed([f"{found} {DEVICES_IN_WORDS[device]}" for device, found in quotients.items()])
        for quotients in (ours, theirs)
    )
    known = f"; CC_base over CC_opt2 in the thesis: {there}" if there else ""
    return here and f"FastSV's time over vertices is that over edges multiplied by {here} (medians){known}."


@findings.about("Strong components")
def _strong(study: JsonObject) -> str | None:
    found = _quotient(study, "strong", "coloring", "auto")
    if found is None:
        return None
    text = f"The forward-backward search takes {found[0]} times as long as our default {found[1]}"
    return f"{text} (median); one pivot finds the only large component."


@findings.about("Independent sets")
def _sets(study: JsonObject) -> str | None:
    rows = [row for row in rows_of(study, "independent_sets") if row.algorithm.thesis]
    longest = max(
        (value for row in rows for device in DEVICES if (value := row.seconds(device))), default=None
    )
    if longest is None:
        return None
    theirs = max(max(times) for key, times in graph_times().items() if key.algorithm == "MIS_opt3")
    text = f"No variant of Luby's algorithm takes longer than {seconds(longest)} here"
    return f"{text}; MIS_opt3 took the thesis up to {seconds(theirs)} on a CPU."


@findings.about("Spanning forests", lambda study: rows_of(study, "spanning_forests"))
def _forests(rows: list[TimedAlgorithm]) -> str | None:
    ends = sum(row.algorithm.key == "awerbuch_shiloach" for row in rows)
    weights = {(row.case["name"], row.found["size"]) for row in rows}
    same = len(weights) == ends
    agree = "gives the forest of Kruskal and Borůvka" if same else "gives another forest than the others"
    text = f"Awerbuch and Shiloach's algorithm ends on every graph ({ends}) and {agree}"
    return f"{text}; the implementations of the thesis need not end."


@findings.about("Threads", rows_of)
def _threads(rows: list[TimedAlgorithm]) -> str | None:
    speedups = {
        algorithm.title: found
        for algorithm, own in _by_algorithm(rows).items()
        if (found := median(row.speedup("host", "cpu") for row in own))
    }
    if not speedups:
        return None
    best = max(speedups, key=lambda name: speedups[name])
    threads = max(row.threads for row in rows)
    return f"{threads} threads are up to {digits3(speedups[best])} times as fast as one (median, {best})."


def _by_algorithm(rows: list[TimedAlgorithm]) -> dict[Algorithm, list[TimedAlgorithm]]:
    found: dict[Algorithm, list[TimedAlgorithm]] = {}
    for row in rows:
        found.setdefault(row.algorithm, []).append(row)
    return found


@findings.about("Against the thesis", rows_of)
def _thesis(rows: list[TimedAlgorithm]) -> str | None:
    known = [
        f"{family.title.lower()} ({', '.join(factors)})"
        for part, family in FAMILIES.items()
        if (factors := factors_over_thesis([row for row in rows if row.part == part]))
    ]
    if not known:
        return None
    text = "The published times are longer by these factors (medians over a problem’s algorithms and graphs)"
    slower = _slower(rows)
    rest = f" Longer here in the median: {', '.join(slower)}." if slower else ""
    return f"{text}: {'; '.join(known)}; the machines differ.{rest}"


def factors_over_thesis(rows: list[TimedAlgorithm]) -> list[str]:
    """By how much the published times are longer, by device."""
    quotients = {device: median(_faster(row, device) for row in rows) for device in DEVICES}
    return [
        f"{digits3(value)} on {DEVICES[device]}" for device, value in quotients.items() if value is not None
    ]


def _slower(rows: list[TimedAlgorithm]) -> list[str]:
    """The algorithms that take longer here than in the thesis, with factors."""
    found = []
    for algorithm, own in _by_algorithm(rows).items():
        for device, name in DEVICES.items():
            faster = median(_faster(row, device) for row in own)
            if faster is not None and faster < 1:
                found.append(f"{algorithm.title} on {name} ({digits3(1 / faster)} times)")
    return found


def _faster(row: TimedAlgorithm, device: str) -> float | None:
    ours, theirs = row.seconds(device), row.paper_seconds(device)
    return theirs / ours if ours and theirs else None
