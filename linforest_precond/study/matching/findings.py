"""The main results as sentences, computed from the numbers of the study."""

from __future__ import annotations

from statistics import fmean

from linforest_precond.study.matching.measures import best_probability
from linforest_precond.study.number_formats import count, digits3, fixed
from linforest_precond.study.paper import Finding
from linforest_precond.study.published import matching_numbers
from linforest_precond.study.results import JsonObject, done, label


def findings(study: JsonObject) -> list[Finding]:
    """The main findings, none for parts that were not run."""
    makers = (_random, _weighted, _why, _dominant, _rounds, _probability, _speed)
    return [finding for maker in makers if (finding := maker(study))]


def average(study: JsonObject, key: str) -> float | None:
    """The average of a ratio over the matrices, as the paper averages."""
    values = [case["quality"][key] for case in done(study, "quality")]
    return fmean(values) if values else None


def _random(study: JsonObject) -> Finding | None:
    size = average(study, "size")
    if size is None:
        return None
    text = f"Random proposals match {fixed(size, 3)} of the size of the sequential algorithm on average"
    return Finding("Random matching", f"{text}; the paper has more than {matching_numbers()['size']}.")


def _weighted(study: JsonObject) -> Finding | None:
    gain, greedy = average(study, "gain"), average(study, "greedy")
    if gain is None:
        return None
    known = matching_numbers()
    text = (
        f"Weighted proposals have {fixed(gain, 2)} times the weight of Algorithm 1 (paper: {known['gain']})"
    )
    return Finding(
        "Weighted matching", f"{text} and {fixed(greedy, 2)} of Algorithm 2 (paper: {known['greedy']})."
    )


def _why(study: JsonObject) -> Finding | None:
    cases = [case["arrangement"] for case in done(study, "arrangement")]
    if not cases:
        return None
    own, shuffled = (fmean(case[key]["gain"] for case in cases) for key in ("own", "shuffled"))
    low, high = (fmean(case["scaled"]["gain"][place] for case in cases) for place in (0, -1))
    implied = matching_numbers()["greedy"] / matching_numbers()["gain"]
    text = (
        f"The ratio to Algorithm 1 is a matter of how heavy edges are arranged: {fixed(own, 2)} with the "
        f"own weights, {fixed(shuffled, 2)} with the same weights shuffled among the edges, and "
        f"{fixed(low, 2)} to {fixed(high, 2)} as the vertices get factors that are ever further apart. The "
        f"paper's two averages imply that Algorithm 1 has {fixed(implied, 2)} of the greedy weight on its "
        "matrices."
    )
    return Finding("Why it differs", text)


def _dominant(study: JsonObject) -> Finding | None:
    cases = done(study, "quality")
    if not cases:
        return None
    equal = sum(set(case["quality"]["dominant"].values()) == {1.0} for case in cases)
    text = f"Our locally dominant and suitor matchings are the greedy one on {equal} of {len(cases)} matrices"
    return Finding("Locally dominant", f"{text}, in parallel: nothing of the weight is given up for speed.")


def _rounds(study: JsonObject) -> Finding | None:
    cases = done(study, "rounds")
    if not cases:
        return None
    after = {k: fmean(_after(case, k) for case in cases) for k in (1, 5)}
    most = max(case["rounds"]["random"]["rounds"] for case in cases)
    one, five = (f"{100 * fraction:.0f} %" for fraction in after.values())
    text = f"Random proposals match {one} of the vertices in one round and {five} in five"
    return Finding("Rounds", f"{text}; {most} rounds suffice for every matrix.")


def _after(case: JsonObject, rounds: int) -> float:
    fractions = case["rounds"]["random"]["matched"]
    return float(fractions[min(rounds, len(fractions)) - 1]) if fractions else 0.0


def _probability(study: JsonObject) -> Finding | None:
    cases = done(study, "colours")
    if not cases:
        return None
    best = [_best(case["colours"]) for case in cases]
    text = f"The first round matches most vertices at p = {min(best)} to {max(best)}"
    return Finding("Colours", f"{text}; Eq. 2 has its maximum at {best_probability():.5f}, as published.")


def _best(found: JsonObject) -> float:
    first = found["random"]["first"]
    return float(found["p"][first.index(max(first))])


def _speed(study: JsonObject) -> Finding | None:
    cases = done(study, "times")
    if not cases:
        return None
    fastest = max(cases, key=lambda case: case["times"]["speedups"]["random"])
    times = fastest["times"]
    text = (
        f"Random proposals reach {digits3(times['speedups']['random'])} times the speed of Algorithm 1 "
        f"({label(fastest)}, {count(times['edges'])} edges)"
    )
    known = matching_numbers()
    paper = f"{known['cuda_speedup_random']} on its GPU and {known['tbb_speedup_random']} on 16 threads"
    return Finding("Speed", f"{text}; the paper's largest speedup is {paper}.")
