"""The tables of the report, for ``templates/matching.html``."""

from __future__ import annotations

from linforest_precond.study.matching import plots
from linforest_precond.study.matching.findings import average
from linforest_precond.study.matching.measures import METHODS
from linforest_precond.study.number_formats import count, difference, digits3, fixed, seconds
from linforest_precond.study.published import matching_numbers
from linforest_precond.study.report_tables import Cell, Row, matrix_rows
from linforest_precond.study.results import JsonObject, done

# The ratios of figure 5 by their keys, then the share of our own methods.
RATIOS = {
    "size": "Size: random / Alg. 1",
    "gain": "Weight: weighted / Alg. 1",
    "greedy": "Weight: weighted / Alg. 2",
    "serial": "Weight: Alg. 1 / Alg. 2",
}
DOMINANT = {"locally_dominant": "Locally dominant / Alg. 2", "suitor": "Suitor / Alg. 2"}
SEQUENTIAL = {"serial_random": "Alg. 1 random", "serial_weighted": "Alg. 1 weighted", "greedy": "Alg. 2"}
SPEEDUPS = {"random": "Speedup random", "weighted": "Speedup weighted", "weighted_greedy": "Over Alg. 2"}


def report(study: JsonObject) -> JsonObject:
    """What the template shows."""
    quality = [_quality_row(case) for case in done(study, "quality")]
    return {
        "plots": plots,
        "published": matching_numbers(),
        "matrices": matrix_rows(study),
        "quality": [*quality, _averages(study)] if quality else [],
        "times": [_time_row(case) for case in done(study, "times")],
        "threads": max((case["times"]["threads"] for case in done(study, "times")), default=None),
    }


def _quality_row(case: JsonObject) -> Row:
    found = case["quality"]
    row: Row = {"Matrix": case, "Edges": count(found["edges"])}
    for key, name in RATIOS.items():
        row[name] = f"{fixed(found[key], 3)} ± {fixed(found[f'{key}_deviation'], 3)}"
    return row | {name: fixed(found["dominant"][key], 3) for key, name in DOMINANT.items()}


def _averages(study: JsonObject) -> Row:
    known = matching_numbers()
    paper = {"gain": known["gain"], "greedy": known["greedy"], "serial": known["greedy"] / known["gain"]}
    row: Row = {"Matrix": Cell("average", best=True), "Edges": ""}
    for key, name in RATIOS.items():
        value = average(study, key)
        if key not in paper or value is None:
            row[name] = Cell(fixed(value, 3), f"> {known['size']}")
        else:
            row[name] = Cell(fixed(value, 3), fixed(paper[key], 2), difference(value - paper[key], 2))
    return row | dict.fromkeys(DOMINANT.values(), "")


def _time_row(case: JsonObject) -> Row:
    found = case["times"]
    columns = SEQUENTIAL | {name: plots.NAMES[name] for name in METHODS}
    return {
        "Matrix": case,
        "Vertices": count(found["vertices"]),
        "Edges": count(found["edges"]),
        **{name: seconds(found["seconds"][key]) for key, name in columns.items()},
        **{name: digits3(found["speedups"][key]) for key, name in SPEEDUPS.items()},
    }
