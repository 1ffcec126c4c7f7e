"""The main results as sentences, computed from the tables."""

from __future__ import annotations

from linforest_precond.study.number_formats import count, digits3, fixed
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
from linforest_precond.study.paper import Finding
from linforest_precond.study.published import named_rows
from linforest_precond.study.results import CASE, JsonObject, done


def findings(study: JsonObject) -> list[Finding]:
    """The main findings, none for parts that were not run."""
    makers = (_kernels, _algorithms, _correlation, _cost, _refinement)
    return [finding for maker in makers if (finding := maker(study))]


def _kernels(study: JsonObject) -> Finding | None:
    rows = [row for row in means(study) if row["ordering"] != NATURAL and row["spmv"]]
    if not rows:
        return None
    best = max(rows, key=lambda row: row["spmv"])
    graphs = len(done(study, "orderings"))
    text = f"{best['ordering']} is the best: products are {fixed(best['spmv'], 2)} times as fast as in the"
    return Finding("Products", f"{text} natural order in the geometric mean of {graphs} graphs.")


def _algorithms(study: JsonObject) -> Finding | None:
    rows = [row for row in means(study) if row["time"] and row["ordering"] in LIKE]
    if not rows:
        return None
    timed = [TIMED[key] for key in ALGORITHMS if any(row[key] for row in rows)]
    best = max(rows, key=lambda row: row["time"])
    like = LIKE[best["ordering"]]
    text = f"Of the thesis' orderings, {best['ordering']} is the best for {', '.join(timed)}"
    theirs = fixed(named_rows("orderings")[like]["time"], 2)
    largest = max(row.get("vertices", 0) for row in named_rows("orderings").values()) / 1e9
    return Finding(
        "Algorithms",
        f"{text}: {fixed(best['time'], 2)} times as fast as in the natural order in the geometric mean; "
        f"{like} has {theirs} in the thesis, on graphs of up to {digits3(largest)} billion vertices.",
    )


def _correlation(study: JsonObject) -> Finding | None:
    row = next((row for row in correlations(study) if row["quantity"] == TIMED["pagerank"]), None)
    if row is None:
        return None
    text = f"The log gap has a correlation of {fixed(row['log_gap'], 2)} with the time of PageRank"
    return Finding("Correlation", f"{text}; the thesis has {fixed(row['paper_log_gap'], 2)}.")


def _cost(study: JsonObject) -> Finding | None:
    """What Cuthill-McKee costs, in products in the natural order."""
    rows = all_orderings(study)
    products = {row[CASE]["name"]: row["spmv"] for row in rows if row["ordering"] == NATURAL}
    costs = [row["seconds"] / products[row[CASE]["name"]] for row in rows if row["ordering"] == "rcm"]
    if not costs:
        return None
    text = f"Cuthill-McKee costs as much as {digits3(min(costs))} to {digits3(max(costs))} products"
    return Finding("Cost", f"{text} in the natural order.")


def _refinement(study: JsonObject) -> Finding | None:
    rows = [row for row in refined(study) if row["fraction"] == FRACTION]
    if not rows:
        return None
    gains = [row["gain"] for row in rows]
    text = f"Refining {100 * FRACTION:g} % of the vertices lowers the gap that it refines by"
    graphs = count(len({row[CASE]["name"] for row in rows}))
    return Finding(
        "Refinement", f"{text} {fixed(min(gains), 2)} to {fixed(max(gains), 2)} % on {graphs} graphs."
    )
