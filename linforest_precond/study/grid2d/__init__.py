"""Graphs on a grid of R x C ranks: the study of chapter 6 of Mandulak (2025)."""

from dataclasses import dataclass

from linforest_precond.study.grid2d import findings, graphs, plots, tables
from linforest_precond.study.grid2d.measures import balance, rounds, scaling, shapes, variants
from linforest_precond.study.grid2d.ranks import times
from linforest_precond.study.paper import Settings, by_name, paper_of

PARTS = by_name(rounds, scaling, variants, shapes, balance, times)


@dataclass(frozen=True)
class GridSettings(Settings):
    """Settings of the study: with the GPU it has times alone, as counts do not depend on the device."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.device == "cuda":
            if self.parts not in (tuple(PARTS), ("times",)):
                raise ValueError(
                    'device="cuda" has the part "times" alone: counts do not depend on the device'
                )
            object.__setattr__(self, "parts", ("times",))


GRID2D = paper_of("grid2d", PARTS, tables, plots, findings, graphs, settings=GridSettings)
