"""The numbers that the papers print, from the file ``published.csv`` of each study's folder."""

from __future__ import annotations

import csv
import functools
from importlib import resources
from typing import Any


def csv_lines(paper: str, name: str) -> list[dict[str, str]]:
    """The lines of a CSV file in a study's folder; none where there is no such file."""
    file = resources.files(f"{__package__}.{paper}").joinpath(name)
    return list(csv.DictReader(file.read_text(encoding="utf-8").splitlines())) if file.is_file() else []


def _lines(paper: str) -> list[dict[str, str]]:
    return csv_lines(paper, "published.csv")


def _value(text: str) -> Any:
    try:
        return float(text)
    except ValueError:
        return text


@functools.cache
def published_rows(paper: str) -> list[dict[str, Any]]:
    """The lines of the file; numbers that are not printed are left out."""
    return [{key: _value(text) for key, text in line.items() if text} for line in _lines(paper)]


@functools.cache
def named_rows(paper: str) -> dict[str, dict[str, Any]]:
    """The lines of a file by their field ``name``."""
    rows = (dict(row) for row in published_rows(paper))
    return {row.pop("name"): row for row in rows}


@functools.cache
def keyed_numbers(paper: str) -> dict[str, float]:
    """The numbers of a file of keys and values; its third column tells where each is printed."""
    return {row["key"]: row["value"] for row in published_rows(paper)}


def published_number(paper: str, name: str | None, column: str) -> Any:
    """A number of one line; None for other names, and where it is not printed."""
    return named_rows(paper).get(name or "", {}).get(column)
