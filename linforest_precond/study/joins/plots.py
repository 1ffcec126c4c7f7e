"""The figures of the study: recall and precision, times, and times by the number of sets."""

from __future__ import annotations

from typing import TYPE_CHECKING

from linforest_precond.study.drawing import STAGES, case_rows, decades, legend_above, panels, styled
from linforest_precond.study.joins.measures import SHARES
from linforest_precond.study.joins.tables import LOWER, SHORT, quality, times
from linforest_precond.study.results import CASE, JsonObject, done, label

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SCALED = ("FLICKR", "KOSARAK", "GDELT", "MIND", "LIVEJ")  # of figure 5.4
MARKERS = {"gd": "o", "ps": "s"}


@styled
def errors(study: JsonObject) -> Figure:
    """Recall of the default and precision of the upper bound; hollow: the thesis’ values for its own data."""
    rows = quality(study)
    figure, ax = case_rows([row[CASE] for row in rows])
    for colour, short in zip(STAGES, LOWER):
        for quantity, place in (("recall", -0.18), ("precision", 0.18)):
            ys = [row + place for row in range(len(rows))]
            name, marker = f"{quantity}, {short.upper()}", MARKERS[short]
            shade = colour if quantity == "recall" else STAGES[STAGES.index(colour) + 2]
            ax.plot([row[f"{short}_{quantity}"] for row in rows], ys, marker, color=shade, ms=4, label=name)
            theirs = [row[f"paper_{short}_{quantity}"] for row in rows]
            known = [(value, y) for value, y in zip(theirs, ys) if value is not None]
            ax.plot(*zip(*known) if known else ((), ()), marker, color=shade, ms=5, fillstyle="none")
    ax.set_xlabel("recall, precision")
    legend_above(figure, ax, columns=2)
    return figure


@styled
def verification(study: JsonObject) -> Figure:
    """Microseconds of the verification of a pair of sets, by matching."""
    rows = times(study)
    figure, ax = case_rows([row[CASE] for row in rows])
    height = 0.8 / len(SHORT)
    for place, (colour, short) in enumerate(zip(STAGES, SHORT.values())):
        ys = [row - 0.4 + (place + 0.5) * height for row in range(len(rows))]
        ax.barh(
            ys, [row.get(f"{short}_us", 0) for row in rows], height=0.9 * height, color=colour, label=short
        )
    decades(ax, "x")
    ax.set_xlabel("µs a pair")
    legend_above(figure, ax, columns=4)
    return figure


@styled
def scaling(study: JsonObject) -> Figure:
    """Milliseconds of the verification by the share of the sets, for the data of figure 5.4."""
    cases = [case for case in done(study, "shares") if case["shares"]["methods"]]
    shown = [case for case in cases if case.get("paper") in SCALED] or cases
    figure, axes = panels(max(len(shown), 1), width=2.9, height=2.8)
    for ax, case in zip(axes, shown):
        for colour, (method, row) in zip(STAGES, case["shares"]["methods"].items()):
            values = [1000 * row[str(share)] for share in SHARES]
            ax.plot([100 * share for share in SHARES], values, "o-", color=colour, ms=3, label=SHORT[method])
        ax.set_title(label(case), fontsize=9)
        decades(ax, "y")
        ax.set_xlabel("% of the sets")
    axes[0].set_ylabel("ms")
    legend_above(figure, axes[0], columns=4)
    return figure


def figures(study: JsonObject) -> dict[str, Figure]:
    """All figures by name."""
    return {draw.__name__: draw(study) for draw in (errors, verification, scaling)}
