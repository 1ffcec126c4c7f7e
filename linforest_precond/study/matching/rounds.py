"""Figure 2: the fraction of matched vertices by the number of rounds."""

from __future__ import annotations

from typing import Any

from linforest_precond.graph.matching.matching import matching
from linforest_precond.study.cases import Case
from linforest_precond.study.results import JsonObject
from linforest_precond.study.settings import Settings

PROPOSALS = ("random", "weighted")
OURS = ("locally_dominant", "suitor")
MOST_ROUNDS = 60


def rounds(A: Any, case: Case, settings: Settings) -> JsonObject:
    """
    The fraction of matched vertices after each round of proposals; of the other methods, at their end.

    Examples
    --------
    >>> import linforest_precond as lf
    >>> from linforest_precond.study.matching.rounds import rounds
    >>> found = rounds(lf.matrices.poisson((30, 30)), None, None)
    >>> fractions = found["random"]["matched"]
    >>> 0.3 < fractions[0] < 0.65, fractions[-1] > 0.9, len(fractions) == found["random"]["rounds"]
    (True, True, True)
    """
    found = {method: _by_rounds(A, method) for method in PROPOSALS}
    for method in OURS:
        result = matching(A, method)
        found[method] = {"rounds": result.iterations, "matched": [matched(result)]}
    return found


def matched(result: Any) -> float:
    """The fraction of the vertices that are matched."""
    return 2 * result.size / max(result.mate.size, 1)


def _by_rounds(A: Any, method: str) -> JsonObject:
    """A round depends on the seed and the rounds before it only, so a limit cuts the same run short."""
    last = matching(A, method).iterations
    limits = range(1, min(last, MOST_ROUNDS) + 1)
    return {
        "rounds": last,
        "matched": [matched(matching(A, method, max_rounds=limit)) for limit in limits],
    }
