"""The main results as sentences, computed from the tables."""

from __future__ import annotations

import math

from linforest_precond.study.grid2d.tables import largest, rounds, scaling, shapes, variants, weak
from linforest_precond.study.number_formats import count, digits3, fixed
from linforest_precond.study.paper import Finding
from linforest_precond.study.published import keyed_numbers
from linforest_precond.study.results import CASE, JsonObject, label


def findings(study: JsonObject) -> list[Finding]:
    """The main findings, none for parts that were not run."""
    makers = (_round, _strong, _weak, _variants, _shapes)
    return [finding for maker in makers if (finding := maker(study))]


def _round(study: JsonObject) -> Finding | None:
    """Messages of the layout by rows and bytes of the two-dimensional one, on the most ranks."""
    if largest(study, "rounds") is None:
        return None
    row = max(rounds(study), key=lambda row: (row["p"], row[CASE]["rows"]))
    text = f"On {count(row['p'])} ranks a dense round is {count(row['calls'] / row['p'])} calls of each rank"
    rest = f"an exchange between rows {count(row['row_messages'])} messages in all"
    bytes_text = (
        f"a rank sends {fixed(row['bytes'] / row['bound'], 2)} of 24 n / √p bytes ({label(row[CASE])})"
    )
    return Finding("A round", f"{text}, {rest}; {bytes_text}.")


def _strong(study: JsonObject) -> Finding | None:
    case, paper = largest(study, "scaling"), keyed_numbers("grid2d")
    if case is None:
        return None
    own = [row for row in scaling(study) if row[CASE] is case]
    ranks = sorted({row["p"] for row in own})
    if len(ranks) < 2:
        return None
    before, after = ranks[-2:]
    sent = {(row["key"], row["p"]): row["bytes"] for row in own}
    ratios = [
        f"{fixed(sent[key, before] / sent[key, after], 2)} ({key})"
        for key, p in sent
        if p == after and sent[key, p]
    ]
    first, last = paper["speedup_from"], paper["speedup_to"]
    text = (
        f"From {before} to {after} ranks a rank sends less by factors of {', '.join(ratios)} on {label(case)}"
    )
    times = f"{paper['speedup_low']:.0f} to {paper['speedup_high']:.0f} in time from {first:.0f} to "
    times += f"{last:.0f} GPUs, where it allows {math.sqrt(last / first):.0f}"
    return Finding(
        "Strong scaling", f"{text}; √p allows {fixed(math.sqrt(after / before), 0)}. The thesis has {times}."
    )


def _weak(study: JsonObject) -> Finding | None:
    """How much more a rank sends with four times the ranks and vertices."""
    rows, paper = weak(study), keyed_numbers("grid2d")
    growth: dict[str, list[float]] = {}
    for row, following in zip(rows, rows[1:]):
        same = (row["kind"], row["key"]) == (following["kind"], following["key"])
        if same and row["p"] > 1 and row["bytes"]:
            growth.setdefault(row["key"], []).append(following["bytes"] / row["bytes"])
    if not growth:
        return None
    known = ", ".join(
        f"{fixed(min(each), 2)} to {fixed(max(each), 2)} ({key})" for key, each in growth.items()
    )
    text = f"With four times the ranks and vertices a rank sends more by factors of {known}"
    return Finding(
        "Weak scaling", f"{text}; times just less than double in the thesis ({paper['weak_growth']:.0f})."
    )


def _variants(study: JsonObject) -> Finding | None:
    rows = variants(study)
    cases = list(dict.fromkeys(row[CASE]["name"] for row in rows))
    if not cases:
        return None
    edges, sent = [], []
    for name in cases:
        own = [row for row in rows if row[CASE]["name"] == name]
        edges.append(own[0]["edges"] / max(own[-1]["edges"], 1))
        sent.append(own[0]["bytes"] / max(own[-1]["bytes"], 1))
    text = f"With all of them CC visits fewer edges by factors of {_range(edges)} and sends fewer bytes by"
    rest = f"{_range(sent)} on {len(cases)} graphs; the thesis has an order of magnitude in time"
    return Finding("Optimizations", f"{text} {rest}.")


def _range(values: list[float]) -> str:
    return f"{digits3(min(values))} to {digits3(max(values))}"


def _shapes(study: JsonObject) -> Finding | None:
    case = largest(study, "shapes")
    if case is None:
        return None
    own = [row for row in shapes(study) if row[CASE] is case]
    best, worst = (pick(own, key=lambda row: row["bytes"]) for pick in (min, max))
    text = f"{best['grid']} sends least for CC on {label(case)}, "
    text += f"{worst['grid']} {digits3(worst['over_least'])} times as much"
    slowdown = keyed_numbers("grid2d")["slowdown_32_8"]
    return Finding(
        "Grids", f"{text}; in the thesis 16 × 16 is the fastest, and 32 × 8 takes {slowdown} times as long."
    )
