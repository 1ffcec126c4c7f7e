"""The summary of the study: equal orders, bandwidths beside the paper's, and the fastest method."""

from __future__ import annotations

from collections import Counter
from typing import Any

from linforest_precond.study.findings import Findings
from linforest_precond.study.number_formats import digits3, listed, percent, spread
from linforest_precond.study.rcm.measures import COUNTED
from linforest_precond.study.rcm.tables import published, times
from linforest_precond.study.results import JsonObject, dig, done, label

findings = Findings()

# A method is as good as another one up to this share of its time, and a queue as good as empty.
NEAR = 0.1


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


DEVICES = {"cuda": "the GPU", "cpu": "the CPU"}


def _methods(case: JsonObject, device: str) -> dict[str, float]:
    """The seconds of each method; none where they were not run."""
    times = dig(case, "times", device) or {}
    return {name: times[name] for name in times if name not in ("auto", "start searched for", "transfer")}


@findings.about("Fastest", "times")
def _fastest(cases: list[JsonObject]) -> str:
    device = "cuda" if any(dig(case, "times", "cuda") for case in cases) else "cpu"
    found = [_methods(case, device) for case in cases]
    wins = Counter(min(times, key=lambda name: times[name]) for times in found)
    words = [f"{name} on {count}" for name, count in wins.most_common()]
    return f"On {DEVICES[device]}: {listed(words)} of {len(cases)} matrices."


@findings.about("The default", "times")
def _default(cases: list[JsonObject]) -> str:
    """How far the choice by "auto" is behind the fastest method."""
    parts = []
    for device, place in DEVICES.items():
        behind = [
            (case["times"][device]["auto"] / min(times.values()) - 1, label(case))
            for case in cases
            if (times := _methods(case, device))
        ]
        if behind:
            near = sum(share <= NEAR for share, _ in behind)
            worst, name = max(behind)
            text = f"{near} of {len(behind)} matrices on {place}"
            parts.append(f"{text} (at worst {percent(worst)} behind, on {name})")
    return f"It is within {percent(NEAR)} of the fastest method on {listed(parts)}."


@findings.about("Batches on the GPU", lambda study: [row for row in times(study) if row["seconds"]])
def _batches(rows: list[JsonObject]) -> str | None:
    """Where the batch method loses: to our leveled one, and to the authors' batches."""
    found = {
        approach: {row["matrix"]["name"]: row["seconds"] for row in rows if row["approach"] == approach}
        for approach in ("batch, GPU", "leveled, GPU")
    }
    ours, leveled = found.values()
    ratios = [ours[name] / leveled[name] for name in ours if name in leveled]
    if not ratios:
        return None
    text = f"Our batches take {spread(ratios)} times as long as our leveled method"
    beside = [
        f"{digits3(row['seconds'] / row['rebuilt_seconds'])} on {label(row['matrix'])}"
        for row in rows
        if row["rebuilt_seconds"]
    ]
    return f"{text}; as the authors' batch code: {listed(beside)} times." if beside else f"{text}."


@findings.about("Early termination", "batches")
def _early(cases: list[JsonObject]) -> str:
    """Figure 3: the graphs on which batches are left in the queue."""
    shares = {label(case): _dequeued(case) for case in cases}
    ended = [f"{digits3(100 * share)} % on {name}" for name, share in shares.items() if share < 1 - NEAR]
    rest = [share for share in shares.values() if share >= 1 - NEAR]
    text = f"Dequeued of the batches generated: {listed(ended)}" if ended else "No search ends early"
    least = f"at least {percent(min(rest))} on {len(rest)} matrices" if rest else ""
    return f"{'; '.join(filter(None, (text, least)))}."


def _dequeued(case: JsonObject) -> float:
    counted = case["batches"][COUNTED]
    return float(counted["dequeued"] / counted["generated"])
