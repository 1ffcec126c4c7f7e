"""The figures of the study: a round, strong and weak scaling."""

from __future__ import annotations

import math

from linforest_precond.study import drawing
from linforest_precond.study.grid2d.measures import ALGORITHMS
from linforest_precond.study.grid2d.tables import rounds, rows_of_largest, scaling, weak
from linforest_precond.study.paper import by_name
from linforest_precond.study.results import JsonObject


@drawing.styled
def a_round(study: JsonObject) -> drawing.Figure:
    """Messages of all ranks and bytes of the busiest one in a round; dotted: p (p - 1), and 24 n / √p."""
    figure, (left, right) = drawing.panels(2, width=4.8)
    rows = rows_of_largest(rounds(study))
    more = [row for row in rows if row["p"] > 1]
    _line(left, rows, "calls", "o-", drawing.STAGES[0], "2D, calls")
    _line(left, more, "row_messages", "s-", drawing.STAGES[5], "rows, messages")
    left.plot(
        [row["p"] for row in more], [row["p"] * (row["p"] - 1) for row in more], ":", color=drawing.GREY
    )
    _line(right, rows, "bytes", "o-", drawing.STAGES[0], "2D")
    _line(right, more, "row_bytes", "s-", drawing.STAGES[5], "rows")
    _line(right, rows, "bound", ":", drawing.GREY, "24 n / √p")
    _finish(left, rows, "messages of all ranks")
    _finish(right, rows, "bytes of the busiest rank")
    return figure


@drawing.styled
def ranks(study: JsonObject) -> drawing.Figure:
    """Bytes of the busiest rank, on the largest graph and on graphs that grow as the ranks do; dotted: √p."""
    figure, (left, right) = drawing.panels(2, width=4.8)
    own, grown = rows_of_largest(scaling(study)), weak(study)
    for place, name in enumerate(ALGORITHMS):
        _line(
            left,
            [row for row in own if row["key"] == name],
            "bytes",
            "o-",
            drawing.colour_of_case(place),
            name,
        )
        for kind, style in zip(dict.fromkeys(row["kind"] for row in grown), ("o-", "s--", "^:")):
            rows = [row for row in grown if (row["kind"], row["key"]) == (kind, name)]
            _line(right, rows, "bytes", style, drawing.colour_of_case(place), f"{kind}, {name}")
    _bound(left, [row for row in own if row["key"] == "PR"], -0.5)
    _bound(right, [row for row in grown if row["key"] == "PR" and row["kind"] == grown[0]["kind"]], 0.5)
    _finish(left, own, "strong scaling")
    _finish(right, grown, "weak scaling")
    return figure


def _line(ax: drawing.Axes, rows: list[JsonObject], field: str, style: str, colour: str, name: str) -> None:
    drawing.curve(ax, ((row["p"], row[field]) for row in rows), colour, name, style, markersize=3.5)


def _bound(ax: drawing.Axes, rows: list[JsonObject], power: float) -> None:
    """The bytes of the first row times a power of the ranks."""
    if rows:
        first = rows[0]["bytes"] / rows[0]["p"] ** power
        drawing.curve(
            ax, ((row["p"], first * math.pow(row["p"], power)) for row in rows), drawing.GREY, style=":"
        )


def _finish(ax: drawing.Axes, rows: list[JsonObject], title: str) -> None:
    drawing.decades(ax)
    ax.set_title(title, fontsize=9)
    ax.set_xlabel("ranks")
    ticks = sorted({row["p"] for row in rows} & {1, 4, 16, 64})
    ax.set_xticks(ticks, [str(tick) for tick in ticks])
    drawing.legend(ax, loc="center left", bbox_to_anchor=(1, 0.5))


FIGURES = by_name(a_round, ranks)
