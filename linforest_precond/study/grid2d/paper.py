"""The study of chapter 6 of Mandulak (2025): graphs on R x C ranks."""

from __future__ import annotations

from dataclasses import dataclass

from linforest_precond.study.grid2d import findings, graphs, plots, tables
from linforest_precond.study.grid2d.measures import balance, rounds, scaling, shapes, variants
from linforest_precond.study.grid2d.ranks import times
from linforest_precond.study.paper import by_name, paper_of
from linforest_precond.study.settings import Settings

PARTS = by_name(rounds, scaling, variants, shapes, balance, times)


@dataclass(frozen=True)
class HostSettings(Settings):
    """Settings of a study of algorithms that run on the CPU alone."""

    def __post_init__(self) -> None:
        if self.device == "cuda":
            raise ValueError('device="cuda" is not possible: the algorithms of grid2d are those of the CPU')
        super().__post_init__()


GRID2D = paper_of("grid2d", PARTS, tables, plots, findings, graphs, settings=HostSettings)
