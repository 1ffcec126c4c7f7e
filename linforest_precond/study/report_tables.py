"""Values, headings and rows of the tables in a report, which ``templates/macros.html`` turns into HTML."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby
from typing import Any, NamedTuple, TypeAlias

from linforest_precond.study.number_formats import count, fixed
from linforest_precond.study.results import JsonObject

# The heading of a column, or that of a group of columns and its own.
Heading: TypeAlias = str | tuple[str, str]
# The values of a row: text, cells, or the record of a case, of which the name is shown.
Row: TypeAlias = dict[Heading, Any]


class Html(str):
    """Text that is HTML already; everything else is escaped."""

    def __html__(self) -> str:
        return self


class Badge(NamedTuple):
    """A word on a coloured ground; the colour is that of a class of the style sheet."""

    text: str
    kind: str
    explained: str | None = None  # tooltip


class Cell(NamedTuple):
    """A value of a table, and what is shown with it."""

    text: str
    published: str | None = None  # the paper's value, in small print
    change: str | None = None  # the difference from it
    departs: bool = False  # marked as different
    best: bool = False  # bold
    words: bool = False  # aligned to the left
    badge: Badge | None = None
    after: str | None = None  # text after the badge
    note: str | None = None  # in small print
    swatch: str | None = None  # the colour of a curve


class Head(NamedTuple):
    """A heading over some columns, which is some lines high."""

    text: str
    columns: int = 1
    rows: int = 1
    first: bool = False  # of a group of columns


def headings(columns: Iterable[Heading]) -> list[list[Head]]:
    """The lines of headings of a table: groups above their columns; others have both lines."""
    named = [column if isinstance(column, tuple) else ("", column) for column in columns]
    if not any(group for group, _ in named):
        return [[Head(own) for _, own in named]]
    top: list[Head] = []
    below: list[Head] = []
    for group, members in groupby(named, key=lambda pair: pair[0]):
        own = [name for _, name in members]
        if group:
            top.append(Head(group, columns=len(own), first=True))
            below += [Head(name, first=place == 0) for place, name in enumerate(own)]
        else:
            top += [Head(name, rows=2) for name in own]
    return [top, below]


def bodies(rows: list[Row], heads: int) -> list[list[Row]]:
    """The rows of each case where two columns name the rows, otherwise all of them."""
    if heads == 1:
        return [rows]
    return [list(found) for _, found in groupby(rows, key=lambda row: id(next(iter(row.values()))))]


def matrix_rows(study: JsonObject) -> list[Row]:
    """The matrices of a study with their sizes and statuses."""
    return [
        {
            "Matrix": case,
            "Status": Cell("", words=True, badge=_status(case), note=case.get("note")),
            "N": count(case.get("rows")),
            "Entries": count(case.get("nnz")),
            "Mean degree": fixed(case.get("mean_degree"), 2),
        }
        for case in study["cases"]
    ]


def _status(case: JsonObject) -> Badge:
    status = str(case.get("status"))
    return Badge({"missing": "not available"}.get(status, status), {"done": "ok"}.get(status, status))
