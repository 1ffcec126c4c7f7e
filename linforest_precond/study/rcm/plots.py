"""Figures 2 to 6 of the paper."""

from __future__ import annotations

import numpy as np

from linforest_precond.study import drawing
from linforest_precond.study.drawing import Axes, Figure
from linforest_precond.study.rcm.measures import STAGES
from linforest_precond.study.rcm.tables import APPROACHES, speedup, speedups
from linforest_precond.study.results import JsonObject, dig, done

# The variant of figure 3, which is the paper's GPU version.
COUNTED = "Algorithm 5, overestimated"
BAR = 0.8


def figures(study: JsonObject) -> dict[str, Figure]:
    """All figures by name."""
    return {
        "speedups": speedup_bars(study),
        "batches": batch_shares(study),
        "breakdown": breakdown(study),
        "threads": thread_heatmap(study),
        "stages": stage_shares(study),
    }


@drawing.styled
def speedup_bars(study: JsonObject) -> Figure:
    """Figure 2: the speed-up of each approach, bars over SciPy and dots for the paper's over HSL."""
    cases, device = done(study, "times"), study["device"]
    figure, ax = drawing.case_rows(cases)
    shown = [name for name in APPROACHES if any(speedups(case, name, device)[0] for case in cases)]
    height = BAR / max(len(shown), 1)
    for i, approach in enumerate(shown):
        ours, theirs = zip(*(speedups(case, approach, device) for case in cases))
        places = np.arange(len(cases)) + (i + 0.5) * height - BAR / 2
        colour = drawing.STAGES[i % len(drawing.STAGES)]
        ax.barh(places, list(map(drawing.positive, ours)), height, color=colour, label=approach)
        ax.plot(list(map(drawing.positive, theirs)), places, "k.", markersize=4)
    ax.set_xscale("log")
    ax.set_xlabel("speed-up over SciPy (dots: the paper's over HSL)")
    drawing.legend_above(figure, ax, 2)
    return figure


@drawing.styled
def batch_shares(study: JsonObject) -> Figure:
    """Figure 3: of the batches that are generated, those dequeued and those executed."""
    cases = done(study, "batches")
    figure, ax = drawing.case_rows(cases)
    for i, name in enumerate(("generated", "dequeued", "executed")):
        counts = [dig(case, "batches", COUNTED, name) for case in cases]
        made = [dig(case, "batches", COUNTED, "generated") for case in cases]
        shares = [drawing.number(speedup(count, total)) for count, total in zip(counts, made)]
        ax.barh(range(len(cases)), [100 * share for share in shares], BAR - 0.25 * i,
                color=drawing.SHADES[i], label=name)  # fmt: skip
    ax.set_xlabel("% of the batches generated")
    drawing.legend_above(figure, ax, 3)
    return figure


@drawing.styled
def breakdown(study: JsonObject) -> Figure:
    """Figure 4: the order from a given start, and the search for a start."""
    cases = done(study, "times")
    figure, ax = drawing.case_rows(cases)
    devices = [device for device in ("cpu", "cuda") if any(dig(case, "times", device) for case in cases)]
    height = BAR / max(len(devices), 1)
    for i, device in enumerate(devices):
        core, whole = (
            np.array([drawing.number(dig(case, "times", device, name)) for case in cases], float)
            for name in ("auto", "start searched for")
        )
        places = np.arange(len(cases)) + (i + 0.5) * height - BAR / 2
        name = {"cpu": "CPU", "cuda": "GPU"}[device]
        ax.barh(places, 1e3 * core, height, color=drawing.STAGES[2 * i], label=f"{name}: order")
        search = np.maximum(whole - core, 0)
        ax.barh(places, 1e3 * search, height, 1e3 * core, color=drawing.STAGES[2 * i + 1],
                label=f"{name}: search for a start")  # fmt: skip
    ax.set_xlabel("milliseconds")
    drawing.legend_above(figure, ax, 2)
    return figure


@drawing.styled
def thread_heatmap(study: JsonObject) -> Figure:
    """Figure 5a: the speed-up of batches over the serial method by threads."""
    cases = sorted(done(study, "threads"), key=lambda case: case.get("nnz") or 0)
    counts = sorted({run["threads"] for case in cases for run in case["threads"]["runs"]})
    figure, ax = drawing.case_rows(cases)
    ax.grid(False)
    ratios = np.full((len(cases), len(counts)), np.nan)
    for row, case in enumerate(cases):
        for run in case["threads"]["runs"]:
            ratios[row, counts.index(run["threads"])] = drawing.number(
                speedup(case["threads"]["serial"], run["seconds"])
            )
    if ratios.size:
        ax.imshow(ratios, aspect="auto", cmap="Blues", vmin=0)
        _write_numbers(ax, ratios)
    ax.set_xticks(range(len(counts)), list(map(str, counts)))
    ax.set_xlabel("threads")
    return figure


def _write_numbers(ax: Axes, ratios: np.ndarray) -> None:
    darkest = np.nanmax(ratios) if np.isfinite(ratios).any() else 0.0
    for (row, column), ratio in np.ndenumerate(ratios):
        if np.isfinite(ratio):
            colour = "white" if ratio > 0.6 * darkest else "black"
            ax.text(column, row, f"{ratio:.2f}", ha="center", va="center", fontsize=7.5, color=colour)


@drawing.styled
def stage_shares(study: JsonObject) -> Figure:
    """Figure 6: the shares of the stages by threads, averaged over the matrices."""
    shares = mean_stage_shares(study)
    figure = drawing.new_figure(drawing.WIDTH, 1.1 + drawing.ROW_HEIGHT * max(len(shares), 1))
    ax = figure.add_subplot()
    left = np.zeros(len(shares))
    for i, stage in enumerate(STAGES):
        widths = np.array([100 * found[stage] for found in shares.values()])
        ax.barh(range(len(shares)), widths, BAR, left, color=drawing.STAGES[i], label=stage)
        left += widths
    ax.set_yticks(range(len(shares)), [f"{count} threads" if count > 1 else "1 thread" for count in shares])
    ax.set_ylim(max(len(shares), 1) - 0.5, -0.5)
    ax.set_xlabel("% of the time of all threads")
    drawing.legend_above(figure, ax, 3)
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
