"""The tables of the study: a row for each graph and algorithm, beside the published times."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable
from itertools import groupby
from typing import NamedTuple

from linforest_precond.study.graphs.graphs import GraphKey, GraphTimes, graph_times, sweep_of
from linforest_precond.study.graphs.measures import FAMILIES, Algorithm
from linforest_precond.study.listings import Cell, Row, Tables
from linforest_precond.study.number_formats import NONE, count, digits3, seconds
from linforest_precond.study.results import JsonObject, done

DEVICES = {"cpu": "CPU", "host": "HOST", "gpu": "GPU"}
DEVICES_IN_WORDS = {"gpu": "on the GPU", "host": "on all threads", "cpu": "on one thread"}

# (device, device of the base) of the speedups.
QUOTIENTS = (("host", "cpu"), ("gpu", "cpu"), ("gpu", "host"))
# The thesis' columns that compare two of them.
COMPARED = {"HOST over CPU": QUOTIENTS[0], "GPU over CPU": QUOTIENTS[1], "GPU over HOST": QUOTIENTS[2]}
PAPER_THREADS = 16
# The heading of the number that describes an answer; "components" for other families.
ANSWERS = {"independent_sets": "vertices", "spanning_forests": "weight"}

TABLES = Tables()


class TimedAlgorithm(NamedTuple):
    """One algorithm on one graph; `published` is None where the thesis has no such time."""

    case: JsonObject
    part: str
    algorithm: Algorithm
    density: float
    size: int
    threads: int
    found: JsonObject
    published: GraphTimes | None

    def seconds(self, device: str) -> float | None:
        value = self.found.get(device)
        return None if value is None else float(value)

    def paper_seconds(self, device: str) -> float | None:
        return None if self.published is None else float(getattr(self.published, device))

    def speedup(self, device: str, over: str) -> float | None:
        """The thesis' comparison of two devices: how many times as fast the first one is."""
        ours, other = self.seconds(device), self.seconds(over)
        return other / ours if ours and other else None

    def paper_speedup(self, device: str, over: str) -> float | None:
        ours, other = self.paper_seconds(device), self.paper_seconds(over)
        return other / ours if ours and other else None

    @property
    def thread_efficiency(self) -> float | None:
        """The speedup by threads, for each of them."""
        speedup = self.speedup("host", "cpu")
        return None if speedup is None else speedup / self.threads

    @property
    def paper_thread_efficiency(self) -> float | None:
        speedup = self.paper_speedup("host", "cpu")
        return None if speedup is None else speedup / PAPER_THREADS


def rows_of(study: JsonObject, part: str | None = None, key: str | None = None) -> list[TimedAlgorithm]:
    """The rows of a study, or of one family, or of one of its algorithms."""
    return [
        _row(case, name, algorithm)
        for name, family in FAMILIES.items()
        for case in done(study, name)
        for algorithm in family.algorithms
        if part in (None, name) and key in (None, algorithm.key) and algorithm.key in _found(case, name)
    ]


def _found(case: JsonObject, part: str) -> JsonObject:
    return case[part]["algorithms"]


def _row(case: JsonObject, part: str, algorithm: Algorithm) -> TimedAlgorithm:
    sweep, size = sweep_of(case["name"]), int(case["rows"])
    density = sweep.density if sweep else case["nnz"] / max(size * (size - 1), 1)
    known = graph_times().get(GraphKey(algorithm.thesis or "", density, size)) if sweep else None
    threads, found = case[part]["threads"], _found(case, part)[algorithm.key]
    return TimedAlgorithm(case, part, algorithm, density, size, threads, found, known)


def densities_of(rows: Iterable[TimedAlgorithm]) -> list[float]:
    return sorted({row.density for row in rows})


def median(values: Iterable[float | None]) -> float | None:
    """The median of the known values."""
    known = [value for value in values if value is not None]
    return statistics.median(known) if known else None


def fastest_device(rows: list[TimedAlgorithm]) -> str:
    """The GPU where it was used, else all threads, else one."""
    used = [device for device in ("gpu", "host") if any(row.seconds(device) is not None for row in rows)]
    return used[0] if used else "cpu"


@TABLES.listing(
    "name density size problem algorithm thesis",
    *(f"{device}_seconds" for device in DEVICES),
    *(f"{device}_seconds_paper" for device in DEVICES),
    *(f"{one}_over_{other}" for one, other in QUOTIENTS),
    "threads thread_efficiency answer valid same_on_all_devices",
)
def times(study: JsonObject) -> list[JsonObject]:
    """Times by density, size, algorithm and device, as in figures 7.2 to 7.12."""
    return [
        {"name": row.case, "density": row.density, "size": row.size, "problem": row.part}
        | {"algorithm": row.algorithm.key, "thesis": row.algorithm.thesis}
        | {f"{device}_seconds": row.seconds(device) for device in DEVICES}
        | {f"{device}_seconds_paper": row.paper_seconds(device) for device in DEVICES}
        | {f"{one}_over_{other}": row.speedup(one, other) for one, other in QUOTIENTS}
        | {"threads": row.threads, "thread_efficiency": row.thread_efficiency}
        | {"answer": row.found.get("size"), "valid": row.found.get("valid")}
        | {"same_on_all_devices": row.found.get("same")}
        for row in rows_of(study)
    ]


@TABLES.listing(*GraphKey._fields, *GraphTimes._fields)
def published_times(_: JsonObject) -> list[JsonObject]:
    """All times that the thesis prints, in seconds."""
    return [key._asdict() | times._asdict() for key, times in graph_times().items()]


def variables(study: JsonObject) -> JsonObject:
    """The variables of the template."""
    return {
        "families": FAMILIES,
        "fastest": {part: DEVICES_IN_WORDS[fastest_device(rows_of(study, part))] for part in FAMILIES},
        "times": {part: _rows(study, part, _times) for part in FAMILIES},
        "compared": {part: _rows(study, part, _comparisons) for part in FAMILIES},
        "not_run": {
            part: list(dict.fromkeys(filter(None, (case[part].get("reason") for case in done(study, part)))))
            for part in FAMILIES
        },
        "timed": {part: {each.algorithm for each in rows_of(study, part)} for part in FAMILIES},
        "threads": max((each.threads for each in rows_of(study)), default=None),
    }


def _rows(study: JsonObject, part: str, cells: Callable[[TimedAlgorithm], dict[str, Cell]]) -> list[Row]:
    """A row for each graph, with all algorithms of a family; columns that no graph has are left out."""
    found: list[Row] = []
    for _, group in groupby(rows_of(study, part), key=lambda each: str(each.case["name"])):
        algorithms = list(group)
        row: Row = {"Density": f"{algorithms[0].density:.3g}", "Vertices": count(algorithms[0].size)}
        for each in algorithms:
            row |= {(each.algorithm.title, heading): cell for heading, cell in cells(each).items()}
        found.append(row)
    known = {heading for row in found for heading, cell in row.items() if cell not in EMPTY}
    return [{heading: cell for heading, cell in row.items() if heading in known} for row in found]


EMPTY = (Cell(NONE), NONE)


def _times(each: TimedAlgorithm) -> dict[str, Cell]:
    """The times on all devices, and the answer."""
    times = {
        name: _beside(each.seconds(device), each.paper_seconds(device), seconds)
        for device, name in DEVICES.items()
    }
    return times | {ANSWERS.get(each.part, "components"): _answer(each)}


def _comparisons(each: TimedAlgorithm) -> dict[str, Cell]:
    """How many times as fast one device is as another, and the efficiency of a thread."""
    pairs = {name: (each.speedup(*pair), each.paper_speedup(*pair)) for name, pair in COMPARED.items()}
    pairs["thread efficiency"] = each.thread_efficiency, each.paper_thread_efficiency
    return {name: _beside(*pair, digits3) for name, pair in pairs.items()}


def _beside(ours: float | None, theirs: float | None, form: Callable[[float | None], str]) -> Cell:
    return Cell(form(ours), None if theirs is None or ours is None else form(theirs))


def _answer(each: TimedAlgorithm) -> Cell:
    """The number that describes the answer, marked where a checker or another device disagrees."""
    wrong = not each.found.get("valid") or not each.found.get("same")
    text = count(each.found.get("size"))
    return Cell(f"{text} (invalid)" if wrong else text, departs=wrong)
