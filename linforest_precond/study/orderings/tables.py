"""The tables of the study: gains over the natural order, the best orderings, correlations, refinement."""

from __future__ import annotations

import math
from collections.abc import Iterable
from statistics import correlation, geometric_mean

from linforest_precond.study.listings import Column, Tables
from linforest_precond.study.number_formats import count, fixed, seconds, three_digits, two_digits
from linforest_precond.study.orderings.measures import TIMED
from linforest_precond.study.published import published_number
from linforest_precond.study.results import CASE, JsonObject, done

NATURAL = "natural"
QUALITIES = {"log_gap": "log gap", "linear_gap": "linear gap", "misses": "misses"}
# The ordering of the thesis that is most like each of ours, and the thesis' algorithms.
LIKE = {
    "matching": "Rabbit",
    "matching, refined": "RabbitLogRefine",
    "matching, refined (linear)": "RabbitLinRefine",
    "labels": "LLP",
    "shingle": "Shingle",
    "natural, refined": "LogRefine",
    "natural, refined (linear)": "LinRefine",
}
ALGORITHMS = {"pagerank": "PageRank Timing", "components": "Multistep Timing", "louvain": "Louvain Timing"}

TABLES = Tables()


def quantity(found: JsonObject, name: str) -> float | None:
    """A metric or a time of one ordering."""
    value = found["times"].get(name) if name in TIMED else found.get(name)
    return None if value is None else float(value)


def gains(cases: Iterable[JsonObject], ordering: str, name: str) -> list[float]:
    """natural / ordering of each case in which both are known and not 0."""
    pairs = (
        (quantity(case["orderings"][NATURAL], name), quantity(case["orderings"][ordering], name))
        for case in cases
        if {NATURAL, ordering} <= case["orderings"].keys()
    )
    return [natural / other for natural, other in pairs if natural and other]


@TABLES.listing(
    Column("ordering", "Ordering"),
    *(Column(key, title, two_digits) for key, title in (QUALITIES | TIMED).items()),
    Column("time", "PageRank, components, Louvain", two_digits, "paper_time"),
)
def means(study: JsonObject) -> list[JsonObject]:
    """Geometric means over the graphs of natural / ordering, as in table 2.3."""
    cases = done(study, "orderings")
    names = dict.fromkeys(name for case in cases for name in case["orderings"])
    return [
        {"ordering": name, "paper_time": published_number("orderings", LIKE.get(name), "time")}
        | {key: mean_of(gains(cases, name, key)) for key in (*QUALITIES, *TIMED)}
        | {"time": mean_of([gain for key in ALGORITHMS for gain in gains(cases, name, key)])}
        for name in names
    ]


def mean_of(values: list[float]) -> float | None:
    return geometric_mean(values) if values else None


@TABLES.listing(
    Column(CASE, "Graph"),
    Column("rows", "Vertices", count),
    Column("log_gap_per_entry", "Log gap per entry", two_digits),
    Column("misses", "Misses per entry", three_digits),
    Column("spmv", "SpMV", seconds),
    *(Column(f"shown_{key}", f"Best {title}") for key, title in TIMED.items()),
)
def best(study: JsonObject) -> list[JsonObject]:
    """Each graph in its natural order, and the fastest ordering for each kernel."""
    return [_best_row(case) for case in done(study, "orderings")]


def _best_row(case: JsonObject) -> JsonObject:
    natural = case["orderings"][NATURAL]
    row = {CASE: case, "rows": case["rows"], "misses": natural["misses"], "spmv": natural["times"]["spmv"]}
    row |= {"log_gap_per_entry": natural["log_gap"] / max(case["nnz"], 1)}
    for key in TIMED:
        times = {name: quantity(found, key) for name, found in case["orderings"].items()}
        known = {name: value for name, value in times.items() if value}
        if known and NATURAL in known:
            name = min(known, key=lambda each: known[each])
            row |= {f"best_{key}": name, f"gain_{key}": known[NATURAL] / known[name]}
            row |= {f"shown_{key}": f"{name} {fixed(row[f'gain_{key}'], 2)} ×"}
    return row


@TABLES.listing(
    Column("quantity", "Quantity"),
    Column("linear_gap", "Linear gap", two_digits, "paper_linear_gap"),
    Column("log_gap", "Log gap", two_digits, "paper_log_gap"),
)
def correlations(study: JsonObject) -> list[JsonObject]:
    """
    Correlation of the metrics with misses and times, as in table 2.2.

    Pearson's coefficients; each quantity is in units of the worst ordering of its case.
    """
    rows = []
    for key, title in {"misses": "misses", **TIMED}.items():
        row: JsonObject = {"quantity": title}
        for metric in ("linear_gap", "log_gap"):
            theirs = published_number("orderings", ALGORITHMS.get(key), metric)
            row |= {metric: correlated(study, metric, key), f"paper_{metric}": theirs}
        rows += [row] if row["log_gap"] is not None else []
    return rows


def correlated(study: JsonObject, first: str, second: str) -> float | None:
    """None where there are too few orderings, or one of both is constant."""
    pairs: list[tuple[float, ...]] = []
    for case in done(study, "orderings"):
        found = [(quantity(one, first), quantity(one, second)) for one in case["orderings"].values()]
        known = [(a, b) for a, b in found if a is not None and b is not None]
        worst = [max(values) or 1.0 for values in zip(*known)]
        pairs += [tuple(value / most for value, most in zip(pair, worst)) for pair in known]
    constant = any(len(set(values)) < 2 for values in zip(*pairs))
    return None if len(pairs) < 2 or constant else correlation(*map(list, zip(*pairs)))


@TABLES.listing(
    Column(CASE, "Graph"), Column("ordering", "Ordering"), "seconds", *QUALITIES, *TIMED, name="orderings"
)
def all_orderings(study: JsonObject) -> list[JsonObject]:
    """Metrics, modelled misses for each entry, and seconds of every ordering."""
    return [
        {CASE: case, "ordering": name, **found, **found["times"]}
        for case in done(study, "orderings")
        for name, found in case["orderings"].items()
    ]


@TABLES.listing(
    Column(CASE, "Graph"),
    Column("metric", "Metric"),
    Column("fraction", "Share of the vertices", lambda value: f"{100 * value:g} %"),
    Column("gain", "Gain in %", two_digits),
    Column("seconds", "Time", seconds),
    Column("products", "In products", lambda value: count(math.ceil(value))),
    name="refinement",
)
def refined(study: JsonObject) -> list[JsonObject]:
    """Refinement of the natural order by the share of the vertices, section 2.6.2."""
    return [
        {CASE: case, "metric": metric, "gain": _percent(row), "products": _products(case, row), **row}
        for case in done(study, "refinement")
        for metric, rows in case["refinement"].items()
        for row in rows
    ]


def _percent(row: JsonObject) -> float:
    return 100.0 * (1.0 - row["after"] / row["before"]) if row["before"] else 0.0


def _products(case: JsonObject, row: JsonObject) -> float | None:
    natural = (case.get("orderings") or {}).get(NATURAL)
    return row["seconds"] / natural["times"]["spmv"] if natural else None
