"""The figures of the study, like figures 2 to 5 of Fagginger Auer & Bisseling (2012)."""

from __future__ import annotations

from typing import Any

from linforest_precond.study import drawing
from linforest_precond.study.matching.measures import METHODS, PROPOSALS, SPEEDUPS
from linforest_precond.study.matching.tables import NAMES
from linforest_precond.study.paper import by_name
from linforest_precond.study.published import keyed_numbers
from linforest_precond.study.results import JsonObject, done, label

SPEEDUP_NAMES = {
    "random": "random / Algorithm 1",
    "weighted": "weighted / Algorithm 1",
    "weighted_greedy": "weighted / Algorithm 2",
    "locally_dominant_greedy": "locally dominant / Algorithm 2",
    "suitor_greedy": "suitor / Algorithm 2",
}
RATIOS = {
    "size": "size: random / Algorithm 1",
    "gain": "weight: weighted / Algorithm 1",
    "greedy": "weight: weighted / Algorithm 2",
}


LOOK: dict[str, Any] = {"linewidth": 1.2, "markersize": 2.5}
# Cases that have a curve of their own, at most: one for each colour.
MOST_CURVES = len(drawing.STAGES)


def with_curves(study: JsonObject, part: str) -> list[JsonObject]:
    """The cases with results of a part, or some of them where they are many, spread evenly over the sizes."""
    cases = done(study, part)
    if len(cases) <= MOST_CURVES:
        return cases
    by_size = sorted(cases, key=lambda case: case.get("nnz") or 0)
    return [by_size[i * (len(cases) - 1) // (MOST_CURVES - 1)] for i in range(MOST_CURVES)]


@drawing.styled
def rounds(study: JsonObject) -> drawing.Figure:
    """Figure 2: the fraction of matched vertices by rounds, for both kinds of proposals."""
    figure, axes = drawing.panels(len(PROPOSALS))
    for ax, method in zip(axes, PROPOSALS):
        for place, case in enumerate(with_curves(study, "rounds")):
            fractions = case["rounds"][method]["matched"]
            _curve(ax, range(1, len(fractions) + 1), fractions, place, label(case))
        ax.set_ylim(0, 1.02)
        ax.set(xlabel=f"rounds of {method} proposals", ylabel="fraction of matched vertices")
    drawing.legend_above(figure, axes[0], columns=3)
    return figure


def _curve(ax: drawing.Axes, x: Any, y: Any, place: int, name: str) -> None:
    ax.plot(x, y, "o-", color=drawing.colour_of_case(place), label=name, **LOOK)


@drawing.styled
def colours(study: JsonObject) -> drawing.Figure:
    """Figure 3: size, weight and time by the probability of blue, and the first round beside Eq. 2."""
    cases = done(study, "colours")
    figure, (left, right) = drawing.panels(2)
    of_paper = [case for case in cases if case.get("paper") == "ecology1"]
    for case in (of_paper or cases)[:1]:
        found = case["colours"]
        for place, name in enumerate(("size", "weight", "seconds")):
            _curve(left, found["p"], _scaled(found["weighted"][name]), place, name.replace("seconds", "time"))
        left.set_title(label(case), fontsize=9, parse_math=False)
        right.plot(found["p"], found["theory"], color=drawing.GREY, linestyle="--", label="Eq. 2")
    for place, case in enumerate(with_curves(study, "colours")):
        found = case["colours"]
        _curve(right, found["p"], found["random"]["first"], place, label(case))
        right.plot(
            found["p"], found["independent"], color=drawing.colour_of_case(place), linestyle=":", linewidth=1
        )
    for ax in (left, right):
        ax.axvline(
            keyed_numbers("matching")["best_probability"], color=drawing.GREY, linewidth=0.8, linestyle=":"
        )
        ax.set_xlabel("probability of blue")
    drawing.legend(left, fontsize=6.5)
    drawing.legend(right, fontsize=6.5, loc="center left", bbox_to_anchor=(1, 0.5))
    left.set_ylabel("% of the range")
    right.set_ylabel("matched in the first round")
    return figure


def _scaled(values: list[float]) -> list[float]:
    """The values rescaled to 0 ... 100 %."""
    low, high = min(values), max(values)
    return [100 * (value - low) / (high - low) if high > low else 100.0 for value in values]


@drawing.styled
def threads(study: JsonObject) -> drawing.Figure:
    """Figure 4: times by the number of threads, relative to one thread."""
    figure, axes = drawing.panels(2)
    for ax, method in zip(axes, PROPOSALS):
        for place, case in enumerate(with_curves(study, "threads")):
            found = case["threads"]
            _curve(ax, found["threads"], [t / found[method][0] for t in found[method]], place, label(case))
        ax.set(xlabel=f"threads, {method} proposals", ylabel="time / time of one thread")
        ax.set_ylim(bottom=0)
    drawing.legend_above(figure, axes[0], columns=3)
    return figure


@drawing.styled
def quality(study: JsonObject) -> drawing.Figure:
    """Figure 5, quality: the three ratios by the number of edges; the line is the paper's average."""
    figure, axes = drawing.panels(len(RATIOS))
    for ax, (key, name) in zip(axes, RATIOS.items()):
        for case in done(study, "quality"):
            found = case["quality"]
            ax.errorbar(
                drawing.positive(found["edges"]),
                found[key],
                found[f"{key}_deviation"],
                color=drawing.STAGES[0],
                marker="o",
                markersize=3.5,
                capsize=2,
                linewidth=0.8,
            )
        ax.axhline(keyed_numbers("matching")[key], color=drawing.STAGES[5], linewidth=1, linestyle="--")
        drawing.decades(ax, "x")
        ax.set(xlabel="edges", ylabel=name)
    return figure


@drawing.styled
def speedups(study: JsonObject) -> drawing.Figure:
    """Figure 5, speedups over the sequential algorithms by the number of edges."""
    figure, (ax,) = drawing.panels(1, width=6.5, height=3.2)
    found = [case["times"] for case in done(study, "times")]
    for place, name in enumerate(SPEEDUPS):
        points = ((each["edges"], each["speedups"][name]) for each in found)
        drawing.curve(ax, points, drawing.colour_of_case(place), SPEEDUP_NAMES[name], **LOOK)
    ax.axhline(1, color=drawing.GREY, linewidth=0.8, linestyle="--")
    drawing.finish(figure, ax, "edges", "speedup", "xy", columns=2)
    return figure


@drawing.styled
def times(study: JsonObject) -> drawing.Figure:
    """Times by the number of vertices and by the number of edges."""
    figure, axes = drawing.panels(2, height=3.3)
    found = [case["times"] for case in done(study, "times")]
    for ax, axis in zip(axes, ("vertices", "edges")):
        for place, name in enumerate(("serial_random", "serial_weighted", "greedy", *METHODS)):
            points = ((each[axis], each["seconds"][name]) for each in found)
            drawing.curve(ax, points, drawing.colour_of_case(place), NAMES[name], **LOOK)
        drawing.decades(ax)
        ax.set(xlabel=axis, ylabel="seconds")
    drawing.legend_above(figure, axes[0], columns=4)
    return figure


@drawing.styled
def arrangement(study: JsonObject) -> drawing.Figure:
    """The weighted ratio with the own weights, the same shuffled, and random factors of the vertices."""
    cases = done(study, "arrangement")
    figure, (left, right) = drawing.panels(2, height=1.3 + 0.28 * max(len(cases), 6))
    gains = {key: [case["arrangement"][key]["gain"] for case in cases] for key in ("own", "shuffled")}
    drawing.bars(left, gains, (drawing.STAGES[0], drawing.STAGES[4]))
    drawing.name_rows(left, [drawing.wrapped(label(case)) for case in cases], fontsize=8)
    left.axvline(keyed_numbers("matching")["gain"], color=drawing.STAGES[5], linewidth=1, linestyle="--")
    left.set_xlabel("weight: weighted / Algorithm 1")
    drawing.legend(left, fontsize=7, loc="lower right")
    for place, case in enumerate(with_curves(study, "arrangement")):
        found = case["arrangement"]
        _curve(right, found["sigmas"], found["scaled"]["gain"], place, label(case))
    right.axhline(keyed_numbers("matching")["gain"], color=drawing.STAGES[5], linewidth=1, linestyle="--")
    right.set(
        xlabel="standard deviation of log₂ of the vertices' factors", ylabel="weight: weighted / Algorithm 1"
    )
    drawing.legend(right, fontsize=6.5, loc="center left", bbox_to_anchor=(1, 0.5))
    return figure


CURVES = rounds, colours, threads, arrangement
FIGURES = by_name(rounds, colours, threads, quality, speedups, times, arrangement)
