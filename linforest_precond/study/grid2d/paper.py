"""The study of chapter 6 of Mandulak (2025): its cases, measurements and report."""

from __future__ import annotations

from dataclasses import dataclass

from linforest_precond.study.grid2d import plots
from linforest_precond.study.grid2d.findings import findings
from linforest_precond.study.grid2d.graphs import fetch, select
from linforest_precond.study.grid2d.measures import balance, rounds, scaling, shapes, variants
from linforest_precond.study.grid2d.ranks import times
from linforest_precond.study.grid2d.tables import LISTINGS
from linforest_precond.study.listings import csv_tables, report_of
from linforest_precond.study.paper import Paper, mandulak
from linforest_precond.study.settings import Settings


@dataclass(frozen=True)
class HostSettings(Settings):
    """Settings of a study of algorithms that run on the CPU alone."""

    def __post_init__(self) -> None:
        if self.device == "cuda":
            raise ValueError('device="cuda" is not possible: the algorithms of grid2d are those of the CPU')
        super().__post_init__()


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
    settings=HostSettings,
    fetch=fetch,
)
