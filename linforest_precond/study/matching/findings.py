"""The summary of the study: sizes and weights, rounds, colours and speedups."""

from __future__ import annotations

from statistics import fmean

from linforest_precond.study.findings import Findings
from linforest_precond.study.matching.measures import best_probability
from linforest_precond.study.matching.tables import average
from linforest_precond.study.number_formats import count, digits3, spread, three_digits, two_digits
from linforest_precond.study.published import keyed_numbers
from linforest_precond.study.results import JsonObject, label

findings = Findings()


@findings.about("Random matching")
def _random(study: JsonObject) -> str | None:
    size = average(study, "size")
    if size is None:
        return None
    text = f"Random proposals match {three_digits(size)} of the size of the sequential algorithm on average"
    return f"{text}; the paper has more than {keyed_numbers('matching')['size']}."


@findings.about("Weighted matching")
def _weighted(study: JsonObject) -> str | None:
    gain, known = average(study, "gain"), keyed_numbers("matching")
    if gain is None:
        return None
    text = f"Weighted proposals have {two_digits(gain)} times the weight of Algorithm 1"
    text += f" (paper: {known['gain']}) and {two_digits(average(study, 'greedy'))} of Algorithm 2"
    return f"{text} (paper: {known['greedy']})."


@findings.about("Why it differs", "arrangement")
def _why(cases: list[JsonObject]) -> str:
    found = [case["arrangement"] for case in cases]
    own, shuffled = (two_digits(fmean(each[key]["gain"] for each in found)) for key in ("own", "shuffled"))
    low, high = (two_digits(fmean(each["scaled"]["gain"][place] for each in found)) for place in (0, -1))
    known = keyed_numbers("matching")
    implied = two_digits(known["greedy"] / known["gain"])
    return (
        f"The ratio to Algorithm 1 is a matter of how heavy edges are arranged: {own} with the own weights, "
        f"{shuffled} with the same weights shuffled among the edges, and {low} to {high} as the vertices get "
        f"factors that are ever further apart. The paper's two averages imply that Algorithm 1 has {implied} "
        "of the greedy weight on its matrices."
    )


@findings.about("Locally dominant", "quality")
def _dominant(cases: list[JsonObject]) -> str:
    equal = sum(set(case["quality"]["dominant"].values()) == {1.0} for case in cases)
    text = f"Our locally dominant and suitor matchings are the greedy one on {equal} of {len(cases)} matrices"
    return f"{text}, in parallel: nothing of the weight is given up for speed."


@findings.about("Rounds", "rounds")
def _rounds(cases: list[JsonObject]) -> str:
    one, five = (f"{100 * fmean(_after(case, k) for case in cases):.0f} %" for k in (1, 5))
    most = max(case["rounds"]["random"]["rounds"] for case in cases)
    text = f"Random proposals match {one} of the vertices in one round and {five} in five"
    return f"{text}; {most} rounds suffice for every matrix."


def _after(case: JsonObject, rounds: int) -> float:
    fractions = case["rounds"]["random"]["matched"]
    return float(fractions[min(rounds, len(fractions)) - 1]) if fractions else 0.0


@findings.about("Colours", "colours")
def _probability(cases: list[JsonObject]) -> str:
    best = [_best(case["colours"]) for case in cases]
    text = f"The first round matches most vertices at p = {spread(best, str)}"
    return f"{text}; Eq. 2 has its maximum at {best_probability():.5f}, as published."


def _best(found: JsonObject) -> float:
    first = found["random"]["first"]
    return float(found["p"][first.index(max(first))])


@findings.about("Speed", "times")
def _speed(cases: list[JsonObject]) -> str:
    fastest = max(cases, key=lambda case: case["times"]["speedups"]["random"])
    found, known = fastest["times"], keyed_numbers("matching")
    text = f"Random proposals reach {digits3(found['speedups']['random'])} times the speed of Algorithm 1"
    text += f" ({label(fastest)}, {count(found['edges'])} edges); the paper's largest speedup is"
    return (
        f"{text} {known['cuda_speedup_random']} on its GPU and {known['tbb_speedup_random']} on 16 threads."
    )
