"""The tables of a study: CSV files, and rows that ``templates/macros.html`` turns into HTML."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from linforest_precond.matrices.readers.atomic_files import write_text
from linforest_precond.package_imports import study_module
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


# Spreadsheets evaluate text that begins with one of these as a formula (CSV injection).
FORMULA = ("=", "+", "-", "@", "\t", "\r")


@dataclass(frozen=True)
class CsvTable:
    """A table of a study: the name of its file, its columns, and a description for the report."""

    name: str
    columns: Sequence[str]
    rows: list[dict[str, Any]]
    description: str

    @property
    def file(self) -> str:
        return f"{self.name}.csv"

    def text(self) -> str:
        """The contents of the file."""
        values = [[_no_formula(row.get(column)) for column in self.columns] for row in self.rows]
        # dtype=object keeps integers beside missing values.
        frame = study_module("pandas").DataFrame(values, columns=list(self.columns), dtype=object)
        return frame.to_csv(index=False, lineterminator="\r\n")


def write_tables(tables: Iterable[CsvTable], folder: Path) -> list[Path]:
    """Write tables as CSV files, with all digits of their numbers; the folder is created if necessary."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    return [write_text(folder / table.file, table.text()) for table in tables]


def _no_formula(value: Any) -> Any:
    return f"'{value}" if isinstance(value, str) and value.startswith(FORMULA) else value


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
