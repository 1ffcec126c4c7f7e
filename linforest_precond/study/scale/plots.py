"""The figures of the study: distances from the optimum, rates and memory."""

from __future__ import annotations

from linforest_precond.study import drawing
from linforest_precond.study.paper import by_name
from linforest_precond.study.published import published_number
from linforest_precond.study.results import JsonObject, done, label
from linforest_precond.study.scale.batches import BATCHES
from linforest_precond.study.scale.findings import large

SHOWN = {"locally_dominant": "locally dominant, suitor, greedy", "weighted": "weighted proposals"}


@drawing.styled
def optimum(study: JsonObject) -> drawing.Figure:
    """Distance from the maximum weight in %; the dashed line is the published geometric mean."""
    cases = [case for case in done(study, "optimum") if case["optimum"]["gaps"]]
    figure, ax = drawing.case_rows(cases)
    drawing.bars(
        ax, {name: [case["optimum"]["gaps"][method] for case in cases] for method, name in SHOWN.items()}
    )
    paper = published_number("scale", "geometric mean", "ld_gap")
    ax.axvline(paper, color=drawing.STAGES[5], linewidth=1, linestyle="--")
    drawing.finish(figure, ax, "below the maximum weight in %", columns=1)
    return figure


@drawing.styled
def rates(study: JsonObject) -> drawing.Figure:
    """Million matched edges per second by the number of batches; dotted: the graph as a whole."""
    figure, (ax,) = drawing.panels(1, width=6.0, height=3.4)
    for place, case in enumerate(large(done(study, "batches"))):
        found, colour = case["batches"], drawing.colour_of_case(place)
        counts = [int(count) for count in found["batched"]]
        values = [row["mmeps"] for row in found["batched"].values()]
        ax.plot(counts, values, color=colour, marker="o", markersize=4, label=label(case))
        ax.axhline(found["whole"]["mmeps"], color=colour, linewidth=0.9, linestyle=":")
    ax.set_ylim(bottom=0)
    ax.set_xticks(BATCHES)
    drawing.finish(figure, ax, "batches", "MMEPS")
    return figure


@drawing.styled
def memory(study: JsonObject) -> drawing.Figure:
    """Size of the graph, memory given to it, and peak of the memory that was used, in MiB."""
    cases = large(done(study, "memory"))
    figure, ax = drawing.case_rows(cases)
    drawing.bars(
        ax, {key: [case["memory"][key] / 2**20 for case in cases] for key in ("graph", "given", "peak")}
    )
    drawing.finish(figure, ax, "MiB")
    return figure


@drawing.styled
def visits(study: JsonObject) -> drawing.Figure:
    """Edges visited in each iteration, in % of all; dotted: rows of all single vertices, as in the thesis."""
    figure, (ax,) = drawing.panels(1, width=6.0, height=3.4)
    for place, case in enumerate(large(done(study, "visits"))):
        found, colour = case["visits"], drawing.colour_of_case(place)
        for rule, name, line in (("searched", label(case), "-"), ("single", None, ":")):
            shares = [100 * each / found["entries"] for each in found[rule]]
            ax.plot(range(1, len(shares) + 1), shares, line, color=colour, linewidth=1.2, label=name)
    drawing.finish(figure, ax, "iteration", "edges in %")
    return figure


FIGURES = by_name(optimum, rates, memory, visits)
