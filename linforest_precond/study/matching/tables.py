"""The tables of the study: rounds, colours, threads, quality, times, and arrangements of the weights."""

from __future__ import annotations

from functools import partial
from statistics import fmean

from linforest_precond.study.listings import Cell, Column, Tables
from linforest_precond.study.matching.measures import METHODS, PROPOSALS
from linforest_precond.study.number_formats import (
    count,
    difference,
    digits3,
    fixed,
    seconds,
    three_digits,
    two_digits,
)
from linforest_precond.study.published import keyed_numbers
from linforest_precond.study.results import JsonObject, done

NAMES = {
    "random": "random",
    "weighted": "weighted",
    "locally_dominant": "locally dominant",
    "suitor": "suitor",
    "serial_random": "Algorithm 1, random",
    "serial_weighted": "Algorithm 1, weighted",
    "greedy": "Algorithm 2",
}
# The ratios of figure 5 by their keys, with their headings.
RATIOS = {
    "size": "Size: random / Alg. 1",
    "gain": "Weight: weighted / Alg. 1",
    "greedy": "Weight: weighted / Alg. 2",
    "serial": "Weight: Alg. 1 / Alg. 2",
}
SEQUENTIAL = {"serial_random": "Alg. 1 random", "serial_weighted": "Alg. 1 weighted", "greedy": "Alg. 2"}
TIMED = SEQUENTIAL | {name: NAMES[name] for name in METHODS}

TABLES = Tables()


def _ratio(row: JsonObject, key: str) -> str | Cell:
    """The average of a matrix and its standard deviation; the last row has cells."""
    if isinstance(row[key], Cell):
        return row[key]
    return f"{fixed(row[key], 3)} ± {fixed(row[f'{key}_deviation'], 3)}"


def _averages(study: JsonObject) -> list[JsonObject]:
    """The averages beside the paper's, which has a lower bound for sizes."""
    known = keyed_numbers("matching")
    paper = {"gain": known["gain"], "greedy": known["greedy"], "serial": known["greedy"] / known["gain"]}
    row: JsonObject = {
        "name": Cell("average", best=True),
        **dict.fromkeys(("edges", "permutations"), Cell("")),
    }
    row |= {"size": Cell(three_digits(average(study, "size")), f"> {known['size']}")}
    for key, theirs in paper.items():
        value = average(study, key) or 0.0
        row[key] = Cell(three_digits(value), two_digits(theirs), difference(value - theirs, 2))
    return [row]


@TABLES.listing("name method round matched")
def rounds(study: JsonObject) -> list[JsonObject]:
    """Fraction of matched vertices by rounds, as in figure 2."""
    return [
        {"name": case, "method": method, "round": number, "matched": fraction}
        for case in done(study, "rounds")
        for method in PROPOSALS
        for number, fraction in enumerate(case["rounds"][method]["matched"], 1)
    ]


@TABLES.listing("name method p size weight seconds first theory independent")
def colours(study: JsonObject) -> list[JsonObject]:
    """The probability of blue, as in figure 3."""
    return [
        {"name": case, "method": method, "p": p}
        | {key: found[key][place] for key in ("theory", "independent")}
        | {key: values[place] for key, values in found[method].items()}
        for case in done(study, "colours")
        for found in (case["colours"],)
        for method in PROPOSALS
        for place, p in enumerate(found["p"])
    ]


@TABLES.listing("name method threads seconds")
def threads(study: JsonObject) -> list[JsonObject]:
    """Times by the number of threads, as in figure 4."""
    return [
        {"name": case, "method": method, "threads": number, "seconds": taken}
        for case in done(study, "threads")
        for method in PROPOSALS
        for number, taken in zip(case["threads"]["threads"], case["threads"][method])
    ]


@TABLES.listing(
    Column("name", "Matrix"),
    Column("edges", "Edges", count),
    Column("permutations", "Orders", count),
    *(Column(partial(_ratio, key=key), heading) for key, heading in RATIOS.items()),
    *(f"{key}{end}" for key in RATIOS for end in ("", "_deviation", "_paper")),
    Column("locally_dominant", "Locally dominant / Alg. 2", three_digits),
    Column("suitor", "Suitor / Alg. 2", three_digits),
    Column("md5", "Weight: colours by MD5 / by our hash", three_digits),
    closing=_averages,
)
def quality(study: JsonObject) -> list[JsonObject]:
    """Sizes and weights against the sequential ones, as in figure 5."""
    known = keyed_numbers("matching")
    paper = {f"{key}_paper": known[key] for key in RATIOS if key in known}
    return [
        {"name": case, **case["quality"], **case["quality"]["dominant"], **paper}
        for case in done(study, "quality")
    ]


def average(study: JsonObject, key: str) -> float | None:
    """The average of a ratio over the matrices, as the paper averages."""
    values = [row[key] for row in quality(study)]
    return fmean(values) if values else None


@TABLES.listing(
    Column("name", "Matrix"),
    Column("vertices", "Vertices", count),
    Column("edges", "Edges", count),
    *(Column(f"{name}_seconds", heading, seconds) for name, heading in TIMED.items()),
    Column("random_speedup", "Speedup random", digits3),
    Column("weighted_speedup", "Speedup weighted", digits3),
    Column("weighted_greedy_speedup", "Over Alg. 2", digits3),
    *(f"{name}_speedup" for name in ("locally_dominant_greedy", "suitor_greedy")),
)
def times(study: JsonObject) -> list[JsonObject]:
    """Times and speedups by vertices and edges, as in figure 5."""
    return [
        {"name": case, "vertices": found["vertices"], "edges": found["edges"]}
        | {f"{name}_seconds": taken for name, taken in found["seconds"].items()}
        | {f"{name}_speedup": factor for name, factor in found["speedups"].items()}
        for case in done(study, "times")
        for found in (case["times"],)
    ]


@TABLES.listing("name weights sigma gain serial")
def arrangement(study: JsonObject) -> list[JsonObject]:
    """The weighted ratio with weights arranged in other ways."""
    rows = []
    for case in done(study, "arrangement"):
        found = case["arrangement"]
        rows += [{"name": case, "weights": kind, **found[kind]} for kind in ("own", "shuffled")]
        rows += [
            {"name": case, "weights": "scaled", "sigma": sigma, "gain": gain, "serial": serial}
            for sigma, gain, serial in zip(found["sigmas"], *found["scaled"].values())
        ]
    return rows


def variables(study: JsonObject) -> JsonObject:
    """The published numbers, the threads of the timed calls, and the numbers of orders."""
    threads = max((case["times"]["threads"] for case in done(study, "times")), default=None)
    orders = sorted({case["quality"]["permutations"] for case in done(study, "quality")})
    return {"published": keyed_numbers("matching"), "threads": threads, "orders": orders}
