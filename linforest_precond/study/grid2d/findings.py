"""The summary of the study: a round, strong and weak scaling, optimizations, and the shape of the grid."""

from __future__ import annotations

import math

from linforest_precond.study.findings import Findings
from linforest_precond.study.grid2d.tables import (
    modelled,
    rounds,
    rows_of_largest,
    scaling,
    shapes,
    times,
    variants,
    weak,
)
from linforest_precond.study.number_formats import count, digits3, fixed, listed, seconds, spread, two_digits
from linforest_precond.study.published import keyed_numbers
from linforest_precond.study.results import CASE, JsonObject, label

findings = Findings()


@findings.about("A round", rounds)
def _round(rows: list[JsonObject]) -> str:
    """Messages of the layout by rows and bytes of the two-dimensional one, on the most ranks."""
    row = max(rows, key=lambda row: (row["p"], row[CASE]["rows"]))
    share = two_digits(row["bytes"] / row["bound"])
    text = f"On {count(row['p'])} ranks a dense round is {count(row['calls'] / row['p'])} calls of each rank"
    text += f", an exchange between rows {count(row['row_messages'])} messages in all"
    return f"{text}; a rank sends {share} of 24 n / √p bytes ({label(row[CASE])})."


@findings.about("Strong scaling", lambda study: rows_of_largest(scaling(study)))
def _strong(rows: list[JsonObject]) -> str | None:
    ranks, paper = sorted({row["p"] for row in rows}), keyed_numbers("grid2d")
    if len(ranks) < 2:
        return None
    before, after = ranks[-2:]
    sent = {(row["key"], row["p"]): row["bytes"] for row in rows}
    ratios = [
        f"{two_digits(sent[key, before] / sent[key, after])} ({key})"
        for key, p in sent
        if p == after and sent[key, p]
    ]
    first, last = paper["speedup_from"], paper["speedup_to"]
    text = f"From {before} to {after} ranks a rank sends less by factors of {', '.join(ratios)}"
    text += f" on {label(rows[0][CASE])}; √p allows {fixed(math.sqrt(after / before), 0)}. The thesis has"
    text += f" {paper['speedup_low']:.0f} to {paper['speedup_high']:.0f} in time"
    return f"{text} from {first:.0f} to {last:.0f} GPUs, where it allows {math.sqrt(last / first):.0f}."


@findings.about("Weak scaling", weak)
def _weak(rows: list[JsonObject]) -> str | None:
    """The factor by which a rank sends more with four times the ranks and vertices."""
    growth: dict[str, list[float]] = {}
    for row, following in zip(rows, rows[1:]):
        same = (row["kind"], row["key"]) == (following["kind"], following["key"])
        if same and row["p"] > 1 and row["bytes"]:
            growth.setdefault(row["key"], []).append(following["bytes"] / row["bytes"])
    if not growth:
        return None
    known = ", ".join(f"{spread(each, two_digits)} ({key})" for key, each in growth.items())
    text = f"With four times the ranks and vertices a rank sends more by factors of {known}"
    return (
        f"{text}; times just less than double in the thesis ({keyed_numbers('grid2d')['weak_growth']:.0f})."
    )


@findings.about("Optimizations", variants)
def _variants(rows: list[JsonObject]) -> str:
    """The quotients of the first variant, without optimizations, and the last one."""
    by_case: dict[str, list[JsonObject]] = {}
    for row in rows:
        by_case.setdefault(row[CASE]["name"], []).append(row)
    edges, sent = (
        [own[0][field] / max(own[-1][field], 1) for own in by_case.values()] for field in ("edges", "bytes")
    )
    text = f"With all of them CC visits fewer edges by factors of {spread(edges)} and sends fewer bytes by"
    return f"{text} {spread(sent)} on {len(by_case)} graphs; the thesis has an order of magnitude in time."


@findings.about("Grids", lambda study: rows_of_largest(shapes(study)))
def _shapes(rows: list[JsonObject]) -> str:
    best, worst = (pick(rows, key=lambda row: row["bytes"]) for pick in (min, max))
    text = f"{best['grid']} sends least for CC on {label(best[CASE])}, "
    text += f"{worst['grid']} {digits3(worst['over_least'])} times as much"
    slowdown = keyed_numbers("grid2d")["slowdown_32_8"]
    return f"{text}; in the thesis 16 × 16 is the fastest, and 32 × 8 takes {slowdown} times as long."


@findings.about("Times", times)
def _times(rows: list[JsonObject]) -> str:
    """The largest graph, and the share of the calls of groups on the most ranks."""
    own = rows_of_largest(rows)
    most = max(row["p"] for row in own)
    last = [row for row in own if row["p"] == most]
    taken = ", ".join(f"{row['key']} takes {seconds(row['seconds'])}" for row in last)
    shares = spread([100 * row["in_groups"] / row["seconds"] for row in last])
    text = f"On {label(last[0][CASE])}, of {count(last[0][CASE]['rows'])} vertices, {taken} on {count(most)}"
    return f"{text} ranks of one machine, {shares} % of it in calls of their groups."


@findings.about("More ranks on one machine", times)
def _slower(rows: list[JsonObject]) -> str | None:
    """Times on the most ranks over those on one, of the largest graph that was timed on one."""
    alone = rows_of_largest([row for row in rows if row["p"] == 1])
    most = max(row["p"] for row in rows)
    first = {row["key"]: row["seconds"] for row in alone}
    last = (
        {row["key"]: row["seconds"] for row in rows if row["p"] == most and row[CASE] is alone[0][CASE]}
        if alone
        else {}
    )
    if most == 1 or not last:
        return None
    ratios = ", ".join(f"{two_digits(value / first[key])} ({key})" for key, value in last.items())
    return f"On {label(alone[0][CASE])} {count(most)} ranks take {ratios} times as long as one."


@findings.about("Model", modelled)
def _model(rows: list[JsonObject]) -> str:
    """By the number of ranks: with more ranks than cores they wait for one another."""
    parts = []
    for ranks in sorted({row["p"] for row in rows}):
        own = [row for row in rows if row["p"] == ranks]
        constants = spread([row["latency"] for row in own], seconds)
        constants += f" and {spread([row['bandwidth'] / 1e9 for row in own])} GB/s"
        ratios = spread([row["ratio"] for row in own], two_digits)
        parts.append(f"{ratios} times the modelled time on {count(ranks)} ranks ({constants})")
    return f"The calls of groups took, waiting for slower ranks included, {listed(parts)}."
