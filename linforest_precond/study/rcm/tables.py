"""The tables of the study: orders, times beside the paper's and speed-ups, threads, and batches."""

from __future__ import annotations

from functools import partial
from typing import Any

from linforest_precond.study.listings import Cell, Column, Row, Tables
from linforest_precond.study.number_formats import NONE, count, difference, rounded, seconds, yes_no
from linforest_precond.study.published import published_number
from linforest_precond.study.rcm.measures import ALGORITHM_4, COUNTS, STAGES, VARIANTS
from linforest_precond.study.results import JsonObject, dig, done, label

# The columns of table I that do not depend on the machine, with their headings.
ORDERS = {
    "max_degree": "Largest degree",
    "front": "Average front",
    "bandwidth": "Bandwidth",
    "reordered_bandwidth": "Reordered",
}
# Approaches: the path of our time in a record, and the paper's column.
APPROACHES = {
    "serial, CPU": (("times", "cpu", "serial"), "cpu_rcm"),
    "leveled, CPU": (("times", "cpu", "leveled"), None),
    "unordered, CPU": (("times", "cpu", "unordered"), "reorderlib"),
    "Algorithm 4, CPU": (("batches", ALGORITHM_4, "seconds"), "cpu_basic"),
    "batch, CPU": (("times", "cpu", "batch"), "cpu_batch"),
    "leveled, GPU": (("times", "cuda", "leveled"), "gpu_rcm"),
    "unordered, GPU": (("times", "cuda", "unordered"), None),
    "batch, GPU": (("times", "cuda", "batch"), "gpu_batch"),
}

# Seconds of the authors' public batch code, rebuilt on an H200, by our cases; its cube was shuffled. That run
# is not recorded in this repository.
REBUILT = {"standin:ecology1": 41e-3, "poisson3d:100": 10.3e-3, "delaunay:1048576": 15e-3}
REBUILT_ON = "H200"

TABLES = Tables()


def _compared_order(row: JsonObject, name: str) -> Cell:
    """Our count, and the published one where there is one."""
    case, ours, theirs = row["matrix"], row.get(name), row[f"paper_{name}"]
    if ours is None or theirs is None:
        return Cell(rounded(ours))
    change = difference(round(ours) - theirs, 0) if case.get("at_paper_size") else None
    return Cell(rounded(ours), count(theirs), change, departs=round(ours) != theirs)


def _variant_column(name: str) -> Column:
    """The seconds of a variant; the least of a matrix are bold."""

    def cell(row: JsonObject) -> Cell:
        best = min((row[each] for each in VARIANTS if row[each]), default=None)
        return Cell(seconds(row[name]), best=row[name] == best)

    return Column(cell, name)


def published(case: JsonObject, column: str | None) -> Any:
    """A number of table I for the matrix of a case; None for other matrices, and where none is printed."""
    return published_number("rcm", case.get("paper"), column or "")


def measured(case: JsonObject, approach: str, device: str) -> float | None:
    """Our seconds; the variants of batches were run on the study's device alone."""
    path, _ = APPROACHES[approach]
    if path[0] == "batches" and device != "cpu":
        return None
    return dig(case, *path)


def paper_seconds(case: JsonObject, approach: str) -> float | None:
    """The paper's seconds."""
    found = published(case, APPROACHES[approach][1])
    return None if found is None else found / 1e3


def rebuilt_seconds(study: JsonObject, case: JsonObject, approach: str) -> float | None:
    """The seconds of the authors' code beside our batches, where both ran on GPUs of one kind."""
    beside = approach == "batch, GPU" and REBUILT_ON in (dig(study, "machine", "gpu") or "")
    return REBUILT.get(case["name"]) if beside else None


def speedup(base: float | None, seconds: float | None) -> float | None:
    """How many times as fast as the base; None where one of both is missing."""
    return base / seconds if base and seconds else None


def speedups(case: JsonObject, approach: str, device: str) -> tuple[float | None, float | None]:
    """Ours over SciPy, and the paper's over HSL."""
    hsl = published(case, "hsl")
    ours = speedup(dig(case, "times", "scipy"), measured(case, approach, device))
    return ours, speedup(hsl and hsl / 1e3, paper_seconds(case, approach))


def _named(case: JsonObject, **fields: Any) -> JsonObject:
    return {"matrix": case, "paper": case.get("paper"), **fields}


@TABLES.listing(
    Column("matrix", "Matrix"),
    "paper",
    Column("rows", "Rows", count),
    Column("nnz", "Entries", count),
    *(Column(partial(_compared_order, name=name), heading) for name, heading in ORDERS.items()),
    Column("scipy_bandwidth", "Reordered by SciPy", count),
    Column("envelope", "Envelope", count),
    Column("scipy_envelope", "Envelope by SciPy", count),
    "start",
    *ORDERS,
    "levels mean_front",
    Column("identical", "Same order", yes_no),
    *(f"paper_{name}" for name in ORDERS),
    missing=NONE,
)
def orders(study: JsonObject) -> list[JsonObject]:
    """Bandwidths and fronts beside table I."""
    return [
        _named(case, rows=case.get("rows"), nnz=case.get("nnz"), **case["orders"])
        | {f"paper_{name}": published(case, name) for name in ORDERS}
        for case in done(study, "orders")
    ]


@TABLES.listing("matrix paper approach seconds paper_seconds rebuilt_seconds over_scipy paper_over_hsl")
def times(study: JsonObject) -> list[JsonObject]:
    """Times of all approaches beside table I, and speed-ups (figure 2)."""
    return [
        _named(case, approach=approach, seconds=measured(case, approach, study["device"]))
        | {"paper_seconds": paper_seconds(case, approach)}
        | {"rebuilt_seconds": rebuilt_seconds(study, case, approach)}
        | dict(zip(("over_scipy", "paper_over_hsl"), speedups(case, approach, study["device"])))
        for case in done(study, "times")
        for approach in APPROACHES
    ]


def variables(study: JsonObject) -> JsonObject:
    """`time_rows`: a row for each matrix with the approaches that were run; `not_run`: why some were not."""
    rows = times(study)
    shown = [name for name in APPROACHES if any(row["seconds"] for row in rows if row["approach"] == name)]
    beside = any(row["rebuilt_seconds"] for row in rows)
    found: dict[str, Row] = {}
    for row in rows:
        case, theirs = row["matrix"], row["paper_seconds"]
        first: Row = {"Matrix": case, "SciPy": seconds(dig(case, "times", "scipy"))}
        if row["approach"] in shown:
            text = Cell(seconds(row["seconds"]), None if theirs is None else seconds(theirs))
            found.setdefault(case["name"], first)[row["approach"]] = text
            if beside and row["approach"] == "batch, GPU":
                found[case["name"]]["Authors' batch code, H200"] = seconds(row["rebuilt_seconds"])
    left_out = [case for case in done(study, "times") if dig(case, "times", "reason")]
    not_run = [f"{label(case)}: the host's methods were {case['times']['reason']}." for case in left_out]
    return {"time_rows": list(found.values()), "not_run": not_run, "rebuilt": beside}


@TABLES.listing("matrix paper threads seconds speedup rows width default_seconds default_speedup", *STAGES)
def threads(study: JsonObject) -> list[JsonObject]:
    """Batches by threads, nanoseconds of the stages (figures 5 and 6)."""
    return [
        _named(case, threads=run["threads"], seconds=run["seconds"], **run["stages"])
        | {"speedup": speedup(case["threads"]["serial"], run["seconds"])}
        | {"rows": case.get("rows"), "width": case["threads"].get("width")}
        | {"default_seconds": run.get("default_seconds")}
        | {"default_speedup": speedup(case["threads"]["serial"], run.get("default_seconds"))}
        for case in done(study, "threads")
        for run in case["threads"]["runs"]
    ]


@TABLES.listing("matrix paper variant seconds", *COUNTS, *STAGES)
def batches(study: JsonObject) -> list[JsonObject]:
    """The parts of the batch method one after the other (figure 3)."""
    return [
        _named(case, variant=variant, **found)
        for case in done(study, "batches")
        for variant, found in case["batches"].items()
    ]


@TABLES.listing(Column("matrix", "Matrix"), *map(_variant_column, VARIANTS), csv=False)
def variants(study: JsonObject) -> list[JsonObject]:
    """A row for each matrix with the seconds of all variants."""
    return [
        {"matrix": case} | {name: dig(case, "batches", name, "seconds") for name in VARIANTS}
        for case in done(study, "batches")
    ]
