"""The study of chapter 6 of Mandulak (2025): graphs on R x C ranks."""

from __future__ import annotations

from dataclasses import dataclass

from linforest_precond.study.grid2d import plots
from linforest_precond.study.grid2d.findings import findings
from linforest_precond.study.grid2d.graphs import fetch, own_case
from linforest_precond.study.grid2d.measures import balance, rounds, scaling, shapes, variants
from linforest_precond.study.grid2d.ranks import times
from linforest_precond.study.grid2d.tables import TABLES
from linforest_precond.study.paper import Paper, by_name
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
    measures=by_name(rounds, scaling, variants, shapes, balance, times),
    listings=TABLES,
    plots=plots,
    findings=findings,
    own_case=own_case,
    settings=HostSettings,
    fetch=fetch,
)
