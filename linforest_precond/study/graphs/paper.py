"""The study of Cichra's thesis (2024): components, independent sets and spanning forests."""

from __future__ import annotations

from functools import partial

from linforest_precond.study.graphs import plots
from linforest_precond.study.graphs.families import FAMILIES
from linforest_precond.study.graphs.findings import findings
from linforest_precond.study.graphs.graphs import (
    QUICK_SIZES,
    fetch,
    own_case,
    properties,
    sizes,
    sweep_names,
)
from linforest_precond.study.graphs.tables import TABLES, report
from linforest_precond.study.graphs.times import measured
from linforest_precond.study.paper import Paper

GRAPHS = Paper(
    name="graphs",
    measures={part: partial(measured, part) for part in FAMILIES},
    listings=TABLES,
    plots=plots,
    findings=findings,
    variables=report,
    quick=lambda: sweep_names(QUICK_SIZES),
    full=lambda: sweep_names(sizes()),
    own_case=own_case,
    fetch=fetch,
    properties=properties,
)
