"""The numbers that the papers print, from the file ``published.csv`` of each paper's folder."""

from __future__ import annotations

import csv
import functools
from importlib import resources
from typing import NamedTuple


def _lines(paper: str) -> list[dict[str, str]]:
    text = resources.files(f"{__package__}.{paper}").joinpath("published.csv").read_text(encoding="utf-8")
    return list(csv.DictReader(text.splitlines()))


def _numbers(line: dict[str, str], *words: str) -> dict[str, float]:
    """The fields that are numbers; those that are not printed are left out."""
    return {key: float(text) for key, text in line.items() if text and key not in words}


@functools.cache
def keyed_numbers(paper: str) -> dict[str, float]:
    """The numbers of a paper by key; the file says where each is found."""
    return {line["key"]: float(line["value"]) for line in _lines(paper)}


def matching_numbers() -> dict[str, float]:
    """The numbers of Fagginger Auer & Bisseling (2012)."""
    return keyed_numbers("matching")


@functools.cache
def named_rows(paper: str) -> dict[str, dict[str, float]]:
    """The rows of the tables of a paper by the field ``name``; numbers that are not printed are left out."""
    return {line["name"]: _numbers(line, "name") for line in _lines(paper)}


class RcmRow(NamedTuple):
    """A row of table I of Mlakar et al. (2021); rows and entries are rounded, times in milliseconds."""

    group: str  # of the SuiteSparse collection; not in the table
    numbers: dict[str, float]


@functools.cache
def rcm_table() -> dict[str, RcmRow]:
    """Table I of Mlakar et al. (2021) by the names that the matrices have in the collection."""
    return {line["name"]: RcmRow(line["group"], _numbers(line, "name", "group")) for line in _lines("rcm")}


def rcm_number(name: str | None, quantity: str) -> float | None:
    """A number of a matrix in table I; None for other matrices, and where an approach did not run."""
    found = rcm_table().get(name or "")
    return None if found is None else found.numbers.get(quantity)


class GraphTimes(NamedTuple):
    """Seconds of Cichra (2024) on one thread (CPU), on 16 threads (HOST) and on a Tesla V100 (GPU)."""

    cpu: float
    host: float
    gpu: float


class GraphKey(NamedTuple):
    """An algorithm by the thesis' name, and a graph by its density and size."""

    algorithm: str
    density: float
    size: int


@functools.cache
def graph_times() -> dict[GraphKey, GraphTimes]:
    """The times of Cichra (2024): figures 7.2, 7.4, 7.6, 7.8, 7.10 and 7.12."""
    return {
        GraphKey(line["algorithm"], float(line["density"]), int(line["size"])): GraphTimes(
            *(float(line[device]) for device in GraphTimes._fields)
        )
        for line in _lines("graphs")
    }


def scale_tables() -> dict[str, dict[str, float]]:
    """Tables 4.1 to 4.4 of Mandulak (2025) by graph and column."""
    return named_rows("scale")
