"""The summary of the study: quality, rates, memory, and a contradiction in the published tables."""

from __future__ import annotations

import math
from statistics import fmean

from linforest_precond.study.findings import Findings
from linforest_precond.study.number_formats import count, digits3, one_digit, percent, spread
from linforest_precond.study.published import named_rows, published_number
from linforest_precond.study.results import JsonObject, done
from linforest_precond.study.scale.tables import RATES, RULES, distances, geometric_gap, implied_edges, visits

MANY_ENTRIES = 100_000
findings = Findings()


@findings.about("Quality")
def _optimum(study: JsonObject) -> str | None:
    gap = geometric_gap(study)
    if gap is None:
        return None
    paper = published_number("scale", "geometric mean", "ld_gap")
    text = f"Locally dominant matchings are {one_digit(gap)} % below the maximum weight in the geometric mean"
    gaps = [row["ld_gap"] for row in named_rows("scale").values() if "ld_gap" in row and "edges" in row]
    return f"{text}; the thesis has {paper} % ({spread(gaps, str)} %) on seven graphs of other sizes."


@findings.about("Augmentations", lambda study: [row for row in distances(study) if "augmented_gap" in row])
def _augmented(rows: list[JsonObject]) -> str:
    own, before = (
        fmean(row[f"{method}_gap"] for row in rows) for method in ("augmented", "locally_dominant")
    )
    text = f"Augmented matchings are {one_digit(own)} % below the maximum weight on average"
    return f"{text}, locally dominant ones {one_digit(before)} %."


def large(cases: list[JsonObject]) -> list[JsonObject]:
    """The cases with many entries, all where there is none: small graphs measure overheads."""
    return [case for case in cases if case["nnz"] >= MANY_ENTRIES] or cases


def _which(cases: list[JsonObject]) -> str:
    """The large cases in words."""
    many = len(large(cases))
    if many == len(cases):
        return f"on all {many} graphs"
    return f"on {many} of {len(cases)} graphs, those with at least {count(MANY_ENTRIES)} entries"


@findings.about("Rate", "batches")
def _rates(cases: list[JsonObject]) -> str:
    rates = [case["batches"]["whole"]["mmeps"] for case in large(cases)]
    slow = [_slowdown(case["batches"]) for case in large(cases)]
    text = f"{spread(rates)} million matched edges per second"
    return f"{text} {_which(cases)}; in 8 batches they take {digits3(fmean(slow))} times as long on average."


def _slowdown(found: JsonObject) -> float:
    """The time in the most batches over that of the graph as a whole."""
    *_, last = found["batched"].values()
    return float(last["seconds"] / found["whole"]["seconds"])


@findings.about("Copies", "batches")
def _copies(cases: list[JsonObject]) -> str | None:
    """How near to the bound by bytes one batch comes, and the most batches."""
    found = [case["batches"] for case in large(cases) if case["batches"].get("link")]
    if not found:
        return None
    rows = [[*each["batched"].values()] for each in found]
    one, many = ([each[place]["mmeps"] / each[place]["bound"] for each in rows] for place in (0, -1))
    link = spread([each["link"] / 1e9 for each in found])
    text = f"The link takes {link} GB/s from pinned memory. Of what it allows for the bytes that are sent"
    return f"{text}, one batch reaches {spread(one, percent)}, 8 batches {spread(many, percent)}."


@findings.about("Batches", "batches")
def _same(cases: list[JsonObject]) -> str:
    rows = [row for case in cases for row in case["batches"]["batched"].values()]
    same = sum(row["same"] for row in rows)
    return f"{same} of {len(rows)} matchings in batches are bit for bit the one in memory."


@findings.about("Memory", "memory")
def _memory(cases: list[JsonObject]) -> str:
    found = [case["memory"] for case in large(cases)]
    shares = [each["peak"] / each["graph"] for each in found]
    held = sum(each["peak"] <= each["given"] for each in found)
    text = f"Peaks of {100 * min(shares):.0f} to {100 * max(shares):.0f} % of the graph's size"
    return f"{text} {_which(cases)}; {held} of {len(found)} stay within the memory given to them."


@findings.about("Visited edges", lambda study: visits(done_large(study)))
def _visited(rows: list[JsonObject]) -> str:
    few, iterations = (published_number("scale", "figure 4.8", key) for key in ("few_edges", "iterations"))
    ours, rule = ([row[key] for row in rows] for key in RULES.values())
    text = f"Fewer than {few:.0f} % of the edges are visited in {spread(ours, percent)} of the iterations"
    text = f"{text}, and by the thesis' rule, which visits the rows of all single vertices, in"
    return f"{text} {spread(rule, percent)}; the thesis has {iterations:.0f} % on graphs of other sizes."


def done_large(study: JsonObject) -> JsonObject:
    """The study with its large cases alone."""
    cases = done(study, "visits")
    return {"cases": large(cases) if cases else []}


@findings.about("The printed rates", done)
def _printed(_: list[JsonObject]) -> str:
    """The printed rates and times of one graph that contradict each other."""
    rows = {graph: row for graph, row in named_rows("scale").items() if "ld_mmeps" in row}
    pairs = {graph: [implied_edges(row, code) for code in RATES] for graph, row in rows.items()}
    known = {graph: (ld, sr) for graph, (ld, sr) in pairs.items() if ld and sr}
    graph, (ld, sr) = max(known.items(), key=lambda item: abs(math.log(item[1][0] / item[1][1])))
    agree = sum(abs(math.log(ld / sr)) < 0.1 for ld, sr in known.values())
    text = (
        f"Rate times time of tables 4.4 and 4.1 is the same for both codes on {agree} of {len(known)} graphs"
    )
    apart = f"on {graph} they give {count(round(ld / 1e6))} and {count(round(sr / 1e6))} million"
    return f"{text}; {apart}, so one of its numbers is misprinted."
