"""The tables of the report, for ``templates/scale.html``."""

from __future__ import annotations

from linforest_precond.study.number_formats import count, digits3, fixed, yes_no
from linforest_precond.study.published import scale_tables
from linforest_precond.study.report_tables import Cell, Row, matrix_rows
from linforest_precond.study.results import JsonObject, done
from linforest_precond.study.scale import plots
from linforest_precond.study.scale.findings import geometric_gap
from linforest_precond.study.scale.optimum import METHODS
from linforest_precond.study.scale.tables import implied_edges, of_the_paper

NAMES = {method: method.replace("_", " ") for method in METHODS}
# The headings of the columns of tables 4.1 and 4.4.
PRINTED = {
    "vertices": "Vertices", "edges": "Edges", "ld_gpu": "LD-GPU, s", "gpus": "GPUs", "sr_omp": "SR-OMP, s",
    "ld_mmeps": "LD-GPU, MMEPS", "sr_mmeps": "SR-OMP, MMEPS",
}  # fmt: skip
IMPLIED = {"ld": "Matched edges, LD-GPU", "sr": "Matched edges, SR-OMP"}


def report(study: JsonObject) -> JsonObject:
    """What the template shows."""
    gaps = [_gap_row(case) for case in done(study, "optimum")]
    return {
        "plots": plots,
        "matrices": matrix_rows(study),
        "optimum": [*gaps, _mean_row(study)] if gaps else [],
        "batches": [_rate_row(case) for case in done(study, "batches")],
        "memory": [_memory_row(case) for case in done(study, "memory")],
        "printed": [_printed_row(graph, row) for graph, row in scale_tables().items() if "edges" in row],
    }


def _gap_row(case: JsonObject) -> Row:
    found, paper = case["optimum"], of_the_paper(case).get("ld_gap")
    gaps = {method: fixed(found["gaps"].get(method), 1) for method in METHODS}
    row: Row = {"Graph": case, "Exact matching": found["solver"] or found["reason"]}
    row |= {NAMES[method]: gap for method, gap in gaps.items()}
    return row | {NAMES[METHODS[0]]: Cell(gaps[METHODS[0]], None if paper is None else fixed(paper, 1))}


def _mean_row(study: JsonObject) -> Row:
    means = {method: fixed(geometric_gap(study, method), 1) for method in METHODS}
    row: Row = {"Graph": Cell("geometric mean", best=True), "Exact matching": ""}
    row |= {NAMES[method]: mean for method, mean in means.items()}
    paper = fixed(scale_tables()["geometric mean"]["ld_gap"], 2)
    return row | {NAMES[METHODS[0]]: Cell(means[METHODS[0]], paper)}


def _rate_row(case: JsonObject) -> Row:
    found, paper = case["batches"], of_the_paper(case).get("ld_mmeps")
    batched = found["batched"]
    return {
        "Graph": case,
        "Matched edges": count(found["edges"]),
        "Whole": Cell(digits3(found["whole"]["mmeps"]), None if paper is None else digits3(paper)),
        "Suitor": digits3(found["suitor"]["mmeps"]),
        **{f"{number} batches": digits3(each["mmeps"]) for number, each in batched.items()},
        "Same": yes_no(all(each["same"] for each in batched.values())),
    }


def _memory_row(case: JsonObject) -> Row:
    found = case["memory"]
    sizes = {key: f"{digits3(found[key] / 2**20)} MiB" for key in ("graph", "given", "peak")}
    return {
        "Graph": case,
        "Size": sizes["graph"],
        "Given": sizes["given"],
        "Batches": count(found["batches"]),
        "Peak": sizes["peak"],
        "Same matching": yes_no(found["same"]),
    }


def _printed_row(graph: str, printed: dict[str, float]) -> Row:
    row: Row = {"Graph": graph}
    row |= {name: digits3(printed.get(key)) for key, name in PRINTED.items()}
    row["GPUs"] = count(printed.get("gpus"))
    for code, name in IMPLIED.items():
        edges = implied_edges(printed, code)
        row[name] = digits3(None if edges is None else edges / 1e6)
    return row
