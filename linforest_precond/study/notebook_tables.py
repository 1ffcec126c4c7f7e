"""Tables in the style of the reports, for notebooks; as text elsewhere."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping
from itertools import groupby
from typing import Any, TypeAlias

from linforest_precond.study.report.markup import Html, join, tag

# The name of a column, or that of a group of columns and its own.
Column: TypeAlias = str | tuple[str, str]

# Notebooks have light and dark themes of their own: colours are theirs, lines are half transparent.
STYLE = """
.linforest-table { border-collapse: collapse; font-variant-numeric: tabular-nums; margin: 0; }
.linforest-table caption { text-align: left; font-weight: 600; padding: .4rem 0; caption-side: top; }
.linforest-table :is(th, td) { text-align: right; padding: .25rem .6rem; white-space: nowrap;
  border: 0 solid rgb(128 128 128 / .35); background: none; }
.linforest-table thead th { font-weight: 600; opacity: .75; }
.linforest-table thead tr:last-child th { border-bottom-width: 1px; }
.linforest-table .first { border-left-width: 1px; }
.linforest-table thead th[colspan] { text-align: center; }
.linforest-table tbody th { text-align: left; font-weight: 500; }
.linforest-table tbody tr:not(:last-child) :is(th, td) { border-bottom-width: 1px; }
"""


class NotebookTable:
    """A table of texts that a notebook shows in the style of the reports; made by `table`."""

    def __init__(
        self, rows: Mapping[str, Mapping[Column, Any]], caption: str, bold: Collection[tuple[str, Column]]
    ):
        self.rows = {name: {_pair(c): str(v) for c, v in row.items()} for name, row in rows.items()}
        self.columns = list(dict.fromkeys(column for row in self.rows.values() for column in row))
        self.caption, self.bold = caption, {(row, _pair(column)) for row, column in bold}

    @property
    def groups(self) -> list[tuple[str, int]]:
        """The names over the columns, and how many columns each has."""
        return [(name, len(list(found))) for name, found in groupby(group for group, _ in self.columns)]

    def _starts(self, column: tuple[str, str]) -> bool:
        """Whether a column is the first of its group."""
        place = self.columns.index(column)
        return bool(column[0]) and (place == 0 or self.columns[place - 1][0] != column[0])

    def _repr_html_(self) -> str:
        caption = tag("caption", self.caption) if self.caption else None
        body = tag("tbody", [self._row(name, row) for name, row in self.rows.items()])
        table = tag("table", caption, tag("thead", self._heads()), body, class_="linforest-table")
        return join(tag("style", Html(STYLE)), table)

    def _heads(self) -> list[Html]:
        names = [self._cell("th", column, column[1], scope="col") for column in self.columns]
        own = tag("tr", tag("th", scope="col"), names)
        if not any(group for group, _ in self.columns):
            return [own]
        groups = [
            tag("th", name, colspan=count, scope="colgroup", class_="first" if name else None)
            for name, count in self.groups
        ]
        return [tag("tr", tag("td"), groups), own]

    def _row(self, name: str, row: Mapping[tuple[str, str], str]) -> Html:
        cells = []
        for column in self.columns:
            text = row.get(column, "")
            content = tag("strong", text) if (name, column) in self.bold else text
            cells.append(self._cell("td", column, content))
        return tag("tr", tag("th", name, scope="row"), cells)

    def _cell(self, kind: str, column: tuple[str, str], content: Any, **attributes: Any) -> Html:
        return tag(kind, content, class_="first" if self._starts(column) else None, **attributes)

    def __str__(self) -> str:
        """Columns of text; bold ones have an asterisk."""
        lines = [["", *(group if self._starts((group, own)) else "" for group, own in self.columns)]]
        lines.append(["", *(own for _, own in self.columns)])
        for name, row in self.rows.items():
            marks = ("*" if (name, column) in self.bold else "" for column in self.columns)
            lines.append([name, *(row.get(column, "") + mark for column, mark in zip(self.columns, marks))])
        widths = [max(map(len, texts)) for texts in zip(*lines)]
        printed = (
            "  ".join(
                text.rjust(width) if place else text.ljust(width)
                for place, (text, width) in enumerate(zip(line, widths))
            )
            for line in (lines if any(lines[0]) else lines[1:])
        )
        return "\n".join([*([self.caption] if self.caption else []), *(line.rstrip() for line in printed)])

    def __repr__(self) -> str:
        return f"<table of {len(self.rows)} rows and {len(self.columns)} columns>"


def table(
    rows: Mapping[str, Mapping[Column, Any]], *, caption: str = "", bold: Collection[tuple[str, Column]] = ()
) -> NotebookTable:
    """
    A table that notebooks show in the style of the reports, and `print` shows as text.

    Parameters
    ----------
    rows : dict of dicts
        The values by the names of rows and columns, as they are to be shown. The name of a column may be a
        pair, of the name of a group of columns and its own.
    caption : str
        Above the table.
    bold : collection of (row, column)
        The values that stand out; `print` marks them with an asterisk.

    Returns
    -------
    NotebookTable

    Examples
    --------
    >>> import linforest_precond as lf
    >>> rows = {
    ...     "aniso1": {("Jacobi", "iterations"): 210, ("forest", "iterations"): 92},
    ...     "aniso2": {("Jacobi", "iterations"): 205, ("forest", "iterations"): 98},
    ... }
    >>> print(lf.plots.table(rows, caption="Iterations", bold=[("aniso1", ("forest", "iterations"))]))
    Iterations
                Jacobi      forest
            iterations  iterations
    aniso1         210         92*
    aniso2         205          98
    """
    return NotebookTable(rows, caption, bold)


def _pair(column: Hashable) -> tuple[str, str]:
    if isinstance(column, tuple):
        group, own = column
        return str(group), str(own)
    return "", str(column)
