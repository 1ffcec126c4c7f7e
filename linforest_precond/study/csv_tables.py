"""Tables of a study as CSV files."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from linforest_precond.matrices.readers.atomic_files import write_text
from linforest_precond.study.json_types import JsonObject


@dataclass(frozen=True)
class Table:
    """A table for a CSV file: a file name, columns, and rows with a value for each column."""

    name: str
    columns: tuple[str, ...]
    rows: list[dict[str, Any]]
    description: str = ""  # in the list of files of the report

    @property
    def file(self) -> str:
        return f"{self.name}.csv"

    def write(self, folder: Path) -> Path:
        """Write the file atomically and return its path."""
        path = Path(folder) / self.file
        text = io.StringIO(newline="")
        writer = csv.DictWriter(text, self.columns, restval="")
        writer.writeheader()
        writer.writerows(self.rows)
        return write_text(path, text.getvalue())


def dig(record: Any, *keys: str) -> Any:
    """The value under nested keys, None where one of them is missing."""
    for key in keys:
        record = record.get(key) if isinstance(record, dict) else None
    return record


def done(study: JsonObject, part: str | None = None) -> list[JsonObject]:
    """The finished cases, or those of them with the given part."""
    cases = [case for case in study["cases"] if case.get("status") == "done"]
    return [case for case in cases if part is None or case.get(part)]


def write_tables(tables: Iterable[Table], folder: Path) -> list[Path]:
    """
    Write tables as CSV files; the folder is created if necessary.

    Numbers are written with all their digits; an empty field was not computed.

    Examples
    --------
    >>> import tempfile
    >>> from linforest_precond.study.csv_tables import Table, write_tables
    >>> sizes = Table("sizes", ("name", "rows"), [{"name": "aniso1:10", "rows": 100}])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     (path,) = write_tables([sizes], folder)
    ...     print(path.name, path.read_text().split())
    sizes.csv ['name,rows', 'aniso1:10,100']
    """
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    return [table.write(folder) for table in tables]
