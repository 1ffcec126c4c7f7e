"""The study of chapter 2 of Mandulak (2025): vertex orderings and the cache."""

from __future__ import annotations

from linforest_precond.study.orderings import plots
from linforest_precond.study.orderings.findings import findings
from linforest_precond.study.orderings.graphs import fetch, own_case
from linforest_precond.study.orderings.measures import orderings, refinement
from linforest_precond.study.orderings.tables import TABLES
from linforest_precond.study.paper import Paper, by_name

ORDERINGS = Paper(
    name="orderings",
    measures=by_name(orderings, refinement),
    listings=TABLES,
    plots=plots,
    findings=findings,
    own_case=own_case,
    fetch=fetch,
)
