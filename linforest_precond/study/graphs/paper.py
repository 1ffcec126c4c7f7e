"""The study of Cichra's thesis (2024): its cases, measurements and report."""

from functools import partial

from linforest_precond.study.graphs.families import FAMILIES
from linforest_precond.study.graphs.findings import findings
from linforest_precond.study.graphs.graphs import fetch, properties, select
from linforest_precond.study.graphs.plots import figures
from linforest_precond.study.graphs.report import report
from linforest_precond.study.graphs.tables import tables
from linforest_precond.study.graphs.times import measured, warm_up
from linforest_precond.study.paper import Paper, Reference

GRAPHS = Paper(
    name="graphs",
    title="Components, independent sets and spanning forests",
    reference=Reference(
        "Radek Cichra",
        "Parallel graph algorithms for GPU",
        "Bachelor’s degree project, Czech Technical University in Prague, 2024",
    ),
    select=select,
    measures={part: partial(measured, part) for part in FAMILIES},
    tables=tables,
    figures=figures,
    report=report,
    findings=findings,
    fetch=fetch,
    properties=properties,
    warm_up=warm_up,
)
