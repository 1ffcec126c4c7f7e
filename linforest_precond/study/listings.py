"""`Listing`: a table of a study, both as a CSV file and in the report."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from types import ModuleType
from typing import Any, NamedTuple

from linforest_precond.study.csv_tables import CsvTable
from linforest_precond.study.report_tables import Cell, Heading, Row, matrix_rows
from linforest_precond.study.results import CASE, JsonObject


class Column(NamedTuple):
    """A column: the field of the rows, its heading, its format, and the field of the published value."""

    field: str
    heading: Heading
    show: Callable[[Any], str] = str
    published: str | None = None


@dataclass(frozen=True)
class Listing:
    """A table: `rows` gives its fields from the study, and `further` are fields of the CSV file alone."""

    name: str
    description: str
    columns: tuple[Column, ...]
    rows: Callable[[JsonObject], list[JsonObject]]
    further: tuple[str, ...] = ()

    def csv(self, study: JsonObject) -> CsvTable:
        fields = [field for column in self.columns for field in (column.field, column.published) if field]
        rows = [row | ({CASE: row[CASE]["name"]} if CASE in row else {}) for row in self.rows(study)]
        return CsvTable(self.name, (*fields, *self.further), rows, self.description)

    def shown(self, study: JsonObject) -> list[Row]:
        """The rows for the macro `table`."""
        return [{column.heading: _cell(row, column) for column in self.columns} for row in self.rows(study)]


def _cell(row: JsonObject, column: Column) -> Any:
    value = row.get(column.field)
    if column.field == CASE:
        return value
    published = row.get(column.published) if column.published else None
    text = "" if value is None else column.show(value)
    return Cell(text, None if published is None else column.show(published))


def csv_tables(listings: Iterable[Listing]) -> Callable[[JsonObject], list[CsvTable]]:
    """The argument `tables` of a `Paper`."""
    return lambda study: [listing.csv(study) for listing in listings]


def report_of(listings: Iterable[Listing], plots: ModuleType) -> Callable[[JsonObject], JsonObject]:
    """The argument `report` of a `Paper`: the tables by name, the cases as `matrices`, and its plots."""
    return partial(_report, tuple(listings), plots)


def _report(listings: tuple[Listing, ...], plots: ModuleType, study: JsonObject) -> JsonObject:
    shown = {listing.name: listing.shown(study) for listing in listings}
    return {"plots": plots, "matrices": matrix_rows(study), **shown}
