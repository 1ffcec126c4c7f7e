"""The study of chapter 6 of Mandulak (2025): its cases, measurements and report."""

from __future__ import annotations

from linforest_precond.study.grid2d import plots
from linforest_precond.study.grid2d.findings import findings
from linforest_precond.study.grid2d.graphs import fetch, select
from linforest_precond.study.grid2d.measures import balance, rounds, scaling, shapes, variants
from linforest_precond.study.grid2d.ranks import times
from linforest_precond.study.grid2d.tables import LISTINGS
from linforest_precond.study.listings import csv_tables, report_of
from linforest_precond.study.paper import Paper, mandulak

GRID2D = Paper(
    name="grid2d",
    title="Graphs in two dimensions",
    reference=mandulak(6),
    select=select,
    measures={
        "rounds": rounds,
        "scaling": scaling,
        "variants": variants,
        "shapes": shapes,
        "balance": balance,
        "times": times,
    },  # fmt: skip
    tables=csv_tables(LISTINGS),
    figures=plots.figures,
    report=report_of(LISTINGS, plots),
    findings=findings,
    fetch=fetch,
)
