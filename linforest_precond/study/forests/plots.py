"""Figures 3 to 6 of Klein & Strzodka (2022) from the contents of ``study.json``; they need Matplotlib."""

from __future__ import annotations

from typing import Any

from linforest_precond.solvers.residual_bands import draw_curve
from linforest_precond.study import drawing
from linforest_precond.study.forests.performance_plots import later_propositions as later_propositions
from linforest_precond.study.forests.performance_plots import proposition_throughput as proposition_throughput
from linforest_precond.study.forests.performance_plots import propositions as propositions
from linforest_precond.study.forests.performance_plots import scan_launches as scan_launches
from linforest_precond.study.forests.performance_plots import scan_times as scan_times
from linforest_precond.study.forests.performance_plots import setup_breakdown as setup_breakdown
from linforest_precond.study.forests.preconditioners import colour_of as colour_of
from linforest_precond.study.forests.preconditioners import look_of
from linforest_precond.study.forests.tables import history
from linforest_precond.study.number_formats import missing
from linforest_precond.study.paper import by_name
from linforest_precond.study.results import JsonObject, done, label

# Preconditioners of a panel that are not dimmed: six curves, of residuals and errors.
PROMINENT = 3
DIMMED = 0.2  # opacity


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


FIGURES = by_name(
    propositions,
    later_propositions,
    proposition_throughput,
    convergence,
    scan_launches,
    scan_times,
    setup_breakdown,
)
