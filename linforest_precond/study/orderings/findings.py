"""The summary of the study: gains of orderings, correlations with metrics, and costs."""

from __future__ import annotations

from linforest_precond.study.findings import Findings
from linforest_precond.study.number_formats import count, digits3, listed, spread, two_digits
from linforest_precond.study.orderings.measures import FRACTION, TIMED
from linforest_precond.study.orderings.tables import (
    ALGORITHMS,
    LIKE,
    NATURAL,
    all_orderings,
    correlations,
    means,
    refined,
)  # fmt: skip
from linforest_precond.study.published import named_rows, published_number
from linforest_precond.study.results import CASE, JsonObject, done

findings = Findings()


@findings.about("Products")
def _kernels(study: JsonObject) -> str | None:
    rows = [row for row in means(study) if row["ordering"] != NATURAL and row["spmv"]]
    if not rows:
        return None
    best = max(rows, key=lambda row: row["spmv"])
    text = f"{best['ordering']} is the best: products are {two_digits(best['spmv'])} times as fast as in the"
    return f"{text} natural order in the geometric mean of {len(done(study, 'orderings'))} graphs."


@findings.about("Algorithms")
def _algorithms(study: JsonObject) -> str | None:
    rows = [row for row in means(study) if row["time"] and row["ordering"] in LIKE]
    if not rows:
        return None
    timed = [_timed_on(study, key) for key in ALGORITHMS if any(row[key] for row in rows)]
    best = max(rows, key=lambda row: row["time"])
    like = LIKE[best["ordering"]]
    theirs = two_digits(published_number("orderings", like, "time"))
    largest = max(row.get("vertices", 0) for row in named_rows("orderings").values()) / 1e9
    text = f"Of the thesis' orderings, {best['ordering']} is the best for {listed(timed)}"
    text += f": {two_digits(best['time'])} times as fast as in the natural order in the geometric mean"
    return (
        f"{text}; {like} has {theirs} in the thesis, on graphs of up to {digits3(largest)} billion vertices."
    )


def _timed_on(study: JsonObject, key: str) -> str:
    """The name of an algorithm, with the graphs that it was timed on where they are not all."""
    cases = done(study, "orderings")
    timed = [case["rows"] for case in cases if case["orderings"][NATURAL]["times"].get(key) is not None]
    if len(timed) == len(cases):
        return TIMED[key]
    largest = f"of at most {count(max(timed))} vertices"
    return f"{TIMED[key]} (on {count(len(timed))} of {count(len(cases))} graphs, {largest})"


@findings.about(
    "Correlation",
    lambda study: [row for row in correlations(study) if row["quantity"] == TIMED["pagerank"]],
)
def _correlation(rows: list[JsonObject]) -> str:
    text = f"The log gap has a correlation of {two_digits(rows[0]['log_gap'])} with the time of PageRank"
    return f"{text}; the thesis has {two_digits(rows[0]['paper_log_gap'])}."


@findings.about("Cost", all_orderings)
def _cost(rows: list[JsonObject]) -> str | None:
    """The time of Cuthill-McKee in products in the natural order."""
    products = {row[CASE]["name"]: row["spmv"] for row in rows if row["ordering"] == NATURAL}
    costs = [row["seconds"] / products[row[CASE]["name"]] for row in rows if row["ordering"] == "rcm"]
    if not costs:
        return None
    text = f"Cuthill-McKee costs as much as {spread(costs)} products"
    return f"{text} in the natural order."


@findings.about("Refinement", lambda study: [row for row in refined(study) if row["fraction"] == FRACTION])
def _refinement(rows: list[JsonObject]) -> str:
    gains = [row["gain"] for row in rows]
    text = f"Refining {100 * FRACTION:g} % of the vertices lowers the gap that it refines by"
    graphs = count(len({row[CASE]["name"] for row in rows}))
    return f"{text} {spread(gains, two_digits)} % on {graphs} graphs."
