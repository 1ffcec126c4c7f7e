"""Table I of the paper: its matrices with their bandwidths and the milliseconds of each approach."""

from __future__ import annotations

import csv
import functools
from importlib import resources
from typing import NamedTuple, TypeAlias

Number: TypeAlias = float | None  # an empty field: the approach did not run


class PublishedRow(NamedTuple):
    """A row of table I; rows and entries are rounded there, times are in milliseconds."""

    group: str  # of the SuiteSparse collection; not in the table
    numbers: dict[str, Number]


@functools.cache
def published() -> dict[str, PublishedRow]:
    """
    The rows of table I by the names that the matrices have in the collection.

    Examples
    --------
    >>> from linforest_precond.study.rcm.published import published
    >>> len(published()), published()["ecology1"].numbers["cpu_rcm"]
    (26, 26.81)
    """
    text = resources.files(__package__).joinpath("published.csv").read_text(encoding="utf-8")
    return {row["name"]: _row(row) for row in csv.DictReader(text.splitlines())}


def _row(fields: dict[str, str]) -> PublishedRow:
    numbers = {name: float(text) if text else None for name, text in fields.items() if name not in _WORDS}
    return PublishedRow(fields["group"], numbers)


_WORDS = ("name", "group")


def published_number(name: str | None, quantity: str) -> Number:
    """A number of a matrix of the paper, None for other matrices."""
    found = published().get(name or "")
    return None if found is None else found.numbers[quantity]


def name_in_table(name: str) -> str | None:
    """The spelling of a name that the table has, ignoring case and the collection's group."""
    stem = name.rpartition("/")[2].lower()
    return next((known for known in published() if known.lower() == stem), None)
