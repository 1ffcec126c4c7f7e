"""The figures of the study: times by size, a panel for each density, as in chapter 7 of the thesis."""

from __future__ import annotations

from linforest_precond.study.drawing import (
    GREY,
    STAGES,
    Axes,
    Figure,
    decades,
    legend_above,
    panels,
    positive,
    styled,
)
from linforest_precond.study.graphs.families import FAMILIES, Algorithm
from linforest_precond.study.graphs.tables import DEVICES, TimedAlgorithm, densities_of, rows_of
from linforest_precond.study.published import GraphKey, graph_times
from linforest_precond.study.results import JsonObject

COLOURS = dict(zip(DEVICES, (STAGES[4], STAGES[2], STAGES[0])))
# The figure of each algorithm in the thesis.
FIGURES = {
    "CC_base": "7.1", "CC_opt2": "7.3", "SCC": "7.5", "MIS_base": "7.7", "MIS_lex3": "7.9", "MIS_opt3": "7.11"
}  # fmt: skip
# Further published algorithms that are drawn beside one of ours.
FURTHER = {"CC_opt2": ("CC_base",)}


@styled
def by_device(study: JsonObject, part: str, key: str) -> Figure:
    """One algorithm on all devices; dashed and dotted: the thesis' times."""
    rows = rows_of(study, part, key)
    figure, axes = panels(max(len(densities_of(rows)), 1))
    for ax, density in zip(axes, densities_of(rows)):
        here = [row for row in rows if row.density == density]
        for device, name in DEVICES.items():
            _curve(ax, here, device, COLOURS[device], name)
            for style, thesis in _styles(here[0].algorithm):
                _published_curve(ax, GraphKey(thesis, density, 0), device, COLOURS[device], style)
        _label(ax, density)
        _explain_styles(ax, here[0].algorithm)
    legend_above(figure, axes[0], columns=6)
    return figure


@styled
def compared(study: JsonObject, part: str) -> Figure:
    """The algorithms for one problem on the GPU, or else on all threads; dashed: the thesis' times there."""
    rows = rows_of(study, part)
    device = fastest_device(rows)
    figure, axes = panels(max(len(densities_of(rows)), 1))
    for ax, density in zip(axes, densities_of(rows)):
        for place, algorithm in enumerate(FAMILIES[part].algorithms):
            here = [row for row in rows if (row.density, row.algorithm) == (density, algorithm)]
            _curve(ax, here, device, STAGES[place], algorithm.title)
            for style, thesis in _styles(algorithm):
                _published_curve(ax, GraphKey(thesis, density, 0), device, STAGES[place], style)
        _label(ax, density)
    legend_above(figure, axes[0], columns=4)
    return figure


def fastest_device(rows: list[TimedAlgorithm]) -> str:
    """The GPU where it was used, else all threads, else one."""
    used = [device for device in ("gpu", "host") if any(row.seconds(device) is not None for row in rows)]
    return used[0] if used else "cpu"


def _styles(algorithm: Algorithm) -> list[tuple[str, str]]:
    """The line styles of the thesis' algorithms that belong to one of ours."""
    name = algorithm.thesis
    return list(zip(("--", ":"), (name, *FURTHER.get(name, ())))) if name else []


def _explain_styles(ax: Axes, algorithm: Algorithm) -> None:
    for style, name in _styles(algorithm):
        ax.plot([], [], color=GREY, linestyle=style, linewidth=0.9, label=name)


def _curve(ax: Axes, rows: list[TimedAlgorithm], device: str, colour: str, name: str) -> None:
    points = sorted((row.size, positive(row.seconds(device))) for row in rows)
    sizes, times = zip(*points) if points else ((), ())
    ax.plot(sizes, times, color=colour, linewidth=1.3, marker="o", markersize=3, label=name)


def _published_curve(ax: Axes, wanted: GraphKey, device: str, colour: str, style: str) -> None:
    known = {key.size: times for key, times in graph_times().items() if key[:2] == wanted[:2]}
    times = [getattr(times, device) for times in known.values()]
    ax.plot(list(known), times, color=colour, linewidth=0.9, linestyle=style)


def _label(ax: Axes, density: float) -> None:
    decades(ax, "y")
    ax.set_title(f"density {density:.3g}", fontsize=9)
    ax.set_xlabel("vertices")
    ax.set_ylabel("seconds")


def figures(study: JsonObject) -> dict[str, Figure]:
    """All figures by name: those of the algorithms in the thesis, and the comparisons."""
    own = {
        f"{part}_{algorithm.key}": by_device(study, part, algorithm.key)
        for part, family in FAMILIES.items()
        for algorithm in family.algorithms
        if algorithm.thesis or part == "spanning_forests"
    }
    return own | {f"{part}_compared": compared(study, part) for part in FAMILIES}
