"""The figures of the study: recall and precision, times, and times by the number of sets."""

from __future__ import annotations

from linforest_precond.study import drawing
from linforest_precond.study.joins.measures import SHARES
from linforest_precond.study.joins.tables import LOWER, SHORT, quality, times
from linforest_precond.study.paper import by_name
from linforest_precond.study.results import CASE, JsonObject, done, label

SCALED = ("FLICKR", "KOSARAK", "GDELT", "MIND", "LIVEJ")  # of figure 5.4
MARKERS = {"gd": "o", "ps": "s"}


@drawing.styled
def errors(study: JsonObject) -> drawing.Figure:
    """Recall of the default and precision of the upper bound; hollow: the thesis’ values for its own data."""
    rows = quality(study)
    figure, ax = drawing.case_rows([row[CASE] for row in rows])
    for colour, short in zip(drawing.STAGES, LOWER):
        for quantity, place in (("recall", -0.18), ("precision", 0.18)):
            ys = [row + place for row in range(len(rows))]
            name, marker = f"{quantity}, {short.upper()}", MARKERS[short]
            shade = colour if quantity == "recall" else drawing.STAGES[drawing.STAGES.index(colour) + 2]
            ax.plot([row[f"{short}_{quantity}"] for row in rows], ys, marker, color=shade, ms=4, label=name)
            theirs = [row[f"paper_{short}_{quantity}"] for row in rows]
            known = [(value, y) for value, y in zip(theirs, ys) if value is not None]
            ax.plot(*zip(*known) if known else ((), ()), marker, color=shade, ms=5, fillstyle="none")
    drawing.finish(figure, ax, "recall, precision", columns=2)
    return figure


@drawing.styled
def verification(study: JsonObject) -> drawing.Figure:
    """Microseconds of the verification of a pair of sets, by matching."""
    rows = times(study)
    figure, ax = drawing.case_rows([row[CASE] for row in rows])
    drawing.bars(ax, {short: [row.get(f"{short}_us", 0) for row in rows] for short in SHORT.values()})
    drawing.finish(figure, ax, "µs a pair", logarithmic="x", columns=4)
    return figure


@drawing.styled
def scaling(study: JsonObject) -> drawing.Figure:
    """Milliseconds of the verification by the share of the sets, for the data of figure 5.4."""
    cases = [case for case in done(study, "shares") if case["shares"]["methods"]]
    shown = [case for case in cases if case.get("paper") in SCALED] or cases
    figure, axes = drawing.panels(max(len(shown), 1), width=2.9, height=2.8)
    for ax, case in zip(axes, shown):
        for colour, (method, row) in zip(drawing.STAGES, case["shares"]["methods"].items()):
            values = [1000 * row[str(share)] for share in SHARES]
            ax.plot([100 * share for share in SHARES], values, "o-", color=colour, ms=3, label=SHORT[method])
        ax.set_title(label(case), fontsize=9)
        drawing.decades(ax, "y")
        ax.set_xlabel("% of the sets")
    axes[0].set_ylabel("ms")
    drawing.legend_above(figure, axes[0], columns=4)
    return figure


FIGURES = by_name(errors, verification, scaling)
