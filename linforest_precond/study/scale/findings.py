"""The summary of the study: quality, rates, memory, and a contradiction in the published tables."""

from __future__ import annotations

import math
from statistics import fmean

from linforest_precond.study.findings import Findings
from linforest_precond.study.number_formats import count, listed, one_digit, percent, spread
from linforest_precond.study.published import named_rows, published_number
from linforest_precond.study.results import JsonObject, done
from linforest_precond.study.scale.tables import (
    RATES,
    RULES,
    distances,
    geometric_gap,
    implied_edges,
    ratios,
    sizes,
    visits,
)

MANY_ENTRIES = 100_000
# What augmentations aim for: their time and their distance from the optimum over those of locally dominant
# matchings; and what streaming aims for: its time by the number of batches over that of the whole graph.
AIMED_TIME, AIMED_GAP = 3, 1 / 2
AIMED_RATIOS = {1: 2, 8: 4}
findings = Findings()


@findings.about("Graphs", done)
def _graphs(cases: list[JsonObject]) -> str:
    vertices, entries = (spread([case[key] for case in cases], count) for key in ("rows", "nnz"))
    own = [row["graph"] for row in sizes({"cases": cases}) if row["itself"]]
    text = f"{len(cases)} graphs of {vertices} vertices and {entries} entries ran. Of the"
    return f"{text} {len(sizes({'cases': cases}))} graphs of table 4.1 they hold {listed(own) or 'none'}."


@findings.about("Quality")
def _optimum(study: JsonObject) -> str | None:
    gap = geometric_gap(study)
    if gap is None:
        return None
    paper = published_number("scale", "geometric mean", "ld_gap")
    text = f"Locally dominant matchings are {one_digit(gap)} % below the maximum weight in the geometric mean"
    text = f"{text} of {_solved(study)}"
    gaps = [row["ld_gap"] for row in named_rows("scale").values() if "ld_gap" in row and "edges" in row]
    return f"{text}; the thesis has {paper} % ({spread(gaps, str)} %) on {len(gaps)} graphs of other sizes."


def _solved(study: JsonObject) -> str:
    """The graphs with an exact matching, in words."""
    sizes = [row["name"]["rows"] for row in distances(study) if row["solver"]]
    text = f"{len(sizes)} graphs of {spread(sizes, count)} vertices"
    left = len(done(study, "optimum")) - len(sizes)
    return f"{text} (an exact sequential matching of the other {left} would take too long)" if left else text


@findings.about("Augmentations")
def _augmented(study: JsonObject) -> str | None:
    pairs = [
        tuple(row[f"{method}_gap"] for method in ("augmented", "locally_dominant"))
        for row in distances(study)
        if "augmented_gap" in row
    ]
    if not pairs:
        return None
    own, before = map(fmean, zip(*pairs))
    halved = sum(gap <= AIMED_GAP * plain for gap, plain in pairs)
    text = f"Augmented matchings are {one_digit(own)} % below the maximum weight on average, locally dominant"
    text = f"{text} ones {one_digit(before)} %, on {_solved(study)}"
    return f"{text}; the distance is at most half on {halved} of them."


@findings.about("Time of augmentations", ratios)
def _augmented_times(rows: list[JsonObject]) -> str | None:
    found = [row["augmented"] for row in rows if row["augmented"]]
    if not found:
        return None
    text = f"They take {spread(found)} times as long as locally dominant ones"
    return f"{text}, at most 3 times on {sum(each <= AIMED_TIME for each in found)} of {len(found)} graphs."


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
    return f"{spread(rates)} million matched edges per second {_which(cases)}, as a whole on the device."


@findings.about("Streaming", lambda study: [row for row in ratios(study) if row.get("link_1")])
def _streaming(rows: list[JsonObject]) -> str:
    """The times in one batch and in the most, those aimed for, and what the link forbids."""
    texts = []
    for number, aimed in AIMED_RATIOS.items():
        times, bounds = ([row[f"{name}_{number}"] for row in rows] for name in ("streamed", "link"))
        pinned = [row[f"pinned_{number}"] for row in rows if row[f"pinned_{number}"]]
        text = f"{number} batch{'es' if number > 1 else ''} take{'s' if number == 1 else ''}"
        text = f"{text} {spread(times)} times as long as the whole graph on the device"
        text += f" ({spread(pinned)} from pinned memory)" if pinned else ""
        met = " and ".join(
            f"{sum(each <= aimed for each in found)} ({kind})"
            for kind, found in (("pageable", times), ("pinned", pinned))
            if found
        )
        forbidden = sum(each > aimed for each in bounds)
        text = f"{text}; at most {aimed} times, as aimed for, on {met} of {len(rows)} graphs, and the bytes"
        texts.append(f"{text} over the link alone forbid it on {forbidden}")
    return f"{'. '.join(texts)}."


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
    text = f"{text}, from pageable memory"
    return f"{text} one batch reaches {spread(one, percent)}, 8 batches {spread(many, percent)}."


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
