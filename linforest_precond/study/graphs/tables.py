"""The times of a study, one row for each graph and algorithm, beside the published ones; as CSV files."""

from __future__ import annotations

import statistics
from collections.abc import Iterable
from typing import Any, NamedTuple

from linforest_precond.study.csv_tables import CsvTable
from linforest_precond.study.graphs.families import FAMILIES, Algorithm
from linforest_precond.study.graphs.graphs import sweep_of
from linforest_precond.study.published import GraphKey, GraphTimes, graph_times
from linforest_precond.study.results import JsonObject, done

DEVICES = {"cpu": "CPU", "host": "HOST", "gpu": "GPU"}
DEVICES_IN_WORDS = {"gpu": "on the GPU", "host": "on all threads", "cpu": "on one thread"}

COLUMNS = (
    "name", "density", "size", "problem", "algorithm", "thesis", *(f"{device}_seconds" for device in DEVICES),
    *(f"{device}_seconds_paper" for device in DEVICES), "host_over_cpu", "gpu_over_cpu", "gpu_over_host",
    "threads", "thread_efficiency", "answer", "valid", "same_on_all_devices",
)  # fmt: skip


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

    @property
    def thread_efficiency(self) -> float | None:
        """The speedup by threads, for each of them."""
        speedup = self.speedup("host", "cpu")
        return None if speedup is None else speedup / self.threads


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


def tables(study: JsonObject) -> list[CsvTable]:
    """All tables of the study."""
    return [_times(study), _published()]


def _times(study: JsonObject) -> CsvTable:
    text = "times by density, size, algorithm and device, as in figures 7.2 to 7.12"
    return CsvTable("times", COLUMNS, [_fields(row) for row in rows_of(study)], text)


def _fields(row: TimedAlgorithm) -> dict[str, Any]:
    return {
        "name": row.case["name"], "density": row.density, "size": row.size, "problem": row.part,
        "algorithm": row.algorithm.key, "thesis": row.algorithm.thesis,
        **{f"{device}_seconds": row.seconds(device) for device in DEVICES},
        **{f"{device}_seconds_paper": row.paper_seconds(device) for device in DEVICES},
        "host_over_cpu": row.speedup("host", "cpu"), "gpu_over_cpu": row.speedup("gpu", "cpu"),
        "gpu_over_host": row.speedup("gpu", "host"), "threads": row.threads,
        "thread_efficiency": row.thread_efficiency, "answer": row.found.get("size"),
        "valid": row.found.get("valid"), "same_on_all_devices": row.found.get("same"),
    }  # fmt: skip


def _published() -> CsvTable:
    rows = [key._asdict() | times._asdict() for key, times in graph_times().items()]
    columns = tuple(rows[0])
    return CsvTable("published_times", columns, rows, "all times that the thesis prints, in seconds")
