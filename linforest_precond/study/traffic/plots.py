"""The figures of the study: times by packets, batches, and statistics by the length of a window."""

from __future__ import annotations

from linforest_precond.study import drawing
from linforest_precond.study.paper import by_name
from linforest_precond.study.results import CASE, JsonObject, label
from linforest_precond.study.traffic.measures import BATCHES, WINDOW_FIELDS
from linforest_precond.study.traffic.tables import TASKS, batch_rows, longest_stream, times, window_rows


@drawing.styled
def scaling(study: JsonObject) -> drawing.Figure:
    """Seconds by the number of packets, of the analysis and end to end; dashed: NumPy and SciPy."""
    rows = times(study)
    figure, (ax,) = drawing.panels(1, width=6.0, height=3.6)
    for colour, (task, title) in zip(drawing.STAGES, TASKS.items()):
        for key, style, name in ((task, "o-", title), (f"scipy_{task}", "o--", f"SciPy, {title.lower()}")):
            drawing.curve(ax, ((row["packets"], row.get(key)) for row in rows), colour, name, style)
    drawing.finish(figure, ax, "packets", "seconds", "xy")
    return figure


@drawing.styled
def batches(study: JsonObject) -> drawing.Figure:
    """Packets a second end to end from arrays of the host, by the number of packets and of batches."""
    figure, (ax,) = drawing.panels(1, width=6.0, height=3.6)
    for colour, count in zip(drawing.STAGES, BATCHES):
        rows = [row for row in batch_rows(study) if row["batches"] == count]
        points = ((row["rate"] * row["seconds"], row["rate"]) for row in rows)
        drawing.curve(ax, points, colour, f"{count} batches")
    drawing.finish(figure, ax, "packets", "packets a second", "xy")
    return figure


@drawing.styled
def windows(study: JsonObject) -> drawing.Figure:
    """Means over windows by their length: links, sources, destinations and the largest fans."""
    own = longest_stream(window_rows(study))
    figure, (ax,) = drawing.panels(1, width=6.0, height=3.6)
    for colour, field in zip(drawing.PALETTE, WINDOW_FIELDS):
        drawing.curve(ax, ((row["packets"], row[field]) for row in own), colour, field.replace("_", " "))
    ax.set_title(", ".join({label(row[CASE]) for row in own}), fontsize=9)
    drawing.finish(figure, ax, "packets of a window", "mean", "xy")
    return figure


FIGURES = by_name(scaling, batches, windows)
