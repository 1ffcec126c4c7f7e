"""The study of chapter 3 of Mandulak (2025): its cases, measurements and report."""

from __future__ import annotations

from linforest_precond.study.cases import Case, Source
from linforest_precond.study.listings import csv_tables, report_of
from linforest_precond.study.paper import Paper, mandulak
from linforest_precond.study.settings import Settings
from linforest_precond.study.traffic import plots
from linforest_precond.study.traffic.findings import findings
from linforest_precond.study.traffic.measures import analysis, batches, files, windows
from linforest_precond.study.traffic.packets import fetch, properties, select
from linforest_precond.study.traffic.tables import LISTINGS


def warm_up(settings: Settings) -> None:
    """Compile by measuring a few packets."""
    case = Case("packets:10", "warm up", "generated")
    _, A = fetch(Source(settings.device), case)
    for part in settings.parts:
        TRAFFIC.measures[part](A, case, settings)


TRAFFIC = Paper(
    name="traffic",
    title="Statistics of traffic matrices",
    reference=mandulak(3),
    select=select,
    measures={"analysis": analysis, "batches": batches, "windows": windows, "files": files},
    tables=csv_tables(LISTINGS),
    figures=plots.figures,
    report=report_of(LISTINGS, plots),
    findings=findings,
    fetch=fetch,
    properties=properties,
    warm_up=warm_up,
)
