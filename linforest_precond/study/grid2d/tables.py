"""The tables of the study: rounds, strong and weak scaling, variants, shapes, balance, times."""

from __future__ import annotations

import math
from typing import Any

from linforest_precond.study.grid2d.measures import NAMES
from linforest_precond.study.listings import Column, Tables
from linforest_precond.study.number_formats import count, digits3, rounded, two_digits, words
from linforest_precond.study.results import CASE, JsonObject, done

# Bytes of a vertex in a dense round of PageRank: 16 in its column group (exact sums), 8 in its row group.
ROUND_BYTES = 24

TABLES = Tables()


def _kilobytes(value: Any) -> str:
    return f"{value / 1000:,.1f}"


SENT = Column("bytes", "kB of a rank", _kilobytes), Column("rank_calls", "Calls of a rank", rounded)

GRAPH, ALGORITHM, RANKS = Column(CASE, "Graph"), Column("algorithm", "Algorithm"), Column("p", "Ranks", count)


def rows_of_largest(rows: list[JsonObject]) -> list[JsonObject]:
    """The rows of the case with the most vertices."""
    largest = max((row[CASE] for row in rows), key=lambda case: case["rows"], default=None)
    return [row for row in rows if row[CASE] is largest]


@TABLES.listing(
    GRAPH,
    RANKS,
    Column("calls", "2D: calls of all ranks", count),
    Column("row_messages", "Rows: messages", count),
    Column("bytes", "2D: kB of a rank", _kilobytes),
    Column("bound", "24 n / √p", _kilobytes),
    Column("row_bytes", "Rows: kB of a rank", _kilobytes),
)
def rounds(study: JsonObject) -> list[JsonObject]:
    """A dense round of PageRank on R x C ranks, and an exchange of ghosts between rows."""
    return [
        {CASE: case, **row, "bound": ROUND_BYTES * case["rows"] / math.sqrt(row["p"])}
        for case in done(study, "rounds")
        for row in case["rounds"]["grids"]
    ]


@TABLES.listing(GRAPH, ALGORITHM, RANKS, *SENT, "messages", "balance")
def scaling(study: JsonObject) -> list[JsonObject]:
    """Bytes of the busiest rank and calls of a rank by the number of ranks, as in figures 6.3 and 6.8."""
    return [
        {CASE: case, "algorithm": f"{name}, {NAMES[name]}", "key": name, **row}
        | {"rank_calls": (row["calls"] + row["messages"]) / row["p"], "n_per_rank": case["rows"] / row["p"]}
        for case in done(study, "scaling")
        for name, rows in case["scaling"].items()
        for row in rows
    ]


def kind_of(case: JsonObject) -> str:
    """Graphs of one kind have names that differ after the colon alone."""
    return str(case["name"]).partition(":")[0]


@TABLES.listing(
    Column("kind", "Graphs"), ALGORITHM, RANKS, Column("n_per_rank", "Vertices a rank", count), *SENT
)
def weak(study: JsonObject) -> list[JsonObject]:
    """Graphs that grow as the ranks do, as in figure 6.4."""
    found: list[JsonObject] = []
    rows = scaling(study)
    for kind in dict.fromkeys(kind_of(row[CASE]) for row in rows):
        own = [row for row in rows if kind_of(row[CASE]) == kind]
        sizes = dict.fromkeys(row["n_per_rank"] for row in own)
        longest = max(sizes, key=lambda size: len([row for row in own if row["n_per_rank"] == size]))
        members = [row for row in own if row["n_per_rank"] == longest]
        if len({row["p"] for row in members}) > 1:
            found += [row | {"kind": kind} for row in sorted(members, key=lambda row: (row["key"], row["p"]))]
    return found


@TABLES.listing(
    GRAPH,
    Column("variant", "Variant"),
    Column("rounds", "Rounds", count),
    Column("dense", "Dense ones", count),
    Column("edges", "Edges visited", count),
    *SENT,
    "p",
)
def variants(study: JsonObject) -> list[JsonObject]:
    """Connected components with one optimization after the other, as in figure 6.6."""
    return [
        {CASE: case, "variant": name, **row, "rank_calls": row["calls"] / row["p"]}
        for case in done(study, "variants")
        for name, row in case["variants"]["variants"].items()
    ]


@TABLES.listing(
    GRAPH,
    Column("grid", "R × C"),
    *SENT,
    Column("over_least", "In units of the least", two_digits),
    Column("balance", "Edges, most / mean", two_digits),
    "p",
)
def shapes(study: JsonObject) -> list[JsonObject]:
    """Connected components on grids of R x C ranks, as in figure 6.7."""
    found = []
    for case in done(study, "shapes"):
        rows = case["shapes"]["shapes"]
        least = min(row["bytes"] for row in rows) or 1
        found += [
            {CASE: case, "grid": "{} × {}".format(*row["shape"]), **row}
            | {"over_least": row["bytes"] / least, "rank_calls": row["calls"] / row["p"]}
            for row in rows
        ]
    return found


@TABLES.listing(GRAPH, *(Column(name, words(name), two_digits) for name in ("striped", "blocks", "random")))
def balance(study: JsonObject) -> list[JsonObject]:
    """The most edges of a rank in units of the mean, by the distribution of the vertices, 8 x 8 ranks."""
    return [{CASE: case, **case["balance"]} for case in done(study, "balance")]


@TABLES.listing(
    GRAPH,
    ALGORITHM,
    RANKS,
    Column("seconds", "Seconds", digits3),
    Column("in_groups", "In calls of groups", digits3),
    Column("bytes", "kB of a rank", _kilobytes),
)
def times(study: JsonObject) -> list[JsonObject]:
    """Seconds of the slowest rank of MPI, those in calls of its groups, and bytes of the busiest rank."""
    return [
        {CASE: case, "algorithm": f"{name}, {NAMES[name]}", "key": name, "p": row["p"]}
        | {"seconds": whole, "in_groups": inside, "bytes": sent[0] if sent else None}
        for case in done(study, "times")
        for row in case["times"]["ranks"]
        for name, (whole, inside, *sent) in row["seconds"].items()
    ]


@TABLES.listing(
    GRAPH,
    ALGORITHM,
    RANKS,
    Column("calls", "Calls of a rank", count),
    Column("bytes", "kB of a rank", _kilobytes),
    Column("modelled", "Modelled, s", digits3),
    Column("in_groups", "Measured, s", digits3),
    Column("ratio", "Measured / modelled", two_digits),
    "latency",
    "bandwidth",
)
def modelled(study: JsonObject) -> list[JsonObject]:
    """Seconds in calls of groups: calls times latency, plus bytes over bandwidth, and those measured."""
    return [
        {CASE: case, "algorithm": f"{name}, {NAMES[name]}", "p": row["p"], "calls": calls, "bytes": sent}
        | {"latency": row["latency"], "bandwidth": row["bandwidth"], "in_groups": inside}
        | {"modelled": (predicted := calls * row["latency"] + sent / row["bandwidth"])}
        | {"ratio": inside / predicted}
        for case in done(study, "times")
        for row in case["times"]["ranks"]
        if row["p"] > 1 and "latency" in row  # older runs did not measure it
        for name, (_, inside, sent, calls) in row["seconds"].items()
    ]


@TABLES.listing(
    GRAPH,
    Column("shape", "R × C"),
    Column("round", "kB of a rank", _kilobytes),
    Column("bound", "n (16 / C + 8 / R), kB", _kilobytes),
    "p",
)
def timed_rounds(study: JsonObject) -> list[JsonObject]:
    """A dense round of PageRank on ranks of MPI: bytes of the busiest rank, and those of section 6.3.2."""
    return [
        {CASE: case, "p": row["p"], "shape": "{} × {}".format(*row["grid"])}
        | {"round": row["round"], "bound": row["bound"]}
        for case in done(study, "times")
        for row in case["times"]["ranks"]
        if "round" in row  # older runs did not count it
    ]
