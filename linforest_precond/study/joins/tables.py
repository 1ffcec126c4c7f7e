"""The tables of the study: data, recall and precision, times, shares."""

from __future__ import annotations

from statistics import geometric_mean
from typing import Any

from linforest_precond.study.joins.measures import APPROXIMATE, SHARES, data_set
from linforest_precond.study.listings import Column, Tables
from linforest_precond.study.number_formats import count, digits3, four_digits, one_digit, seconds
from linforest_precond.study.published import published_number
from linforest_precond.study.results import CASE, JsonObject, done

# The names of the matchings in the thesis.
SHORT = {"exact": "exact", "greedy": "GD", "locally_dominant": "LD", "paz_schwartzman": "PS"}
PRINTED = ("greedy", "paz_schwartzman")  # the methods of table 5.2

TABLES = Tables()


def _times_digits(value: Any) -> str:
    return f"{digits3(value)} ×"


LOWER = [SHORT[method].lower() for method in PRINTED]


def published(case: JsonObject, column: str) -> float | None:
    """A number of the thesis' data set that a case stands for."""
    found = data_set(case["name"])
    return found and published_number("joins", found.name, column)


@TABLES.listing(
    Column(CASE, "Data"),
    Column("sets", "Sets", count, "paper_sets"),
    Column("elements", "Elements", one_digit, "paper_elements"),
    Column("candidates", "Candidates", count),
    Column("verified", "Verified", count),
    Column("pairs", "Similar", count),
    "threads",
)
def data(study: JsonObject) -> list[JsonObject]:
    """Sets, candidates, verified and similar pairs; table 5.1."""
    return [
        {CASE: case, "sets": case["rows"], "elements": case["mean_degree"], "threads": found["threads"]}
        | {f"paper_{key}": published(case, key) for key in ("sets", "elements")}
        | {key: found[key] for key in ("candidates", "verified", "pairs")}
        for case in done(study, "times")
        for found in (case["times"],)
    ]


@TABLES.listing(
    Column(CASE, "Data"),
    Column("sets", "Sets", count),
    Column("pairs", "Similar", count),
    *(Column(f"{s}_recall", ("Recall", s.upper()), four_digits, f"paper_{s}_recall") for s in LOWER),
    *(Column(f"{s}_missed", ("Pairs missed", s.upper()), count) for s in LOWER),
    *(Column(f"{s}_precision", ("Precision", s.upper()), four_digits, f"paper_{s}_precision") for s in LOWER),
    *(Column(f"{s}_added", ("Pairs added", s.upper()), count) for s in LOWER),
    "ld_recall",
    "ld_missed",
    "ld_precision",
    "ld_added",
)
def quality(study: JsonObject) -> list[JsonObject]:
    """Recall of the default, and precision of the upper bound, against the exact join; table 5.2."""
    return [_quality_row(case) for case in done(study, "quality")]


def _quality_row(case: JsonObject) -> JsonObject:
    found = case["quality"]
    row: JsonObject = {CASE: case, "sets": found["sets"], "pairs": found["pairs"]}
    for method in APPROXIMATE:
        short = SHORT[method].lower()
        each = found["methods"][method]
        row |= {f"{short}_{key}": each[key] for key in ("recall", "missed", "added")}
        row[f"{short}_precision"] = each["upper_precision"]
        row[f"{short}_proven"] = each["precision"] == each["upper_recall"] == 1.0
        row |= {f"paper_{short}_{key}": published(case, f"{short}_{key}") for key in ("recall", "precision")}
    return row


@TABLES.listing(
    Column(CASE, "Data"),
    Column("filter", "Filter", seconds),
    *(Column(f"{short}_us", ("µs a pair", short), digits3) for short in SHORT.values()),
    *(Column(f"{s}_gain", ("Exact / verification", s), _times_digits) for s in list(SHORT.values())[1:]),
    *(Column(f"{s}_whole", ("Exact / join", s), _times_digits) for s in list(SHORT.values())[1:]),
    *(f"{short}_seconds" for short in SHORT.values()),
)
def times(study: JsonObject) -> list[JsonObject]:
    """Verification in microseconds for each verified pair, as in figures 5.2 and 5.3."""
    return [_times_row(case) for case in done(study, "times")]


def _times_row(case: JsonObject) -> JsonObject:
    found = case["times"]
    row: JsonObject = {CASE: case, "filter": found["methods"][APPROXIMATE[0]]["filter"]}
    exact = found["methods"].get("exact")
    for method, each in found["methods"].items():
        short = SHORT[method]
        row[f"{short}_us"] = 1e6 * each["verify"] / max(found["verified"], 1)
        row[f"{short}_seconds"] = each["verify"]
        if exact and method != "exact":
            row[f"{short}_gain"] = exact["verify"] / each["verify"]
            row[f"{short}_whole"] = _whole(exact) / _whole(each)
    return row


def _whole(each: JsonObject) -> float:
    return float(each["filter"] + each["verify"])


def mean_gain(study: JsonObject, field: str) -> float | None:
    """The geometric mean over the cases of a field of `times`."""
    known = [row[field] for row in times(study) if row.get(field)]
    return geometric_mean(known) if known else None


@TABLES.listing(
    Column(CASE, "Data"),
    Column("method", "Method"),
    *(Column(f"share_{share}", f"{100 * share:.0f} %", seconds) for share in SHARES),
)
def shares(study: JsonObject) -> list[JsonObject]:
    """Seconds of the verification of shares of the sets, as in figure 5.4."""
    return [
        {CASE: case, "method": SHORT[method], **{f"share_{share}": value for share, value in row.items()}}
        for case in done(study, "shares")
        for method, row in case["shares"]["methods"].items()
    ]


@TABLES.listing(
    Column(CASE, "Data"),
    *(Column(short, f"{short}, MiB", lambda value: one_digit(value / 2**20)) for short in SHORT.values()),
)
def memory(study: JsonObject) -> list[JsonObject]:
    """Peak bytes of Python and NumPy during a join, the sets themselves excluded, as in figure 5.5."""
    rows = (
        {CASE: case} | {SHORT[method]: each["peak"] for method, each in case["times"]["methods"].items()}
        for case in done(study, "times")
    )
    return [row for row in rows if any(row.get(short) for short in SHORT.values())]
