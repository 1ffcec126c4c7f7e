"""The numbers of the study as CSV files."""

from __future__ import annotations

from typing import Any

from linforest_precond.study.csv_tables import CsvTable
from linforest_precond.study.published import scale_tables
from linforest_precond.study.results import JsonObject, done
from linforest_precond.study.scale.optimum import METHODS


def tables(study: JsonObject) -> list[CsvTable]:
    """All tables of the study."""
    return [_optimum(study), _batches(study), _memory(study)]


def of_the_paper(case: JsonObject) -> dict[str, float]:
    """The published numbers of the graph that a case is, or stands for."""
    return scale_tables().get(case.get("paper") or "", {})


def _optimum(study: JsonObject) -> CsvTable:
    rows = [
        {"name": case["name"], "paper": case.get("paper"), "paper_ld_gap": of_the_paper(case).get("ld_gap")}
        | {key: case["optimum"][key] for key in ("solver", "reason", "weight", "seconds")}
        | {f"{method}_gap": case["optimum"]["gaps"].get(method) for method in METHODS}
        for case in done(study, "optimum")
    ]
    gaps = [f"{method}_gap" for method in METHODS]
    columns = ("name", "solver", "reason", "weight", "seconds", *gaps, "paper", "paper_ld_gap")
    return CsvTable("optimum", columns, rows, "distance from the maximum weight in %, as in table 4.2")


def _batches(study: JsonObject) -> CsvTable:
    rows = [
        {"name": case["name"], "edges": case["batches"]["edges"], "batches": name, **found}
        for case in done(study, "batches")
        for name, found in rates(case["batches"])
    ]
    columns = ("name", "edges", "batches", "seconds", "mmeps", "largest_batch", "same")
    return CsvTable("batches", columns, rows, "times and rates by the number of batches, as in table 4.4")


def rates(found: JsonObject) -> list[tuple[str, JsonObject]]:
    """(batches or name, times and rates) of one case."""
    whole: list[tuple[str, Any]] = [(key, found[key]) for key in ("whole", "suitor")]
    return [*whole, *found["batched"].items()]


def _memory(study: JsonObject) -> CsvTable:
    rows = [{"name": case["name"], **case["memory"]} for case in done(study, "memory")]
    columns = ("name", "graph", "given", "batches", "peak", "same")
    return CsvTable("memory", columns, rows, "graphs larger than the memory given to them, in bytes")


# Edges per matching of table 4.4, by the product of a rate with the time of table 4.1.
RATES = {"ld": ("ld_mmeps", "ld_gpu"), "sr": ("sr_mmeps", "sr_omp")}


def implied_edges(row: dict[str, float], code: str) -> float | None:
    """Matched edges that a printed rate (table 4.4) and time (table 4.1) imply together."""
    rate, seconds = RATES[code]
    return 1e6 * row[rate] * row[seconds] if rate in row and seconds in row else None
