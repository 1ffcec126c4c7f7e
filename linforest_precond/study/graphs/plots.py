"""The figures of the study: times by size, a panel for each density, as in chapter 7 of the thesis."""

from __future__ import annotations

from functools import partial

from linforest_precond.study import drawing
from linforest_precond.study.graphs.graphs import graph_times
from linforest_precond.study.graphs.measures import FAMILIES, Algorithm
from linforest_precond.study.graphs.tables import (
    DEVICES,
    TimedAlgorithm,
    densities_of,
    fastest_device,
    rows_of,
)
from linforest_precond.study.results import JsonObject

COLOURS = dict(zip(DEVICES, (drawing.STAGES[4], drawing.STAGES[2], drawing.STAGES[0])))
# The figure of each algorithm in the thesis.
IN_THESIS = {
    "CC_base": "7.1", "CC_opt2": "7.3", "SCC": "7.5", "MIS_base": "7.7", "MIS_lex3": "7.9", "MIS_opt3": "7.11"
}  # fmt: skip


@drawing.styled
def by_device(study: JsonObject, part: str, key: str) -> drawing.Figure:
    """One algorithm on all devices; dashed: the thesis' times."""
    rows = rows_of(study, part, key)
    figure, axes = drawing.panels(max(len(densities_of(rows)), 1))
    for ax, density in zip(axes, densities_of(rows)):
        here = [row for row in rows if row.density == density]
        for device, name in DEVICES.items():
            _curve(ax, here, device, COLOURS[device], name)
            _published_curves(ax, here[0].algorithm, density, device, COLOURS[device])
        _label(ax, density)
        if thesis := here[0].algorithm.thesis:
            ax.plot([], [], color=drawing.GREY, linestyle="--", linewidth=0.9, label=thesis)
    drawing.legend_above(figure, axes[0], columns=6)
    return figure


@drawing.styled
def compared(study: JsonObject, part: str) -> drawing.Figure:
    """The algorithms for one problem on the GPU, or else on all threads; dashed: the thesis' times there."""
    rows = rows_of(study, part)
    device = fastest_device(rows)
    figure, axes = drawing.panels(max(len(densities_of(rows)), 1))
    for ax, density in zip(axes, densities_of(rows)):
        for place, algorithm in enumerate(FAMILIES[part].algorithms):
            here = [row for row in rows if (row.density, row.algorithm) == (density, algorithm)]
            _curve(ax, here, device, drawing.STAGES[place], algorithm.title)
            _published_curves(ax, algorithm, density, device, drawing.STAGES[place])
        _label(ax, density)
    drawing.legend_above(figure, axes[0], columns=4)
    return figure


def _curve(ax: drawing.Axes, rows: list[TimedAlgorithm], device: str, colour: str, name: str) -> None:
    drawing.curve(ax, ((row.size, row.seconds(device)) for row in rows), colour, name, linewidth=1.3)


def _published_curves(
    ax: drawing.Axes, algorithm: Algorithm, density: float, device: str, colour: str
) -> None:
    points = (
        (key.size, getattr(times, device))
        for key, times in graph_times().items()
        if (key.algorithm, key.density) == (algorithm.thesis, density)
    )
    drawing.curve(ax, points, colour, style="--", linewidth=0.9)


def _label(ax: drawing.Axes, density: float) -> None:
    drawing.decades(ax, "y")
    ax.set_title(f"density {density:.3g}", fontsize=9)
    ax.set(xlabel="vertices", ylabel="seconds")


# The figures of the algorithms in the thesis, and the comparisons.
FIGURES = {
    f"{part}_{algorithm.key}": partial(by_device, part=part, key=algorithm.key)
    for part, family in FAMILIES.items()
    for algorithm in family.algorithms
    if algorithm.thesis or part == "spanning_forests"
} | {f"{part}_compared": partial(compared, part=part) for part in FAMILIES}
