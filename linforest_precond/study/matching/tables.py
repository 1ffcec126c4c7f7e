"""The numbers of the study as CSV files."""

from __future__ import annotations

from typing import Any

from linforest_precond.study.csv_tables import CsvTable
from linforest_precond.study.matching.measures import PROPOSALS
from linforest_precond.study.published import matching_numbers
from linforest_precond.study.results import JsonObject, done

RATIO_KEYS = ("size", "gain", "greedy", "serial")


def tables(study: JsonObject) -> list[CsvTable]:
    """All tables of the study."""
    makers = (_rounds, _colours, _threads, _quality, _times, _arrangement)
    return [make(study) for make in makers]


def _rounds(study: JsonObject) -> CsvTable:
    rows = [
        {"name": case["name"], "method": method, "round": number, "matched": fraction}
        for case in done(study, "rounds")
        for method in PROPOSALS
        for number, fraction in enumerate(case["rounds"][method]["matched"], 1)
    ]
    columns = ("name", "method", "round", "matched")
    return CsvTable("rounds", columns, rows, "fraction of matched vertices by rounds, as in figure 2")


def _colours(study: JsonObject) -> CsvTable:
    measured, expected = ("size", "weight", "seconds", "first"), ("theory", "independent")
    rows = [
        {"name": case["name"], "method": method, "p": p}
        | {key: case["colours"][key][place] for key in expected}
        | {key: case["colours"][method][key][place] for key in measured}
        for case in done(study, "colours")
        for method in PROPOSALS
        for place, p in enumerate(case["colours"]["p"])
    ]
    columns = ("name", "method", "p", *measured, *expected)
    return CsvTable("colours", columns, rows, "the probability of blue, as in figure 3")


def _threads(study: JsonObject) -> CsvTable:
    rows = [
        {"name": case["name"], "method": method, "threads": count, "seconds": seconds}
        for case in done(study, "threads")
        for method in PROPOSALS
        for count, seconds in zip(case["threads"]["threads"], case["threads"][method])
    ]
    columns = ("name", "method", "threads", "seconds")
    return CsvTable("threads", columns, rows, "times by the number of threads, as in figure 4")


def _quality(study: JsonObject) -> CsvTable:
    rows = [{"name": case["name"], **_ratios(case["quality"])} for case in done(study, "quality")]
    names = [f"{key}{end}" for key in RATIO_KEYS for end in ("", "_deviation", "_paper")]
    columns = ("name", "edges", "permutations", *names, "locally_dominant", "suitor")
    return CsvTable("quality", columns, rows, "sizes and weights against the sequential ones, as in figure 5")


def _ratios(found: JsonObject) -> dict[str, Any]:
    known = matching_numbers()
    row: dict[str, Any] = {key: found[key] for key in ("edges", "permutations")}
    for key in RATIO_KEYS:
        row |= {key: found[key], f"{key}_deviation": found[f"{key}_deviation"]}
        if key in known:
            row[f"{key}_paper"] = known[key]
    return row | found["dominant"]


def _times(study: JsonObject) -> CsvTable:
    rows = [
        {"name": case["name"], "vertices": found["vertices"], "edges": found["edges"]}
        | {f"{name}_seconds": seconds for name, seconds in found["seconds"].items()}
        | {f"{name}_speedup": factor for name, factor in found["speedups"].items()}
        for case in done(study, "times")
        for found in (case["times"],)
    ]
    columns = tuple(dict.fromkeys(column for row in rows for column in row)) or ("name",)
    return CsvTable("times", columns, rows, "times and speedups by vertices and edges, as in figure 5")


def _arrangement(study: JsonObject) -> CsvTable:
    rows = [
        {"name": case["name"], "weights": weights, "sigma": sigma, **found}
        for case in done(study, "arrangement")
        for weights, sigma, found in arrangements(case["arrangement"])
    ]
    columns = ("name", "weights", "sigma", "gain", "serial")
    return CsvTable("arrangement", columns, rows, "the weighted ratio with weights arranged in other ways")


def arrangements(found: JsonObject) -> list[tuple[str, float | None, JsonObject]]:
    """(kind of the weights, spread of the factors, ratios) of one case."""
    scaled = found["scaled"]
    rows = [
        ("scaled", sigma, {"gain": scaled["gain"][place], "serial": scaled["serial"][place]})
        for place, sigma in enumerate(found["sigmas"])
    ]
    return [("own", None, found["own"]), ("shuffled", None, found["shuffled"]), *rows]
