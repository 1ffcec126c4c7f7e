"""The tables of the report, for ``templates/rcm.html``."""

from __future__ import annotations

from linforest_precond.study.number_formats import count, difference, seconds, yes_no
from linforest_precond.study.published import rcm_number
from linforest_precond.study.rcm import plots
from linforest_precond.study.rcm.measures import VARIANTS
from linforest_precond.study.rcm.tables import APPROACHES, measured, paper_seconds
from linforest_precond.study.report_tables import Cell, Row
from linforest_precond.study.results import JsonObject, dig, done

# The columns of table I that do not depend on the machine, with their headings.
ORDERS = {
    "max_degree": "Largest degree",
    "front": "Average front",
    "bandwidth": "Bandwidth",
    "reordered_bandwidth": "Reordered",
}


def report(study: JsonObject) -> JsonObject:
    """What the template shows."""
    timed = done(study, "times")
    shown = [name for name in APPROACHES if any(measured(case, name, study["device"]) for case in timed)]
    return {
        "plots": plots,
        "orders": [_order_row(case) for case in done(study, "orders")],
        "times": [_time_row(case, shown, study["device"]) for case in timed],
        "batches": [_variant_row(case) for case in done(study, "batches")],
    }


def _order_row(case: JsonObject) -> Row:
    return {
        "Matrix": case,
        "Rows": count(case.get("rows")),
        "Entries": count(case.get("nnz")),
        **{name: _compared_order(case, key) for key, name in ORDERS.items()},
        "Same order": yes_no(dig(case, "orders", "identical")),
    }


def _compared_order(case: JsonObject, key: str) -> Cell:
    ours, theirs = dig(case, "orders", key), rcm_number(case.get("paper"), key)
    text = count(None if ours is None else round(ours))
    if ours is None or theirs is None:
        return Cell(text)
    change = difference(round(ours) - theirs, 0) if case.get("at_paper_size") else None
    return Cell(text, count(theirs), change, departs=round(ours) != theirs)


def _time_row(case: JsonObject, shown: list[str], device: str) -> Row:
    row: Row = {"Matrix": case, "SciPy": seconds(dig(case, "times", "scipy"))}
    for name in shown:
        theirs = paper_seconds(case, name)
        row[name] = Cell(seconds(measured(case, name, device)), None if theirs is None else seconds(theirs))
    return row


def _variant_row(case: JsonObject) -> Row:
    times = {name: dig(case, "batches", name, "seconds") for name in VARIANTS}
    best = min(filter(None, times.values()), default=None)
    row: Row = {"Matrix": case}
    return row | {name: Cell(seconds(time), best=time == best) for name, time in times.items()}
