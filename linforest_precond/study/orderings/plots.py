"""The figures of the study: times against the log gap, and refinement."""

from __future__ import annotations

import math

from linforest_precond.study import drawing
from linforest_precond.study.orderings.measures import TIMED
from linforest_precond.study.orderings.tables import NATURAL, means, quantity
from linforest_precond.study.paper import by_name
from linforest_precond.study.results import JsonObject, done, label

AGAINST = ("spmv", "pagerank")


@drawing.styled
def times(study: JsonObject) -> drawing.Figure:
    """Times of products and of PageRank against the log gap, in units of the natural order."""
    figure, axes = drawing.panels(len(AGAINST), width=4.6, height=3.4)
    for ax, key in zip(axes, AGAINST):
        for place, case in enumerate(done(study, "orderings")):
            found = case["orderings"]
            gap, time = (quantity(found[NATURAL], name) or math.nan for name in ("log_gap", key))
            pairs = [(quantity(one, "log_gap"), quantity(one, key)) for one in found.values()]
            points = [(a / gap, b / time) for a, b in pairs if a and b]
            drawing.curve(ax, points, drawing.colour_of_case(place), label(case), linewidth=0.6)
        ax.axhline(1.0, color=drawing.GREY, linewidth=0.5)
        ax.set(xlabel="log gap / natural", ylabel=f"{TIMED[key]} / natural")
    drawing.legend_above(figure, axes[0], columns=4)
    return figure


@drawing.styled
def gains(study: JsonObject) -> drawing.Figure:
    """Geometric means of natural / ordering: above 1, the ordering is faster; black: the thesis' times."""
    rows = means(study)
    figure, (ax,) = drawing.panels(1, width=7.5, height=1.2 + 0.5 * len(rows))
    shown = [key for key in TIMED if any(row[key] for row in rows)]
    drawing.bars(ax, {TIMED[key]: [row[key] or 0 for row in rows] for key in shown})
    for place, row in enumerate(rows):
        if row["paper_time"]:
            ax.plot([row["paper_time"]] * 2, [place - 0.4, place + 0.4], color="black", linewidth=1.2)
    ax.axvline(1.0, color=drawing.GREY, linewidth=0.5)
    drawing.name_rows(ax, [row["ordering"] for row in rows])
    drawing.finish(figure, ax, "natural / ordering", columns=4)
    return figure


@drawing.styled
def refinement(study: JsonObject) -> drawing.Figure:
    """How much of each gap the refinement of a share of the vertices removes, of lowest degree first."""
    figure, axes = drawing.panels(2, width=4.2)
    for ax, (metric, title) in zip(axes, (("linear_gap", "linear gap"), ("log_gap", "log gap"))):
        for place, case in enumerate(done(study, "refinement")):
            rows = case["refinement"][metric]
            shares = [100 * row["fraction"] for row in rows]
            gained = [100 * (1 - row["after"] / max(row["before"], 1e-300)) for row in rows]
            ax.plot(
                shares, gained, "o-", markersize=3, color=drawing.colour_of_case(place), label=label(case)
            )
        ax.set(xlabel="% of the vertices", ylabel=f"{title}, gain in %")
    drawing.legend_above(figure, axes[0], columns=4)
    return figure


FIGURES = by_name(times, gains, refinement)
