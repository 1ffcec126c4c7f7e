"""Times beside the paper's, speed-ups, and the CSV tables of the study."""

from __future__ import annotations

from typing import Any

from linforest_precond.study.csv_tables import CsvTable
from linforest_precond.study.published import rcm_number
from linforest_precond.study.rcm.measures import COUNTS, STAGES
from linforest_precond.study.results import JsonObject, dig, done

# The columns of table I that do not depend on the machine.
ORDERS = ("max_degree", "front", "bandwidth", "reordered_bandwidth")
# Approaches: the path of our time in a record, and the paper's column.
APPROACHES = {
    "serial, CPU": (("times", "cpu", "serial"), "cpu_rcm"),
    "leveled, CPU": (("times", "cpu", "leveled"), None),
    "unordered, CPU": (("times", "cpu", "unordered"), "reorderlib"),
    "Algorithm 4, CPU": (("batches", "Algorithm 4", "seconds"), "cpu_basic"),
    "batch, CPU": (("times", "cpu", "batch"), "cpu_batch"),
    "leveled, GPU": (("times", "cuda", "leveled"), "gpu_rcm"),
    "unordered, GPU": (("times", "cuda", "unordered"), None),
    "batch, GPU": (("times", "cuda", "batch"), "gpu_batch"),
}


def measured(case: JsonObject, approach: str, device: str) -> float | None:
    """Our seconds; the variants of batches were run on the study's device alone."""
    path, _ = APPROACHES[approach]
    if path[0] == "batches" and device != "cpu":
        return None
    return dig(case, *path)


def paper_seconds(case: JsonObject, approach: str) -> float | None:
    """The paper's seconds."""
    column = APPROACHES[approach][1]
    found = None if column is None else rcm_number(case.get("paper"), column)
    return None if found is None else found / 1e3


def speedup(base: float | None, seconds: float | None) -> float | None:
    return base / seconds if base and seconds else None


def speedups(case: JsonObject, approach: str, device: str) -> tuple[float | None, float | None]:
    """Ours over SciPy, and the paper's over HSL."""
    hsl = rcm_number(case.get("paper"), "hsl")
    ours = speedup(dig(case, "times", "scipy"), measured(case, approach, device))
    return ours, speedup(hsl and hsl / 1e3, paper_seconds(case, approach))


def tables(study: JsonObject) -> list[CsvTable]:
    """All tables of the study."""
    return [_orders(study), _times(study), _threads(study), _batches(study)]


def _named(case: JsonObject, **fields: Any) -> dict[str, Any]:
    return {"matrix": case["name"], "paper": case.get("paper"), **fields}


def _orders(study: JsonObject) -> CsvTable:
    rows = []
    for case in done(study, "orders"):
        row = _named(case, rows=case.get("rows"), nnz=case.get("nnz"), **case["orders"])
        row |= {f"paper_{name}": rcm_number(case.get("paper"), name) for name in ORDERS}
        rows.append(row)
    own = ("start", *ORDERS, "levels", "mean_front", "identical")
    columns = ("matrix", "paper", "rows", "nnz", *own, *(f"paper_{name}" for name in ORDERS))
    return CsvTable("orders", columns, rows, "bandwidths and fronts beside table I")


def _times(study: JsonObject) -> CsvTable:
    rows = []
    for case in done(study, "times"):
        for approach in APPROACHES:
            ours, theirs = measured(case, approach, study["device"]), paper_seconds(case, approach)
            ratios = dict(zip(("over_scipy", "paper_over_hsl"), speedups(case, approach, study["device"])))
            rows.append(_named(case, approach=approach, seconds=ours, paper_seconds=theirs, **ratios))
    columns = ("matrix", "paper", "approach", "seconds", "paper_seconds", "over_scipy", "paper_over_hsl")
    return CsvTable(
        "times", columns, rows, "times of all approaches beside table I, and speed-ups (figure 2)"
    )


def _threads(study: JsonObject) -> CsvTable:
    rows = [
        _named(case, threads=run["threads"], seconds=run["seconds"], **run["stages"])
        | {"speedup": speedup(case["threads"]["serial"], run["seconds"])}
        for case in done(study, "threads")
        for run in case["threads"]["runs"]
    ]
    columns = ("matrix", "paper", "threads", "seconds", "speedup", *STAGES)
    return CsvTable(
        "threads", columns, rows, "batches by threads, nanoseconds of the stages (figures 5 and 6)"
    )


def _batches(study: JsonObject) -> CsvTable:
    rows = [
        _named(case, variant=variant, **found)
        for case in done(study, "batches")
        for variant, found in case["batches"].items()
    ]
    columns = ("matrix", "paper", "variant", "seconds", *COUNTS, *STAGES)
    return CsvTable("batches", columns, rows, "the parts of the batch method one after the other (figure 3)")
