"""The summary of the study: equal orders, bandwidths beside the paper's, and the fastest method."""

from __future__ import annotations

from collections import Counter
from typing import Any

from linforest_precond.study.findings import Findings
from linforest_precond.study.number_formats import listed
from linforest_precond.study.rcm.tables import published
from linforest_precond.study.results import JsonObject, dig, done, label

findings = Findings()


@findings.about("One order", "orders")
def _same_order(cases: list[JsonObject]) -> str:
    found = [dig(case, "orders", "identical") for case in cases]
    where = "the one matrix" if len(found) == 1 else f"all {len(found)} matrices"
    if all(found):
        return f"All methods gave the same order on {where}."
    return f"The methods gave different orders on {found.count(False)} matrices: a defect."


def _due(study: JsonObject) -> list[JsonObject]:
    return [case for case in done(study, "orders") if case.get("at_paper_size") and case.get("paper")]


@findings.about("The paper", _due)
def _paper_bandwidths(cases: list[JsonObject]) -> str:
    pairs: list[tuple[Any, Any]] = [
        (dig(case, "orders", "reordered_bandwidth"), published(case, "reordered_bandwidth")) for case in cases
    ]
    better = sum(ours <= theirs for ours, theirs in pairs)
    names = listed([label(case) for case in cases][:4])
    text = "The reordered bandwidth is at most the published one on"
    return f"{text} {better} of {len(cases)} matrices ({names})."


@findings.about(
    "SciPy", lambda study: [case for case in done(study, "orders") if "envelope" in case["orders"]]
)
def _scipy(cases: list[JsonObject]) -> str:
    found = [case["orders"] for case in cases]
    narrower = sum(each["reordered_bandwidth"] <= each["scipy_bandwidth"] for each in found)
    smaller = sum(each["envelope"] <= each["scipy_envelope"] for each in found)
    text = f"The bandwidth is at most that of SciPy's order on {narrower} of {len(cases)} matrices"
    return f"{text}, the envelope on {smaller}."


@findings.about("Fastest", "times")
def _fastest(cases: list[JsonObject]) -> str:
    device = "cuda" if any(dig(case, "times", "cuda") for case in cases) else "cpu"
    wins: Counter[str] = Counter()
    for case in cases:
        times = dig(case, "times", device)
        methods = [name for name in times if name not in ("auto", "start searched for", "transfer")]
        wins[min(methods, key=lambda name: times[name])] += 1
    words = [f"{name} on {count}" for name, count in wins.most_common()]
    place = {"cpu": "the CPU", "cuda": "the GPU"}[device]
    return f"On {place}: {listed(words)} of {len(cases)} matrices."
