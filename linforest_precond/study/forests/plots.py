"""Figures 3 to 6 of Klein & Strzodka (2022) from the contents of ``study.json``; they need Matplotlib."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from linforest_precond.solvers.residual_bands import draw_curve
from linforest_precond.study import drawing
from linforest_precond.study.forests.coverage import DEGREES
from linforest_precond.study.forests.performance_tables import METHODS, WAYS, Timings, quotient
from linforest_precond.study.forests.tables import history
from linforest_precond.study.number_formats import digits3, missing, percent, seconds
from linforest_precond.study.paper import by_name
from linforest_precond.study.published import csv_lines
from linforest_precond.study.results import JsonObject, done, label

# Preconditioners of a panel that are not dimmed: six curves, of residuals and errors.
PROMINENT = 3
DIMMED = 0.2  # opacity
# Of each preconditioner the colour and marker of its curves, the function of the library, the meaning of the
# name, and the description of one that is not the paper's. Colours are distinct in greyscale and with every
# kind of colour blindness.
PRECONDITIONERS = {line["name"]: line for line in csv_lines("forests", "preconditioners.csv")}
OTHER = {"colour": "#5F9E6E", "marker": "h", "function": ""}


def look_of(preconditioner: str) -> dict[str, str]:
    """The line of a preconditioner; other names have a colour and a marker only."""
    return PRECONDITIONERS.get(preconditioner, OTHER)


def colour_of(preconditioner: str) -> str:
    """The colour of a preconditioner's curves."""
    return look_of(preconditioner)["colour"]


@drawing.styled
def convergence_panel(
    case: JsonObject, ax: drawing.Axes | None = None, *, title: bool = True, legend: bool = True
) -> drawing.Axes:
    """One panel of figure 4: relative residual (solid) and forward relative error (dashed) over iterations.

    The first run and those with the fewest iterations have six curves together; the others are dimmed. `case`
    is one of ``study["cases"]``. Without `ax`, a new figure is drawn, ``panel.figure``.
    """
    ax = ax or drawing.new_figure(4.0, 2.7).add_subplot()
    result = case.get("convergence") or {}
    runs = result.get("runs") or []
    prominent = _prominent(runs)
    for run in runs:
        _draw_run(ax, run, 1.0 if run["precond"] in prominent else DIMMED)
    if result.get("rtol"):
        ax.axhline(result["rtol"], color=drawing.GREY, linewidth=0.8, linestyle=":", zorder=1)
    _scale_panel(ax, runs)
    if title:
        # Axes of the user may have other settings.
        ax.set_title(drawing.wrapped(label(case), 40), fontsize=10, parse_math=False, usetex=False)
    if legend:
        ax.legend(handles=_legend_handles(runs), loc="best", fontsize=7)
    return ax


def _prominent(runs: list[JsonObject]) -> set[str]:
    """The first run, which is the baseline, and the converged ones with the fewest iterations."""
    others = [run for run in runs[1:] if run.get("status") == "CONVERGED"]
    best = sorted(others, key=lambda run: _columns(run)[0][-1])
    return {run["precond"] for run in [*runs[:1], *best[: PROMINENT - 1]]}


def _draw_run(ax: drawing.Axes, run: JsonObject, opacity: float) -> None:
    iterations, residuals, errors = _columns(run)
    known = look_of(run["precond"])
    look: dict[str, Any] = {"color": known["colour"], "alpha": opacity, "zorder": 2 + opacity}
    draw_curve(ax, iterations, residuals, linewidth=1.3, label=run["precond"], **look)
    draw_curve(ax, iterations, errors, linewidth=1.0, dashes=(4, 2), **look)
    for values in (residuals, errors):
        ax.plot(iterations[-1:], values[-1:], marker=known["marker"], markersize=4, **look)


def _columns(run: JsonObject) -> list[list[float]]:
    """Iterations, residuals and errors; NaN where missing or not positive."""
    points = history(run) or [(float("nan"),) * 3]
    iterations, *curves = zip(*points)
    return [list(iterations), *([drawing.positive(value) for value in curve] for curve in curves)]


def _scale_panel(ax: drawing.Axes, runs: list[JsonObject]) -> None:
    """Logarithmic axis; peaks above 1e4, as of a breakdown, are cut off."""
    values = [value for run in runs for curve in _columns(run)[1:] for value in curve if not missing(value)]
    ax.set_yscale("log")
    if values:
        ax.set_ylim(max(min(values), 1e-17) / 5, min(max(values), 1e4) * 5)
    ax.yaxis.set_major_formatter(drawing.power_of_ten)
    ax.yaxis.set_minor_formatter("")
    ax.set_xlim(left=0)
    ax.set(xlabel="iterations", ylabel="relative norm")
    ax.grid(True)


def _legend_handles(runs: list[JsonObject]) -> list[Any]:
    from matplotlib.lines import Line2D

    known = {run["precond"]: look_of(run["precond"]) for run in runs}
    coloured = [
        Line2D([], [], color=look["colour"], marker=look["marker"], markersize=4, label=name)
        for name, look in known.items()
    ]
    kinds: list[tuple[Any, str]] = [("-", "residual"), ("--", "error")]
    return coloured + [
        Line2D([], [], color=drawing.GREY, linestyle=style, label=name) for style, name in kinds
    ]


@drawing.styled
def convergence(study: JsonObject, columns: int = 3) -> drawing.Figure:
    """Figure 4: a panel for each matrix that was solved, at most `columns` side by side."""
    cases = done(study, "convergence")
    columns = max(1, min(columns, len(cases)))
    rows = max(1, -(-len(cases) // columns))
    figure = drawing.new_figure(3.6 * columns, 2.6 * rows)
    panels = figure.subplots(rows, columns, squeeze=False).flat
    for case, ax in zip(cases, panels):
        convergence_panel(case, ax, legend=case is cases[0])
    for ax in list(panels):  # those after the last case
        ax.set_visible(False)
    return figure


# Colours by the scan that a launch belongs to, and by the method of labelling.
LAUNCHES = {"cycles": "#E69F00", "paths": "#0072B2"}
LABELS = {"bidirectional_scan": "Algorithm 3", "list_ranking": "ours"}
COLOURS = {"bidirectional_scan": "#E69F00", "list_ranking": "#0072B2"}
COPY, SRCSR = "#D55E00", "#CC79A7"
DOUBLE = "float64"


@drawing.styled
def propositions(study: JsonObject) -> drawing.Figure:
    """Figure 3: the first proposition (k = 0) in units of SpMV; marks are double precision."""
    return _relative_times(study, k=0)[0]


@drawing.styled
def later_propositions(study: JsonObject) -> drawing.Figure:
    """Figure 3: the same with k = 1, and the share of vertices that still propose (n = 2)."""
    figure, ax = _relative_times(study, k=1)
    for place, case in enumerate(done(study, "performance")):
        timings = Timings(case)
        found = [timings.proposition(dtype, 1, n) for dtype in timings.precisions for n in DEGREES]
        ends = [timings.proposition_per_spmv(row) for row in found]
        active = timings.active(timings.proposition(_precision(timings), 1, 2))
        drawing.note(ax, max(filter(None, ends), default=math.nan), place, percent(active))
    return figure


def _relative_times(study: JsonObject, k: int) -> tuple[drawing.Figure, drawing.Axes]:
    figure, ax = _proposition_bars(study, k, Timings.proposition_per_spmv)
    ax.axvline(1, color=drawing.GREY, linewidth=1, linestyle="--", label="SpMV")
    timings = [Timings(case) for case in done(study, "performance")]
    _marks(ax, [each.srcsr_per_spmv(_precision(each)) for each in timings], SRCSR, "SRCSR")
    drawing.finish(figure, ax, "time of one proposition / time of SpMV")
    return figure, ax


@drawing.styled
def proposition_throughput(study: JsonObject) -> drawing.Figure:
    """Figure 3: throughputs of the first proposition, by the paper's bytes, of SpMV, and of a copy."""
    figure, ax = _proposition_bars(study, 0, lambda _, row: row.get("gb_per_s"))
    timings = [Timings(case) for case in done(study, "performance")]
    for keys, colour, name in (
        (("gb_per_s",), drawing.GREY, "SpMV"),
        (("srcsr", "gb_per_s"), SRCSR, "SRCSR"),
    ):
        _marks(ax, [each.spmv(*keys, dtype=_precision(each)) for each in timings], colour, name)
    _marks(ax, [each.copy for each in timings], COPY, "copy")
    drawing.finish(figure, ax, "throughput in GB/s", columns=4)
    return figure


def _precision(timings: Timings) -> str:
    """The paper's precision where it was measured."""
    return next(iter(timings.precisions), DOUBLE)


def _proposition_bars(
    study: JsonObject, k: int, value: Callable[[Timings, JsonObject], float | None]
) -> tuple[drawing.Figure, drawing.Axes]:
    """Bars in the paper's precision, and where both were measured a mark on each for double precision."""
    cases = done(study, "performance")
    figure, ax = drawing.case_rows(cases)
    timings = [Timings(case) for case in cases]

    def values(dtypes: list[str], n: int) -> list[float]:
        found = (each.proposition(dtype, k, n) for each, dtype in zip(timings, dtypes))
        return [drawing.number(value(each, row)) for each, row in zip(timings, found)]

    bars = [_precision(each) for each in timings]
    marked = any(dtype != DOUBLE for dtype in bars)
    for place, (n, shade) in enumerate(zip(DEGREES, drawing.SHADES)):
        offsets = [row + 0.2 * (place - 1.5) for row in range(len(cases))]
        ax.barh(offsets, values(bars, n), height=0.2, color=shade, label=f"n = {n}")
        if marked:
            mark = "double precision" if n == DEGREES[-1] else None
            ax.plot(values([DOUBLE] * len(cases), n), offsets, "k|", markersize=4, label=mark)
    return figure, ax


def _marks(ax: drawing.Axes, values: list[Any], colour: str, label: str) -> None:
    """A vertical mark in each row; nothing where no value is known."""
    if all(missing(value) for value in values):
        return
    look: dict[str, Any] = {"linestyle": "", "marker": "|", "markersize": 15, "markeredgewidth": 2}
    ax.plot(
        [drawing.number(value) for value in values], range(len(values)), color=colour, label=label, **look
    )


@drawing.styled
def scan_launches(study: JsonObject) -> drawing.Figure:
    """Figure 5: box plots of the throughputs of Algorithm 3's launches, and the bandwidth of a copy.

    The number after the boxes is the speedup over a sequential walk along the paths.
    """
    cases = [case for case in done(study, "performance") if Timings(case).launches]
    figure, ax = drawing.case_rows(cases)
    timings = [Timings(case) for case in cases]
    for shift, (kind, colour) in zip((-0.18, 0.18), LAUNCHES.items()):
        for place, each in enumerate(timings):
            _box(ax, each.launches.get(kind) or [], place + shift, colour)
        ax.barh([], [], color=colour, label=kind)
    _marks(ax, [each.copy for each in timings], COPY, "copy")
    for place, each in enumerate(timings):
        speeds = [speed for found in each.launches.values() for speed in found]
        drawing.note(ax, max(speeds, default=0.0), place, _times(each.scan_speedup))
    ax.set_xlim(left=0)
    drawing.finish(figure, ax, "throughput of a launch in GB/s")
    return figure


def _box(ax: drawing.Axes, speeds: list[float], place: float, colour: str) -> None:
    """Median, quartiles, and whiskers to the least and the greatest."""
    if not speeds:
        return
    low, middle, high = np.percentile(speeds, (25, 50, 75))
    ax.plot([min(speeds), max(speeds)], [place, place], color=drawing.GREY, linewidth=0.8, zorder=1.5)
    ax.barh(place, high - low, left=low, height=0.3, color=colour, edgecolor=drawing.GREY, linewidth=0.5)
    ax.plot([middle], [place], "k|", markersize=8, markeredgewidth=1.5)


def _times(factor: float | None) -> str:
    return "" if factor is None else f"{digits3(factor)}×"


@drawing.styled
def scan_times(study: JsonObject) -> drawing.Figure:
    """Figure 5: breaking cycles and labelling paths by Algorithm 3 and list ranking; the ratio."""
    cases = done(study, "performance")
    figure, ax = drawing.case_rows(cases)
    timings = [Timings(case) for case in cases]
    for shift, method in zip((-0.2, 0.2), METHODS):
        times = [_milliseconds(each.scan(method)) for each in timings]
        places = [place + shift for place in range(len(cases))]
        ax.barh(places, times, height=0.35, color=COLOURS[method], label=LABELS[method])
    _marks(ax, [_milliseconds(each.sequential) for each in timings], drawing.GREY, "sequential")
    for place, each in enumerate(timings):
        drawing.note(ax, _milliseconds(each.scan(METHODS[0])), place - 0.2, _times(each.scan_ratio))
    ax.set_xscale("log")
    drawing.finish(figure, ax, "time in ms")
    return figure


def _milliseconds(time: float | None) -> float:
    return 1e3 * drawing.number(time)


@drawing.styled
def setup_breakdown(study: JsonObject) -> drawing.Figure:
    """Figure 6: the stages of a setup, by the paper's methods (above, 100 %) and by ours (below)."""
    cases = done(study, "performance")
    figure, ax = drawing.case_rows(cases)
    timings = [Timings(case) for case in cases]
    names = dict.fromkeys(stage for each in timings for way in WAYS for stage, _ in each.stages(way))
    for shift, way in zip((-0.2, 0.2), WAYS):
        places = [place + shift for place in range(len(cases))]
        ends = _stacked(ax, timings, list(names), way, places)
        for place, end, each in zip(places, ends, timings):
            drawing.note(ax, end, place, _whole(each, way))
    ax.set_xlim(0, 135)
    ax.set_xticks(range(0, 101, 25))
    drawing.finish(figure, ax, "share of the setup by the paper's methods in %")
    return figure


def _stacked(
    ax: drawing.Axes, timings: list[Timings], names: list[str], way: str, places: list[float]
) -> list[float]:
    """One stacked bar for each case; returns where they end."""
    left = [0.0] * len(timings)
    for name, colour in zip(names, drawing.STAGES * (1 + len(names) // len(drawing.STAGES))):
        widths = [_share(each, way, name) for each in timings]
        label = name if way == WAYS[0] else None
        look: dict[str, Any] = {"height": 0.34, "edgecolor": "white", "linewidth": 0.4}
        ax.barh(places, widths, left=left, color=colour, label=label, **look)
        left = [start + width for start, width in zip(left, widths)]
    return left


def _share(timings: Timings, way: str, stage: str) -> float:
    found = sum(time for name, time in timings.stages(way) if name == stage and time is not None)
    return 100 * (quotient(found, timings.setup(WAYS[0])) or 0.0)


def _whole(timings: Timings, way: str) -> str:
    """The time of a setup; ours with the ratio."""
    time = timings.setup(way)
    if missing(time):
        return ""
    ratio = f" ({_times(timings.setup_ratio)})" if way == WAYS[1] and timings.setup_ratio else ""
    return f"{seconds(time)}{ratio}"


FIGURES = by_name(
    propositions,
    later_propositions,
    proposition_throughput,
    convergence,
    scan_launches,
    scan_times,
    setup_breakdown,
)
