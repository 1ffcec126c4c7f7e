"""Tables 4.1 to 4.4 of Mandulak (2025)."""

from __future__ import annotations

import csv
import functools
from importlib import resources

# Edges per matching of table 4.4, by the product of a rate with the time of table 4.1.
RATES = {"ld": ("ld_mmeps", "ld_gpu"), "sr": ("sr_mmeps", "sr_omp")}


@functools.cache
def published() -> dict[str, dict[str, float]]:
    """
    The numbers of the four tables by graph and column; those that are not printed are left out.

    Examples
    --------
    >>> from linforest_precond.study.scale.published import published
    >>> published()["mycielskian18"]["ld_gap"], "ld_gap" in published()["GAP-kron"]
    (12.5, False)
    """
    text = resources.files(__package__).joinpath("published.csv").read_text(encoding="utf-8")
    lines = {line.pop("graph"): line for line in csv.DictReader(text.splitlines())}
    return {graph: {key: float(cell) for key, cell in line.items() if cell} for graph, line in lines.items()}


def implied_edges(row: dict[str, float], code: str) -> float | None:
    """
    Matched edges that a printed rate (table 4.4) and time (table 4.1) imply together.

    Examples
    --------
    >>> from linforest_precond.study.scale.published import implied_edges, published
    >>> row = published()["com-Friendster"]
    >>> [round(implied_edges(row, code) / 1e6, 1) for code in ("ld", "sr")]
    [26.2, 26.2]
    """
    rate, seconds = RATES[code]
    return 1e6 * row[rate] * row[seconds] if rate in row and seconds in row else None
