"""`Tables`: the tables of a study, as CSV files and in the report."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

from linforest_precond.study.csv_tables import CsvTable
from linforest_precond.study.report_tables import Cell, Heading, Row
from linforest_precond.study.results import JsonObject

Rows: TypeAlias = Callable[[JsonObject], list[JsonObject]]


class Column(NamedTuple):
    """
    A column of the report, and of the CSV file where `field` names a field of the rows.

    `field` can be a function of the row instead; its value is in the report alone.
    """

    field: str | Callable[[JsonObject], Any]
    heading: Heading
    show: Callable[[Any], Any] = str
    published: str | None = None  # the field of the published value


class Listing:
    """A table of a study, made by `Tables.listing`."""

    def __init__(
        self,
        name: str,
        description: str,
        rows: Rows,
        columns: tuple[Column | str, ...],
        closing: Rows,
        missing: str,
    ) -> None:
        self.name, self.description, self.rows, self.columns = name, description, rows, columns
        self.closing, self.missing = closing, missing
        self.in_csv = bool(description)
        self.shown_columns = [column for column in columns if isinstance(column, Column)]
        self.in_report = bool(self.shown_columns)

    def csv(self, study: JsonObject) -> CsvTable:
        """The CSV file."""
        rows = self.rows(study)
        fields = self._fields(rows)
        named = [{field: _name(row[field]) for field in fields if field in row} for row in rows]
        return CsvTable(self.name, fields, named, self.description)

    def _fields(self, rows: list[JsonObject]) -> tuple[str, ...]:
        """A published value is beside ours unless a string names its field, too."""
        words = [column.split() if isinstance(column, str) else [] for column in self.columns]
        named = {word for each in words for word in each}
        fields: list[str] = []
        for column, own in zip(self.columns, words):
            shown = (column.field, column.published) if isinstance(column, Column) else ()
            fields += own + [name for name in shown if isinstance(name, str) and name not in named]
        if "*" in named:
            fields.remove("*")
            fields += dict.fromkeys(name for row in rows for name in row if name not in fields)
        return tuple(fields)

    def shown(self, study: JsonObject) -> list[Row]:
        """The rows for the macro `table`."""
        rows = self.rows(study)
        rows += self.closing(study) if rows else []
        return [{column.heading: self._cell(row, column) for column in self.shown_columns} for row in rows]

    def _cell(self, row: JsonObject, column: Column) -> Any:
        if callable(column.field):
            return column.field(row)
        value = row.get(column.field)
        if isinstance(value, Cell | dict):  # a dict is the record of a case
            return value
        published = row.get(column.published) if column.published else None
        text = self.missing if value is None else column.show(value)
        return Cell(text, None if published is None else column.show(published))


class Tables(list[Listing]):
    """The tables of a study: decorated functions from the study to records, in the order of definition."""

    def listing(
        self,
        *columns: Column | str,
        name: str | None = None,
        closing: Rows = lambda study: [],
        missing: str = "",
        csv: bool = True,
    ) -> Callable[[Rows], Rows]:
        """
        A decorator: the records that a function returns are a table.

        The first paragraph of its docstring describes the CSV file in the report's list of files. A value
        that is the record of a case is shown as the name of the case.

        Parameters
        ----------
        *columns : Column or str
            A string names fields of the CSV file that the report does not have; "*" are all further ones.
        name : str, optional
            Of the CSV file, and the variable of the template; by default the function's.
        closing : callable
            study -> last rows, which the report alone has.
        missing : str
            The text of missing values in the report.
        csv : bool
            Whether there is a CSV file.
        """

        def added(rows: Rows) -> Rows:
            description = _in_a_list(rows.__doc__ or "") if csv else ""
            self.append(Listing(name or rows.__name__, description, rows, columns, closing, missing))
            return rows

        return added


def _in_a_list(docstring: str) -> str:
    """The first paragraph without its full stop; lower case, unless it begins with a name."""
    text = " ".join(docstring.partition("\n\n")[0].split()).removesuffix(".")
    return text[0].lower() + text[1:] if text.split()[0][1:].islower() or text[1] == " " else text


def _name(value: Any) -> Any:
    """The name of a case; other values as they are."""
    return value["name"] if isinstance(value, dict) else value
