"""The study of chapter 2 of Mandulak (2025): its cases, measurements and report."""

from __future__ import annotations

from linforest_precond.study.cases import Case, Source
from linforest_precond.study.listings import csv_tables, report_of
from linforest_precond.study.orderings import plots
from linforest_precond.study.orderings.findings import findings
from linforest_precond.study.orderings.graphs import fetch, select
from linforest_precond.study.orderings.measures import orderings, refinement
from linforest_precond.study.orderings.tables import LISTINGS
from linforest_precond.study.paper import Paper, mandulak
from linforest_precond.study.settings import Settings


def warm_up(settings: Settings) -> None:
    """Compile by measuring a small grid."""
    _, A = fetch(Source(settings.device), Case("poisson2d:9", "warm up", "generated"))
    for part in settings.parts:
        ORDERINGS.measures[part](A, Case("warm up", "warm up", "generated"), settings)


ORDERINGS = Paper(
    name="orderings",
    title="Vertex orderings and the cache",
    reference=mandulak(2),
    select=select,
    measures={"orderings": orderings, "refinement": refinement},
    tables=csv_tables(LISTINGS),
    figures=plots.figures,
    report=report_of(LISTINGS, plots),
    findings=findings,
    fetch=fetch,
    warm_up=warm_up,
)
