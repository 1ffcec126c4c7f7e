"""The times that the thesis prints: figures 7.2, 7.4, 7.6, 7.8, 7.10 and 7.12."""

from __future__ import annotations

import csv
import functools
from importlib import resources
from typing import NamedTuple


class Times(NamedTuple):
    """Seconds on one thread (CPU), on 16 threads (HOST) and on a Tesla V100 (GPU)."""

    cpu: float
    host: float
    gpu: float


class Key(NamedTuple):
    """An algorithm by the thesis' name, and a graph by its density and size."""

    algorithm: str
    density: float
    size: int


THREADS = 16


@functools.cache
def published() -> dict[Key, Times]:
    """
    All printed times.

    Examples
    --------
    >>> from linforest_precond.study.graphs.published import published
    >>> len(published()), published()["MIS_opt3", 0.45, 7500].cpu
    (270, 3850.0)
    """
    text = resources.files(__package__).joinpath("published.csv").read_text(encoding="utf-8")
    return {
        Key(line["algorithm"], float(line["density"]), int(line["size"])): Times(
            *(float(line[device]) for device in Times._fields)
        )
        for line in csv.DictReader(text.splitlines())
    }


def densities() -> list[float]:
    return sorted({key.density for key in published()})


def sizes() -> list[int]:
    return sorted({key.size for key in published()})
