"""The numbers that Fagginger Auer & Bisseling (2012) print; their figures have no tables."""

from __future__ import annotations

import csv
import functools
from importlib import resources


@functools.cache
def published() -> dict[str, float]:
    """
    The printed numbers by key; `published.csv` says where each is found.

    Examples
    --------
    >>> from linforest_precond.study.matching.published import published
    >>> published()["gain"], published()["greedy"]
    (1.15, 0.85)
    """
    text = resources.files(__package__).joinpath("published.csv").read_text(encoding="utf-8")
    return {line["key"]: float(line["value"]) for line in csv.DictReader(text.splitlines())}
