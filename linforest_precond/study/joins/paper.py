"""The study of chapter 5 of Mandulak (2025): fuzzy set joins by approximate matchings."""

from __future__ import annotations

from linforest_precond.study.joins import plots
from linforest_precond.study.joins.findings import findings
from linforest_precond.study.joins.measures import quality, shares, times
from linforest_precond.study.joins.sets import LARGE, data_sets, fetch, own_case, properties
from linforest_precond.study.joins.tables import TABLES
from linforest_precond.study.paper import Paper, by_name

JOINS = Paper(
    name="joins",
    measures=by_name(quality, times, shares),
    listings=TABLES,
    plots=plots,
    findings=findings,
    quick=data_sets,
    full=lambda: [*data_sets(), LARGE],
    own_case=own_case,
    fetch=fetch,
    properties=properties,
)
