"""`Listing`: a table of a study, as a CSV file and in the report."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from linforest_precond.study.csv_tables import CsvTable
from linforest_precond.study.report_tables import Cell, Heading, Row
from linforest_precond.study.results import CASE, JsonObject


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
    """
    A table: records of a study, and its columns.

    Parameters
    ----------
    name : str
        Of the CSV file, and the variable of the template.
    description : str
        Of the CSV file, in the report's list of files; without one there is no file.
    rows : callable
        study -> the records. The field `CASE` holds the record of a case.
    *columns : Column or str
        A string is a field of the CSV file that the report does not have.
    closing : callable
        study -> last rows, which the report alone has.
    case : str
        The heading of the names of the cases in the CSV file.
    missing : str
        The text of missing values in the report.
    all_fields : bool
        Whether the CSV file has all other fields of the records, too.
    """

    def __init__(
        self,
        name: str,
        description: str,
        rows: Callable[[JsonObject], list[JsonObject]],
        *columns: Column | str,
        closing: Callable[[JsonObject], list[JsonObject]] = lambda study: [],
        case: str = CASE,
        missing: str = "",
        all_fields: bool = False,
    ) -> None:
        self.name, self.description, self.rows, self.columns = name, description, rows, columns
        self.closing, self.case, self.missing, self.all_fields = closing, case, missing, all_fields
        self.in_csv = bool(description)
        self.shown_columns = [column for column in columns if isinstance(column, Column)]
        self.in_report = bool(self.shown_columns)

    def csv(self, study: JsonObject) -> CsvTable:
        """The CSV file; a published value is beside ours unless its field is a column of its own."""
        fields: list[str] = []
        for column in self.columns:
            names = (column,) if isinstance(column, str) else (column.field, column.published)
            others = {other for other in self.columns if other is not column and isinstance(other, str)}
            fields += [name for name in names if isinstance(name, str) and name not in others]
        rows = self.rows(study)
        if self.all_fields:
            fields += dict.fromkeys(name for row in rows for name in row if name not in fields)
        named = [row | ({self.case: row[CASE]["name"]} if CASE in row else {}) for row in rows]
        columns = tuple(self.case if name == CASE else name for name in fields)
        return CsvTable(self.name, columns, named, self.description)

    def shown(self, study: JsonObject) -> list[Row]:
        """The rows for the macro `table`."""
        rows = self.rows(study)
        rows += self.closing(study) if rows else []
        return [{column.heading: self._cell(row, column) for column in self.shown_columns} for row in rows]

    def _cell(self, row: JsonObject, column: Column) -> Any:
        if callable(column.field):
            return column.field(row)
        value = row.get(column.field)
        if column.field == CASE or isinstance(value, Cell):
            return value
        published = row.get(column.published) if column.published else None
        text = self.missing if value is None else column.show(value)
        return Cell(text, None if published is None else column.show(published))
