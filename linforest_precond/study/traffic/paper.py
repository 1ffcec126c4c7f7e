"""The study of chapter 3 of Mandulak (2025): statistics of traffic matrices."""

from __future__ import annotations

from linforest_precond.study.paper import Paper, by_name
from linforest_precond.study.traffic import plots
from linforest_precond.study.traffic.findings import findings
from linforest_precond.study.traffic.measures import analysis, batches, files, windows
from linforest_precond.study.traffic.packets import fetch, own_case, properties
from linforest_precond.study.traffic.tables import TABLES

TRAFFIC = Paper(
    name="traffic",
    measures=by_name(analysis, batches, windows, files),
    listings=TABLES,
    plots=plots,
    findings=findings,
    own_case=own_case,
    fetch=fetch,
    properties=properties,
)
