"""Times and throughputs of figures 3, 5 and 6: ratios, and CSV tables."""

from __future__ import annotations

from typing import Any

from linforest_precond.study.csv_tables import CsvTable
from linforest_precond.study.forests.tables import IDENTITY, identity
from linforest_precond.study.number_formats import missing
from linforest_precond.study.results import JsonObject, dig, done

WAYS = ("paper", "ours")
METHODS = ("bidirectional_scan", "list_ranking")
PERMUTATIONS = ("radix_sort", "scan")


def performance(study: JsonObject) -> CsvTable:
    """One row for each matrix: figures 5 and 6 in numbers."""
    rows = [identity(case) | _timings(case["performance"]) for case in done(study, "performance")]
    columns = dict.fromkeys(column for row in rows for column in row)
    text = "times of scans, permutations and setups: figures 5 and 6"
    return CsvTable("performance", tuple(columns) or IDENTITY, rows, text)


def _timings(timings: JsonObject) -> dict[str, Any]:
    row = {key: timings.get(key) for key in ("precision", "copy_gb_per_s", "sequential_scan_seconds")}
    row["spmv_seconds"] = spmv_seconds(timings)
    row |= {f"{method}_seconds": dig(timings, "scans", "seconds", method) for method in METHODS}
    row |= {f"order_by_{method}_seconds": dig(timings, "orderings", method) for method in PERMUTATIONS}
    for way in WAYS:
        row[f"setup_{way}_seconds"] = dig(timings, "setup_seconds", way)
        row[f"setup_{way}_per_spmv"] = per_spmv(timings, row[f"setup_{way}_seconds"])
        row |= {f"setup_{way}_{stage}_seconds": seconds for stage, seconds in stages(timings, way)}
    return row


def performance_propositions(study: JsonObject) -> CsvTable:
    """One row for each matrix, precision, k and n: figure 3 in numbers."""
    columns = ("dtype", "k", "n", "seconds", "gb_per_s", "vertices")
    rows = [
        {"name": case["name"], **{column: row.get(column) for column in columns}}
        | {"per_spmv": per_spmv(case["performance"], row.get("seconds"), row.get("dtype"))}
        | {f"spmv_{key}": dig(case["performance"], "spmv", row["dtype"], key) for key in SPMV}
        for case in done(study, "performance")
        for row in propositions(case["performance"])
    ]
    spmv = tuple(f"spmv_{key}" for key in SPMV)
    text = "times and throughputs of propositions: figure 3"
    return CsvTable("performance_propositions", ("name", *columns, "per_spmv", *spmv), rows, text)


SPMV = ("seconds", "gb_per_s")


def performance_launches(study: JsonObject) -> CsvTable:
    """One row for each launch of a step of Algorithm 3: figure 5 in numbers; empty on the CPU."""
    rows = [
        {"name": case["name"], "scan": kind, "step": step, "gb_per_s": speed}
        for case in done(study, "performance")
        for kind, speeds in launches(case["performance"]).items()
        for step, speed in enumerate(speeds)
    ]
    text = "throughput of each launch of Algorithm 3: figure 5, on the GPU only"
    return CsvTable("performance_launches", ("name", "scan", "step", "gb_per_s"), rows, text)


def launches(timings: JsonObject) -> dict[str, list[float]]:
    """The throughputs of the launches of Algorithm 3, of cycles and paths; empty on the CPU."""
    return dig(timings, "scans", "launches") or {}


def proposition(timings: JsonObject, dtype: Any, k: int, n: int) -> JsonObject:
    """The record of one proposition; empty where it was not measured."""
    wanted = (dtype, k, n)
    return next(
        (row for row in propositions(timings) if (row.get("dtype"), row.get("k"), row.get("n")) == wanted), {}
    )


def precisions(timings: JsonObject) -> list[str]:
    """Of the propositions, the paper's first."""
    return list(dict.fromkeys(row["dtype"] for row in propositions(timings)))


def propositions(timings: JsonObject) -> list[JsonObject]:
    """The records of the propositions; older studies have none in this form."""
    found = timings.get("propositions")
    return found if isinstance(found, list) else []


def stages(timings: JsonObject, way: str) -> list[tuple[str, float | None]]:
    """(stage, seconds) of a setup, in their order."""
    return [(part["stage"], part.get("seconds")) for part in dig(timings, "setups", way) or []]


def spmv_seconds(timings: JsonObject, dtype: Any = None) -> float | None:
    """The time of one SpMV, by default in the precision of the setups."""
    found: float | None = dig(timings, "spmv", str(dtype or timings.get("precision")), "seconds")
    return found


def per_spmv(timings: JsonObject, seconds: float | None, dtype: Any = None) -> float | None:
    """A time in units of one SpMV."""
    return quotient(seconds, spmv_seconds(timings, dtype))


def quotient(a: float | None, b: float | None) -> float | None:
    """a / b; None where one of them is missing or b is 0."""
    return None if a is None or b is None or missing(a) or missing(b) or not b else a / b


def scan_ratio(timings: JsonObject) -> float | None:
    """The time of Algorithm 3 over that of list ranking, which gives the same labels."""
    return quotient(*(dig(timings, "scans", "seconds", method) for method in METHODS))


def scan_speedup(timings: JsonObject) -> float | None:
    """Speedup of Algorithm 3 over a sequential walk; None on the CPU."""
    scan = dig(timings, "scans", "seconds", METHODS[0])
    return quotient(timings.get("sequential_scan_seconds"), scan) if launches(timings) else None


def ordering_ratio(timings: JsonObject) -> float | None:
    """The time of the radix sort over that of the prefix sum."""
    return quotient(*(dig(timings, "orderings", method) for method in PERMUTATIONS))


def setup_ratio(timings: JsonObject) -> float | None:
    """The time of the paper's setup over that of ours."""
    return quotient(*(dig(timings, "setup_seconds", way) for way in WAYS))


def performance_tables(study: JsonObject) -> list[CsvTable]:
    """The tables of times and throughputs."""
    return [make(study) for make in (performance, performance_propositions, performance_launches)]
