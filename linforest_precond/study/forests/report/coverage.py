"""Matrices and coverages: our values for tables 3, 4 and 5 of the paper."""

from __future__ import annotations

from typing import Any

from linforest_precond.study.csv_tables import done
from linforest_precond.study.forests.report.compared import compared_cell
from linforest_precond.study.forests.tables import CONFIGURATIONS, DEGREES, TABLE3, TABLE4, TABLE5, Quantity
from linforest_precond.study.formats import count, is_reduced, is_standin
from linforest_precond.study.json_types import JsonObject
from linforest_precond.study.report.blocks import (
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
        text = " generated to resemble the paper’s matrix, but a different matrix: values need not agree."
        lines.append(paragraph(badge("stand-in", "standin"), text))
    if any(map(is_reduced, cases)):
        lines.append(paragraph(badge("reduced", "reduced"), " smaller than the paper’s matrix."))
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
    """Tables 4 and 5."""
    cases = done(study, "coverage")
    if not cases:
        return not_run()
    return join(_explanation(), _table4(cases), _table5(cases))


def _explanation() -> Html:
    return paragraph(
        "Coverage: the share of the off-diagonal weight in a [0,n]-factor, a set of edges with at most n at "
        "each vertex. Below our value, in small print: the paper’s, and in parentheses the difference. "
        "Differences of more than 0.01 are ",
        tag("span", "marked", class_="departs"),
        " where the matrix is the paper’s own at the paper’s size.",
    )


def _table4(cases: list[JsonObject]) -> Html:
    groups = [Head(CHARGING[pair], 3, explained="m = {}, k_m = {}".format(*pair)) for pair in CONFIGURATIONS]
    heads = [
        [
            Head("Matrix", rows=2),
            *groups,
            Head("Greedy", rows=2, explained="sequential, Algorithm 1 of the paper"),
        ],
        [Head(C5), Head(CMAX), Head(MMAX)] * len(CONFIGURATIONS),
    ]
    rows = [row(case_name(case), _cells(case, TABLE4)) for case in cases]
    caption = f"Coverage of the [0,2]-factor. Table 4 of the paper; {_number(cases)}."
    return table(caption, heads, [rows], "coverage")


def _table5(cases: list[JsonObject]) -> Html:
    top = [Head("Matrix", rows=2), Head(tag("span", "c", tag("sub", "id")), rows=2)]
    top += [Head(f"n = {n}", 2) for n in DEGREES] + [Head("2×2 blocks", 2)]
    below = [Head("par."), Head("greedy")] * len(DEGREES) + [Head("m = 1"), Head("m = 5")]
    rows = [row(case_name(case), _cells(case, TABLE5)) for case in cases]
    caption = f"Coverage of the [0,n]-factors after five iterations. Table 5 of the paper; {_number(cases)}."
    return table(caption, [top, below], [rows], "coverage")


def _number(cases: list[JsonObject]) -> str:
    return f"{count(len(cases))} {'matrix' if len(cases) == 1 else 'matrices'}"
