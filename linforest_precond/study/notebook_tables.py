"""Tables that notebooks show in the style of the reports, and `print` as text."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from linforest_precond.backends.arguments import shown
from linforest_precond.backends.user_warnings import named_arguments
from linforest_precond.package_imports import study_module
from linforest_precond.study.listings import Heading
from linforest_precond.study.templating import environment


class NotebookTable:
    """A table of texts that a notebook shows in the style of the reports; made by `table`."""

    def __init__(
        self, rows: Mapping[str, Mapping[Heading, Any]], caption: str, bold: Collection[tuple[str, Heading]]
    ):
        self.rows, self.caption, self.bold = rows, caption, set(bold)
        self.columns = list(dict.fromkeys(column for row in rows.values() for column in row))
        self.groups = [str(column[0]) if isinstance(column, tuple) else "" for column in self.columns]

    def _repr_html_(self) -> str:
        template = environment().get_template("notebook_table.html")
        before = ["", *self.groups]
        first = [group not in ("", other) for group, other in zip(self.groups, before)]
        return template.render(vars(self), first=dict(zip(self.columns, first)))

    def __str__(self) -> str:
        """Columns of text; bold ones have an asterisk."""
        pandas = study_module("pandas")
        own = [str(column[1] if isinstance(column, tuple) else column) for column in self.columns]
        columns = pandas.MultiIndex.from_arrays([self.groups, own]) if any(self.groups) else own
        texts = [[self._text(name, column) for column in self.columns] for name in self.rows]
        frame = pandas.DataFrame(texts, index=list(self.rows), columns=columns)
        lines = frame.to_string().splitlines() if texts else []
        return "\n".join([*([self.caption] if self.caption else []), *(line.rstrip() for line in lines)])

    def _text(self, name: str, column: Heading) -> str:
        mark = "*" if (name, column) in self.bold else ""
        return f"{self.rows[name].get(column, '')}{mark}"

    def __repr__(self) -> str:
        return f"<table of {len(self.rows)} rows and {len(self.columns)} columns>"


@named_arguments
def table(
    rows: Mapping[str, Mapping[Heading, Any]],
    *,
    caption: str = "",
    bold: Collection[tuple[str, Heading]] = (),
) -> NotebookTable:
    """A table that notebooks show in the style of the reports, and `print` shows as text.

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
    if not isinstance(rows, Mapping):
        raise TypeError(f"rows must be a dict of dicts, the values by row and column, got {shown(rows)}")
    return NotebookTable(rows, caption, bold)
