"""The main results as sentences, computed from the numbers of the study."""

from __future__ import annotations

import math
from statistics import fmean

from linforest_precond.study.number_formats import count, digits3, fixed
from linforest_precond.study.paper import Finding
from linforest_precond.study.published import scale_tables
from linforest_precond.study.results import JsonObject, done
from linforest_precond.study.scale.tables import implied_edges

MANY_ENTRIES = 100_000


def findings(study: JsonObject) -> list[Finding]:
    """The main findings, none for parts that were not run."""
    makers = (_optimum, _rates, _same, _memory, _printed)
    return [finding for maker in makers if (finding := maker(study))]


def geometric_gap(study: JsonObject, method: str = "locally_dominant") -> float | None:
    """The geometric mean of the distances from the maximum, as the thesis averages; None without any."""
    gaps = [case["optimum"]["gaps"][method] for case in done(study, "optimum") if case["optimum"]["gaps"]]
    positive = [gap for gap in gaps if gap > 0]
    return math.exp(fmean(map(math.log, positive))) if positive else None


def _optimum(study: JsonObject) -> Finding | None:
    gap = geometric_gap(study)
    if gap is None:
        return None
    paper = scale_tables()["geometric mean"]["ld_gap"]
    text = f"Locally dominant matchings are {fixed(gap, 1)} % below the maximum weight in the geometric mean"
    gaps = [row["ld_gap"] for row in scale_tables().values() if "ld_gap" in row and "edges" in row]
    spread = f"{min(gaps)} to {max(gaps)} %"
    return Finding("Quality", f"{text}; the thesis has {paper} % ({spread}) on seven graphs of other sizes.")


def large(study: JsonObject, part: str) -> list[JsonObject]:
    """The cases with many edges, all where there is none: on small graphs, overheads are all there is."""
    cases = done(study, part)
    return [case for case in cases if case["nnz"] >= MANY_ENTRIES] or cases


def _which(study: JsonObject, part: str) -> str:
    """The large cases in words."""
    many, cases = len(large(study, part)), len(done(study, part))
    if many == cases:
        return f"on all {cases} graphs"
    return f"on {many} of {cases} graphs, those with at least {count(MANY_ENTRIES)} entries"


def _rates(study: JsonObject) -> Finding | None:
    cases = large(study, "batches")
    if not cases:
        return None
    rates = [case["batches"]["whole"]["mmeps"] for case in cases]
    slow = [_slowdown(case["batches"]) for case in cases]
    text = f"{digits3(min(rates))} to {digits3(max(rates))} million matched edges per second"
    batched = f"in 8 batches they take {digits3(fmean(slow))} times as long on average"
    return Finding("Rate", f"{text} {_which(study, 'batches')}; {batched}.")


def _slowdown(found: JsonObject) -> float:
    """The time in the most batches over that of the graph as a whole."""
    *_, last = found["batched"].values()
    return float(last["seconds"] / found["whole"]["seconds"])


def _same(study: JsonObject) -> Finding | None:
    cases = done(study, "batches")
    rows = [row for case in cases for row in case["batches"]["batched"].values()]
    if not rows:
        return None
    same = sum(row["same"] for row in rows)
    return Finding(
        "Batches", f"{same} of {len(rows)} matchings in batches are bit for bit the one in memory."
    )


def _memory(study: JsonObject) -> Finding | None:
    cases = large(study, "memory")
    if not cases:
        return None
    shares = [case["memory"]["peak"] / case["memory"]["graph"] for case in cases]
    held = sum(case["memory"]["peak"] <= case["memory"]["given"] for case in cases)
    text = f"Peaks of {100 * min(shares):.0f} to {100 * max(shares):.0f} % of the graph's size"
    which = _which(study, "memory")
    return Finding("Memory", f"{text} {which}; {held} of {len(cases)} stay within the memory given to them.")


def _printed(study: JsonObject) -> Finding | None:
    """The printed rates and times of one graph that contradict each other."""
    if not done(study):
        return None
    pairs = {
        graph: (implied_edges(row, "ld"), implied_edges(row, "sr"))
        for graph, row in scale_tables().items()
        if "ld_mmeps" in row
    }
    known = {graph: (ld, sr) for graph, (ld, sr) in pairs.items() if ld and sr}
    graph, (ld, sr) = max(known.items(), key=lambda item: abs(math.log(item[1][0] / item[1][1])))
    agree = sum(abs(math.log(ld / sr)) < 0.1 for ld, sr in known.values())
    text = (
        f"Rate times time of tables 4.4 and 4.1 is the same for both codes on {agree} of {len(known)} graphs"
    )
    apart = f"on {graph} they give {count(round(ld / 1e6))} and {count(round(sr / 1e6))} million"
    return Finding("The printed rates", f"{text}; {apart}, so one of its numbers is misprinted.")
