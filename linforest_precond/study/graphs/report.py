"""The tables of the report, for ``templates/graphs.html``."""

from __future__ import annotations

from itertools import groupby

from linforest_precond.study.graphs import plots
from linforest_precond.study.graphs.families import FAMILIES
from linforest_precond.study.graphs.tables import DEVICES, DEVICES_IN_WORDS, TimedAlgorithm, rows_of
from linforest_precond.study.number_formats import count, seconds
from linforest_precond.study.report_tables import Cell, Row, matrix_rows
from linforest_precond.study.results import JsonObject

# The heading of the number that describes an answer; "components" for other families.
ANSWERS = {"independent_sets": "vertices", "spanning_forests": "weight"}


def report(study: JsonObject) -> JsonObject:
    """What the template shows."""
    return {
        "plots": plots,
        "families": FAMILIES,
        "matrices": matrix_rows(study),
        "fastest": {part: DEVICES_IN_WORDS[plots.fastest_device(rows_of(study, part))] for part in FAMILIES},
        "times": {part: _time_rows(study, part) for part in FAMILIES},
        "threads": max((each.threads for each in rows_of(study)), default=None),
    }


def _time_rows(study: JsonObject, part: str) -> list[Row]:
    """A row for each graph, with all algorithms of a family."""
    timed = rows_of(study, part)
    devices = [device for device in DEVICES if any(each.seconds(device) is not None for each in timed)]
    found: list[Row] = []
    for _, group in groupby(timed, key=lambda each: str(each.case["name"])):
        algorithms = list(group)
        row: Row = {"Density": f"{algorithms[0].density:.3g}", "Vertices": count(algorithms[0].size)}
        for each in algorithms:
            title = each.algorithm.title
            row |= {(title, DEVICES[device]): _time(each, device) for device in devices}
            row[title, ANSWERS.get(part, "components")] = _answer(each)
        found.append(row)
    return found


def _time(each: TimedAlgorithm, device: str) -> Cell:
    theirs = each.paper_seconds(device)
    return Cell(seconds(each.seconds(device)), None if theirs is None else seconds(theirs))


def _answer(each: TimedAlgorithm) -> Cell:
    """The number that describes the answer, marked where a checker or another device disagrees."""
    wrong = not each.found.get("valid") or not each.found.get("same")
    text = count(each.found.get("size"))
    return Cell(f"{text} (invalid)" if wrong else text, departs=wrong)
