"""The study of Fagginger Auer & Bisseling (2012): greedy matching by proposals."""

from __future__ import annotations

from linforest_precond.study.matching import plots
from linforest_precond.study.matching.findings import findings
from linforest_precond.study.matching.measures import (
    MatchingSettings,
    arrangement,
    colours,
    quality,
    rounds,
    threads,
    times,
)
from linforest_precond.study.matching.tables import TABLES
from linforest_precond.study.paper import Paper, by_name
from linforest_precond.study.published import keyed_numbers
from linforest_precond.study.results import JsonObject, done


def variables(study: JsonObject) -> JsonObject:
    """The published numbers, and the threads of the timed calls."""
    threads = max((case["times"]["threads"] for case in done(study, "times")), default=None)
    return {"published": keyed_numbers("matching"), "threads": threads}


MATCHING = Paper(
    name="matching",
    measures=by_name(rounds, colours, quality, arrangement, times, threads),
    listings=TABLES,
    plots=plots,
    findings=findings,
    variables=variables,
    settings=MatchingSettings,
)
