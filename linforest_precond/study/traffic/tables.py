"""The tables of the study: times, rates, batches, windows, files and statistics."""

from __future__ import annotations

from linforest_precond.study.listings import Column, Tables
from linforest_precond.study.number_formats import count, digits3, rounded, seconds, words, yes_no
from linforest_precond.study.published import keyed_numbers
from linforest_precond.study.results import CASE, JsonObject, done
from linforest_precond.study.traffic.measures import WINDOW_FIELDS

TASKS = {"analysis": "Analysis", "end_to_end": "End to end"}

TABLES = Tables()
PROPERTIES = (
    "valid_packets", "unique_links", "largest_link", "unique_sources", "largest_source", "largest_fan_out",
    "unique_destinations", "largest_destination", "largest_fan_in",
)  # fmt: skip


def packets_of(case: JsonObject) -> int:
    return int(case["analysis"]["statistics"]["valid_packets"])


@TABLES.listing(
    Column(CASE, "Packets"),
    Column("links", "Links", count),
    *(Column(task, title, seconds) for task, title in TASKS.items()),
    *(Column(f"scipy_{task}", f"SciPy, {title.lower()}", seconds) for task, title in TASKS.items()),
    Column("analysis_speedup", "SciPy / ours, analysis", digits3),
    Column("end_to_end_speedup", "SciPy / ours, end to end", digits3),
    Column("rate", "Packets a second, end to end", rounded),
    Column("gb_per_s", "GB/s, analysis", digits3),
    Column("same", "Same as SciPy", yes_no),
    "packets",
)
def times(study: JsonObject) -> list[JsonObject]:
    """Seconds of the analysis and end to end, beside NumPy and SciPy, as in figures 3.4 and 3.6."""
    return [_times_row(case) for case in done(study, "analysis")]


def _times_row(case: JsonObject) -> JsonObject:
    found, packets = case["analysis"], packets_of(case)
    taken = found["seconds"]
    row = {CASE: case, "packets": packets, "links": found["statistics"]["unique_links"], **taken}
    for task in TASKS:
        theirs = taken.get(f"scipy_{task}")
        row[f"{task}_speedup"] = None if theirs is None else theirs / taken[task]
    bandwidth = found["bytes"] / taken["analysis"] / 1e9 if taken["analysis"] else None
    return row | {"rate": packets / taken["end_to_end"], "gb_per_s": bandwidth, "same": found["same"]}


@TABLES.listing(
    Column(CASE, "Packets"),
    Column("batches", "Batches", count),
    Column("seconds", "Time", seconds),
    Column("rate", "Packets a second", rounded, "paper_rate"),
    name="batches",
)
def batch_rows(study: JsonObject) -> list[JsonObject]:
    """End to end from arrays of the host by the number of batches, as in figure 3.6 and table 3.2."""
    numbers = keyed_numbers("traffic")
    return [
        {CASE: case, "batches": int(each), "seconds": taken, "rate": packets_of(case) / taken}
        | {"paper_rate": numbers.get(f"rate_{each}")}
        for case in done(study, "batches")
        if case.get("analysis")
        for each, taken in case["batches"].items()
        if taken is not None
    ]


@TABLES.listing(
    Column(CASE, "Packets"),
    Column("packets", "Of a window", count),
    Column("windows", "Windows", count),
    Column("seconds", "Time", seconds),
    Column("rate", "Packets a second", rounded),
    *(Column(field, words(field), digits3) for field in WINDOW_FIELDS),
    name="windows",
)
def window_rows(study: JsonObject) -> list[JsonObject]:
    """Means of the statistics over windows of equal numbers of packets."""
    return [
        {CASE: case, **row, "rate": row["packets"] * row["windows"] / row["seconds"]}
        for case in done(study, "windows")
        for row in case["windows"]["sizes"]
    ]


def longest_stream(rows: list[JsonObject]) -> list[JsonObject]:
    """The rows of the cases with the most packets in windows."""
    most = max((row["packets"] * row["windows"] for row in rows), default=0)
    return [row for row in rows if row["packets"] * row["windows"] == most]


@TABLES.listing(
    Column(CASE, "Packets"),
    Column("links", "Links", count),
    Column("bytes", "MB", lambda value: digits3(value / 1e6)),
    Column("write", "Write", seconds),
    Column("read", "Read", seconds),
    Column("same", "Same statistics", yes_no),
    name="matrix_market",
)
def file_rows(study: JsonObject) -> list[JsonObject]:
    """GraphBLAS-style Matrix Market files of 2^32 x 2^32 matrices."""
    return [
        {CASE: case, "links": case["nnz"], **case["files"]}
        for case in done(study, "files")
        if case["files"]["bytes"] is not None
    ]


@TABLES.listing(Column(CASE, "Packets"), *(Column(field, words(field), count) for field in PROPERTIES))
def statistics(study: JsonObject) -> list[JsonObject]:
    """The properties of table 3.1, and three more."""
    return [{CASE: case, **case["analysis"]["statistics"]} for case in done(study, "analysis")]
