"""The figures of the study: times by packets, batches, and statistics by the length of a window."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from linforest_precond.study.drawing import PALETTE, STAGES, decades, legend_above, panels, positive, styled
from linforest_precond.study.results import CASE, JsonObject, label
from linforest_precond.study.traffic.measures import BATCHES, WINDOW_FIELDS
from linforest_precond.study.traffic.tables import TASKS, batch_rows, times, window_rows

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


@styled
def scaling(study: JsonObject) -> Figure:
    """Seconds by the number of packets, of the analysis and end to end; dashed: NumPy and SciPy."""
    rows = times(study)
    figure, (ax,) = panels(1, width=6.0, height=3.6)
    for colour, (task, title) in zip(STAGES, TASKS.items()):
        for key, style, name in ((task, "o-", title), (f"scipy_{task}", "o--", f"SciPy, {title.lower()}")):
            _curve(ax, ((row["packets"], row.get(key)) for row in rows), style, colour, name)
    _finish(figure, ax, "packets", "seconds")
    return figure


@styled
def batches(study: JsonObject) -> Figure:
    """Packets a second end to end from arrays of the host, by the number of packets and of batches."""
    figure, (ax,) = panels(1, width=6.0, height=3.6)
    for colour, count in zip(STAGES, BATCHES):
        rows = [row for row in batch_rows(study) if row["batches"] == count]
        _curve(
            ax,
            ((row["rate"] * row["seconds"], row["rate"]) for row in rows),
            "o-",
            colour,
            f"{count} batches",
        )
    _finish(figure, ax, "packets", "packets a second")
    return figure


@styled
def windows(study: JsonObject) -> Figure:
    """Means over windows by their length: links, sources, destinations and the largest fans."""
    rows = window_rows(study)
    largest = max((row["packets"] * row["windows"] for row in rows), default=0)
    own = [row for row in rows if row["packets"] * row["windows"] == largest]
    figure, (ax,) = panels(1, width=6.0, height=3.6)
    for colour, field in zip(PALETTE, WINDOW_FIELDS):
        points = ((row["packets"], row[field]) for row in own)
        _curve(ax, points, "o-", colour, field.replace("_", " "))
    ax.set_title(", ".join({label(row[CASE]) for row in own}), fontsize=9)
    _finish(figure, ax, "packets of a window", "mean")
    return figure


def _curve(
    ax: Axes, points: Iterable[tuple[float, float | None]], style: str, colour: str, name: str
) -> None:
    known = sorted((x, positive(y)) for x, y in points if y)
    xs, ys = zip(*known) if known else ((), ())
    ax.plot(xs, ys, style, color=colour, markersize=3, linewidth=1.1, label=name)


def _finish(figure: Figure, ax: Axes, x: str, y: str) -> None:
    decades(ax)
    ax.set_xlabel(x)
    ax.set_ylabel(y)
    legend_above(figure, ax, columns=3)


def figures(study: JsonObject) -> dict[str, Figure]:
    """All figures by name."""
    return {draw.__name__: draw(study) for draw in (scaling, batches, windows)}
