"""The figures of the study: distances from the optimum, rates and memory."""

from __future__ import annotations

from linforest_precond.study.drawing import (
    STAGES,
    Figure,
    case_rows,
    colour_of_case,
    legend_above,
    panels,
    styled,
)
from linforest_precond.study.published import scale_tables
from linforest_precond.study.results import JsonObject, done, label
from linforest_precond.study.scale.batches import BATCHES
from linforest_precond.study.scale.findings import large

SHOWN = {"locally_dominant": "locally dominant, suitor, greedy", "weighted": "weighted proposals"}


@styled
def optimum(study: JsonObject) -> Figure:
    """Distance from the maximum weight in %; the dashed line is the published geometric mean."""
    cases = [case for case in done(study, "optimum") if case["optimum"]["gaps"]]
    figure, ax = case_rows(cases)
    for shift, (method, colour) in zip((-0.19, 0.19), zip(SHOWN, STAGES)):
        gaps = [case["optimum"]["gaps"][method] for case in cases]
        places = [place + shift for place in range(len(cases))]
        ax.barh(places, gaps, height=0.36, color=colour, label=SHOWN[method])
    ax.axvline(scale_tables()["geometric mean"]["ld_gap"], color=STAGES[5], linewidth=1, linestyle="--")
    ax.set_xlabel("below the maximum weight in %")
    legend_above(figure, ax, columns=1)
    return figure


@styled
def rates(study: JsonObject) -> Figure:
    """Million matched edges per second by the number of batches; dotted: the graph as a whole."""
    figure, (ax,) = panels(1, width=6.0, height=3.4)
    for place, case in enumerate(large(study, "batches")):
        found, colour = case["batches"], colour_of_case(place)
        counts = [int(count) for count in found["batched"]]
        values = [row["mmeps"] for row in found["batched"].values()]
        ax.plot(counts, values, color=colour, marker="o", markersize=4, label=label(case))
        ax.axhline(found["whole"]["mmeps"], color=colour, linewidth=0.9, linestyle=":")
    ax.set_ylim(bottom=0)
    ax.set_xticks(BATCHES)
    ax.set_xlabel("batches")
    ax.set_ylabel("MMEPS")
    legend_above(figure, ax, columns=3)
    return figure


@styled
def memory(study: JsonObject) -> Figure:
    """Size of the graph, memory given to it, and peak of the memory that was used, in MiB."""
    cases = large(study, "memory")
    figure, ax = case_rows(cases)
    for shift, (key, colour) in zip((-0.27, 0.0, 0.27), zip(("graph", "given", "peak"), STAGES)):
        sizes = [case["memory"][key] / 2**20 for case in cases]
        ax.barh([place + shift for place in range(len(cases))], sizes, height=0.25, color=colour, label=key)
    ax.set_xlabel("MiB")
    legend_above(figure, ax, columns=3)
    return figure


def figures(study: JsonObject) -> dict[str, Figure]:
    """All figures by name."""
    return {draw.__name__: draw(study) for draw in (optimum, rates, memory)}
