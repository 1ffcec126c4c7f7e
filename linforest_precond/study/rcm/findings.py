"""The main results as sentences, computed from the numbers of the study."""

from __future__ import annotations

from typing import Any

from linforest_precond.study.number_formats import listed
from linforest_precond.study.paper import Finding
from linforest_precond.study.published import rcm_number
from linforest_precond.study.results import JsonObject, dig, done, label


def findings(study: JsonObject) -> list[Finding]:
    """The main results as sentences."""
    makers = (_same_order, _paper_bandwidths, _fastest)
    return [finding for maker in makers if (finding := maker(study))]


def _same_order(study: JsonObject) -> Finding | None:
    found = [dig(case, "orders", "identical") for case in done(study, "orders")]
    if not found:
        return None
    where = "the one matrix" if len(found) == 1 else f"all {len(found)} matrices"
    if all(found):
        return Finding("One order", f"All methods gave the same order on {where}.")
    return Finding(
        "One order", f"The methods gave different orders on {found.count(False)} matrices: a defect."
    )


def _paper_bandwidths(study: JsonObject) -> Finding | None:
    due = [case for case in done(study, "orders") if case.get("at_paper_size") and case.get("paper")]
    if not due:
        return None
    pairs: list[tuple[Any, Any]] = [
        (dig(case, "orders", "reordered_bandwidth"), rcm_number(case["paper"], "reordered_bandwidth"))
        for case in due
    ]
    better = sum(ours <= theirs for ours, theirs in pairs)
    names = listed([label(case) for case in due][:4])
    text = (
        f"The reordered bandwidth is at most the published one on {better} of {len(due)} matrices ({names})"
    )
    return Finding("The paper", f"{text}.")


def _fastest(study: JsonObject) -> Finding | None:
    cases = done(study, "times")
    if not cases:
        return None
    device = "cuda" if any(dig(case, "times", "cuda") for case in cases) else "cpu"
    wins: dict[str, int] = {}
    for case in cases:
        times = {
            name: seconds
            for name, seconds in dig(case, "times", device).items()
            if name not in ("auto", "start searched for")
        }
        best = min(times, key=lambda name: times[name])
        wins[best] = wins.get(best, 0) + 1
    words = [f"{name} on {count}" for name, count in sorted(wins.items(), key=lambda item: -item[1])]
    place = {"cpu": "the CPU", "cuda": "the GPU"}[device]
    return Finding("Fastest", f"On {place}: {listed(words)} of {len(cases)} matrices.")
