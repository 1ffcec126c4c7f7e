"""Matrices and coverages: our values for tables 3, 4 and 5 of the paper."""

from __future__ import annotations

from typing import Any

from linforest_precond.study.csv_tables import done
from linforest_precond.study.forests.report.compared import compared_cell
from linforest_precond.study.forests.report.rounding import charges, single_precision
from linforest_precond.study.forests.tables import (
    CONFIGURATIONS,
    DEGREES,
    TABLE3,
    TABLE4,
    TABLE5,
    Quantity,
    by_rule,
    rules,
)
from linforest_precond.study.formats import count, is_reduced, is_standin
from linforest_precond.study.json_types import JsonObject
from linforest_precond.study.report.blocks import (
    REDUCED_MEANS,
    STANDIN_MEANS,
    Head,
    badge,
    case_name,
    full_name,
    not_run,
    paragraph,
    row,
    table,
)
from linforest_precond.study.report.markup import Html, join, tag

ORIGINS: dict[Any, str] = {
    "generated": "generated",
    "stand-in": "generated stand-in",
    "collection": "SuiteSparse Matrix Collection",
    "gallery": "PyAMG’s gallery",
    "file": "a file",
}
CHARGING = {
    (1, 0): "no charging at all",
    (5, 0): "no charging on k = 0, 5, 10, …",
    (5, 1): "no charging on k = 1, 6, 11, …",
}
C5 = tag("span", "c", tag("sub", "π"), "(5)")
CMAX = tag("span", "c", tag("sub", "π"), "(M", tag("sub", "max"), ")")
MMAX = tag("span", "M", tag("sub", "max"))


def matrices(study: JsonObject) -> Html:
    """Table 3."""
    heads = [
        [Head("Matrix"), Head("Origin"), Head("Symmetric"), Head("N"), Head("Entries"), Head("Mean degree")]
    ]
    rows = [row(full_name(case), [_origin(case), *_cells(case, TABLE3)]) for case in study["cases"]]
    caption = "The matrices. Table 3 of the paper; published values in small print."
    return join(_legend(study["cases"]), table(caption, heads, [rows], "matrices"))


def _legend(cases: list[JsonObject]) -> Html | None:
    """The meaning of the badges that occur."""
    lines = []
    if any(map(is_standin, cases)):
        text = f" {STANDIN_MEANS}, but a different matrix: values need not agree."
        lines.append(paragraph(badge("stand-in", "standin"), text))
    if any(map(is_reduced, cases)):
        lines.append(paragraph(badge("reduced", "reduced"), f" {REDUCED_MEANS}."))
    return tag("div", lines, class_="note") if lines else None


def _origin(case: JsonObject) -> Html:
    origin = ORIGINS.get(case.get("origin"), case.get("origin") or "–")
    status: dict[Any, Html] = {
        "failed": badge("failed", "failed"),
        "missing": badge("not available", "missing"),
    }
    note = case.get("note")
    small = tag("small", note) if note else None
    return tag("td", origin, " ", status.get(case.get("status")), small, class_="text")


def _cells(case: JsonObject, quantities: tuple[Quantity, ...]) -> list[Html]:
    return [compared_cell(case, quantity) for quantity in quantities]


def coverages(study: JsonObject) -> Html:
    """Tables 4 and 5, for each order among equal weights."""
    cases = done(study, "coverage")
    if not cases:
        return not_run()
    return join(_explanation(), _table4(cases), _table5(cases), charges(cases), single_precision(cases))


def _explanation() -> Html:
    return join(
        paragraph(
            "Coverage: the share of the off-diagonal weight in a [0,n]-factor, a set of edges with at most n "
            "at each vertex. Below our value, in small print: the paper’s, and in parentheses the "
            "difference. Differences of more than 0.01 are ",
            tag("span", "marked", class_="departs"),
            " where the matrix is the paper’s own at the paper’s size.",
        ),
        paragraph(
            "Ties: the order among edges of equal weight. “index” is by vertex numbers, as in a kernel that "
            "keeps the first of equal entries of a row; “random” is by a hash of the edge; “auto”, the "
            "library’s default, is by index in uncharged iterations and by a new hash in charged ones. The "
            "paper names no order. Its parallel algorithm agrees with ties by index, its greedy one with "
            "random ties (as of a sort that is not stable); published values stand beside these."
        ),
    )


def _table4(cases: list[JsonObject]) -> Html:
    groups = [Head(CHARGING[pair], 3, explained="m = {}, k_m = {}".format(*pair)) for pair in CONFIGURATIONS]
    heads = [
        [
            Head("Matrix", rows=2),
            Head("Ties", rows=2, explained="the order among edges of equal weight"),
            *groups,
            Head("Greedy", rows=2, explained="sequential, Algorithm 1 of the paper"),
        ],
        [Head(C5), Head(CMAX), Head(MMAX)] * len(CONFIGURATIONS),
    ]
    caption = f"Coverage of the [0,2]-factor. Table 4 of the paper; {_number(cases)}."
    return table(caption, heads, [_body(case, TABLE4) for case in cases], "runs")


def _table5(cases: list[JsonObject]) -> Html:
    top = [Head("Matrix", rows=2), Head("Ties", rows=2), Head(tag("span", "c", tag("sub", "id")), rows=2)]
    top += [Head(f"n = {n}", 2) for n in DEGREES] + [Head("2×2 blocks", 2)]
    below = [Head("parallel"), Head("greedy")] * len(DEGREES) + [Head("m = 1"), Head("m = 5")]
    caption = f"Coverage of the [0,n]-factors after five iterations. Table 5 of the paper; {_number(cases)}."
    return table(caption, [top, below], [_body(case, TABLE5) for case in cases], "runs")


def _body(case: JsonObject, quantities: tuple[Quantity, ...]) -> list[Html]:
    """A row for each order among equal weights; cases of older studies have one."""
    found = rules(case) or [""]
    name = tag("th", case_name(case), scope="rowgroup", rowspan=len(found))
    return [
        tag("tr", name if rule == found[0] else None, tag("th", rule or "–", scope="row"), cells)
        for rule in found
        for cells in [[_rule_cell(case, rule, quantity) for quantity in quantities]]
    ]


def _rule_cell(case: JsonObject, rule: str, quantity: Quantity) -> Html:
    """The published value stands beside ours where the order is the one that is compared."""
    if not rule:
        return compared_cell(case, quantity)
    ties = case["coverage"].get("ties") or {}
    due = ties.get("sequential" if quantity.key.startswith("sequential") else "parallel")
    view = by_rule(case, rule)
    return compared_cell(view if rule == due else view | {"paper": None}, quantity)


def _number(cases: list[JsonObject]) -> str:
    return f"{count(len(cases))} {'matrix' if len(cases) == 1 else 'matrices'}"
