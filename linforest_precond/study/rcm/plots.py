"""Figures 2 to 6 of the paper."""

from __future__ import annotations

import numpy as np

from linforest_precond.study import drawing
from linforest_precond.study.paper import by_name
from linforest_precond.study.rcm import tables
from linforest_precond.study.rcm.measures import COUNTED, STAGES
from linforest_precond.study.results import JsonObject, dig, done


@drawing.styled
def speedups(study: JsonObject) -> drawing.Figure:
    """Figure 2: the speed-up of each approach, bars over SciPy and dots for the paper's over HSL."""
    cases, device = done(study, "times"), study["device"]
    figure, ax = drawing.case_rows(cases)
    pairs = {name: [tables.speedups(case, name, device) for case in cases] for name in tables.APPROACHES}
    shown = {name: found for name, found in pairs.items() if any(ours for ours, _ in found)}
    places = drawing.bars(
        ax, {name: [drawing.positive(ours) for ours, _ in found] for name, found in shown.items()}
    )
    for ys, found in zip(places, shown.values()):
        ax.plot([drawing.positive(theirs) for _, theirs in found], ys, "k.", markersize=4)
    ax.set_xscale("log")
    drawing.finish(figure, ax, "speed-up over SciPy (dots: the paper's over HSL)", columns=2)
    return figure


@drawing.styled
def batches(study: JsonObject) -> drawing.Figure:
    """Figure 3: of the batches that are generated, those dequeued and those executed."""
    cases = done(study, "batches")
    figure, ax = drawing.case_rows(cases)
    for place, name in enumerate(("generated", "dequeued", "executed")):
        counted = [dig(case, "batches", COUNTED) or {} for case in cases]
        shares = [drawing.number(tables.speedup(each.get(name), each.get("generated"))) for each in counted]
        widths = [100 * share for share in shares]
        ax.barh(range(len(cases)), widths, 0.8 - 0.25 * place, color=drawing.SHADES[place], label=name)
    drawing.finish(figure, ax, "% of the batches generated")
    return figure


@drawing.styled
def breakdown(study: JsonObject) -> drawing.Figure:
    """Figure 4: the order from a given start, the search for a start, and the copies to and from a GPU."""
    cases = done(study, "times")
    figure, ax = drawing.case_rows(cases)
    devices = [device for device in ("cpu", "cuda") if any(dig(case, "times", device) for case in cases)]
    height = 0.8 / max(len(devices), 1)
    for i, device in enumerate(devices):
        core, whole = (
            np.array([drawing.number(dig(case, "times", device, name)) for case in cases], float)
            for name in ("auto", "start searched for")
        )
        places = np.arange(len(cases)) + (i + 0.5) * height - 0.8 / 2
        name = {"cpu": "CPU", "cuda": "GPU"}[device]
        ax.barh(places, 1e3 * core, height, color=drawing.STAGES[2 * i], label=f"{name}: order")
        search = np.maximum(whole - core, 0)
        text = f"{name}: search for a start"
        ax.barh(places, 1e3 * search, height, 1e3 * core, color=drawing.STAGES[2 * i + 1], label=text)
        copies = np.array([drawing.number(dig(case, "times", device, "transfer")) for case in cases], float)
        if np.isfinite(copies).any():
            ax.barh(places, 1e3 * copies, height, 1e3 * (core + search), color=drawing.GREY, label="copies")
    drawing.finish(figure, ax, "milliseconds", columns=2)
    return figure


@drawing.styled
def threads(study: JsonObject) -> drawing.Figure:
    """Figure 5a: the speed-up of batches over the serial method by threads."""
    timed = [case for case in done(study, "threads") if case["threads"]["runs"]]
    cases = sorted(timed, key=lambda case: case.get("nnz") or 0)
    counts = sorted({run["threads"] for case in cases for run in case["threads"]["runs"]})
    figure, ax = drawing.case_rows(cases)
    ax.grid(False)
    ratios = np.full((len(cases), len(counts)), np.nan)
    for row, case in enumerate(cases):
        for run in case["threads"]["runs"]:
            ratio = tables.speedup(case["threads"]["serial"], run["seconds"])
            ratios[row, counts.index(run["threads"])] = drawing.number(ratio)
    if ratios.size:
        ax.imshow(ratios, aspect="auto", cmap="Blues", vmin=0)
        _write_numbers(ax, ratios)
    ax.set_xticks(range(len(counts)), list(map(str, counts)))
    ax.set_xlabel("threads")
    return figure


def _write_numbers(ax: drawing.Axes, ratios: np.ndarray) -> None:
    darkest = np.nanmax(ratios) if np.isfinite(ratios).any() else 0.0
    for (row, column), ratio in np.ndenumerate(ratios):
        if np.isfinite(ratio):
            colour = "white" if ratio > 0.6 * darkest else "black"
            ax.text(column, row, f"{ratio:.2f}", ha="center", va="center", fontsize=7.5, color=colour)


@drawing.styled
def stages(study: JsonObject) -> drawing.Figure:
    """Figure 6: the shares of the stages by threads, averaged over the matrices."""
    shares = mean_stage_shares(study)
    figure = drawing.new_figure(drawing.WIDTH, 1.1 + drawing.ROW_HEIGHT * max(len(shares), 1))
    ax = figure.add_subplot()
    left = np.zeros(len(shares))
    for i, stage in enumerate(STAGES):
        widths = np.array([100 * found[stage] for found in shares.values()])
        ax.barh(range(len(shares)), widths, 0.8, left, color=drawing.STAGES[i], label=stage)
        left += widths
    drawing.name_rows(ax, [f"{count} threads" if count > 1 else "1 thread" for count in shares])
    drawing.finish(figure, ax, "% of the time of all threads")
    return figure


def mean_stage_shares(study: JsonObject) -> dict[int, dict[str, float]]:
    """{threads: {stage: share}}, each matrix with the same weight."""
    found: dict[int, list[dict[str, float]]] = {}
    for case in done(study, "threads"):
        for run in case["threads"]["runs"]:
            total = sum(run["stages"].get(stage, 0) for stage in STAGES)
            if total:
                each = {stage: run["stages"].get(stage, 0) / total for stage in STAGES}
                found.setdefault(run["threads"], []).append(each)
    return {
        count: {stage: sum(each[stage] for each in found[count]) / len(found[count]) for stage in STAGES}
        for count in sorted(found)
    }


FIGURES = by_name(speedups, batches, breakdown, threads, stages)
