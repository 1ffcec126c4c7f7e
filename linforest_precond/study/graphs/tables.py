"""The numbers of the study as CSV files, with the columns of the thesis' tables."""

from __future__ import annotations

from typing import Any

from linforest_precond.study.csv_tables import CsvTable
from linforest_precond.study.graphs.rows import DEVICES, TimedAlgorithm, rows_of
from linforest_precond.study.published import graph_times
from linforest_precond.study.results import JsonObject

COLUMNS = (
    "name", "density", "size", "problem", "algorithm", "thesis", *(f"{device}_seconds" for device in DEVICES),
    *(f"{device}_seconds_paper" for device in DEVICES), "host_over_cpu", "gpu_over_cpu", "gpu_over_host",
    "threads", "thread_efficiency", "answer", "valid", "same_on_all_devices",
)  # fmt: skip


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
