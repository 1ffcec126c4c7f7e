"""The study of chapter 5 of Mandulak (2025): its cases, measurements and report."""

from __future__ import annotations

from linforest_precond.similarity.noisy_sets import ambiguous_sets
from linforest_precond.study.cases import Case
from linforest_precond.study.joins import plots
from linforest_precond.study.joins.findings import findings
from linforest_precond.study.joins.measures import quality, shares, times
from linforest_precond.study.joins.sets import fetch, properties, select
from linforest_precond.study.joins.tables import LISTINGS
from linforest_precond.study.listings import csv_tables, report_of
from linforest_precond.study.paper import Paper, mandulak
from linforest_precond.study.settings import Settings


def warm_up(settings: Settings) -> None:
    """Compile by joining a few sets."""
    for part in settings.parts:
        JOINS.measures[part](ambiguous_sets(60, size=4), Case("warm up", "warm up", "generated"), settings)


JOINS = Paper(
    name="joins",
    title="Fuzzy set joins",
    reference=mandulak(5),
    select=select,
    measures={"quality": quality, "times": times, "shares": shares},
    tables=csv_tables(LISTINGS),
    figures=plots.figures,
    report=report_of(LISTINGS, plots),
    findings=findings,
    fetch=fetch,
    properties=properties,
    warm_up=warm_up,
)
