"""Tables of a study as CSV files, written by pandas."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from linforest_precond.matrices.readers.atomic_files import write_text
from linforest_precond.study.extras import study_module

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
