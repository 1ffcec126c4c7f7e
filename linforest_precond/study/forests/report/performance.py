"""Performance: figures 3, 5 and 6 of the paper, and their numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from linforest_precond.study import drawing, formats
from linforest_precond.study.csv_tables import dig, done
from linforest_precond.study.forests import plots
from linforest_precond.study.forests.findings import scan_share
from linforest_precond.study.forests.tables import DEGREES, per_spmv, scan_speedup
from linforest_precond.study.json_types import JsonObject
from linforest_precond.study.report.blocks import Head, case_name, cell, figure, not_run, picture, row, table
from linforest_precond.study.report.markup import Html, join, tag

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def performance(study: JsonObject) -> Html:
    """Three figures and a table."""
    cases = done(study, "performance")
    if not cases:
        return not_run()
    figures = tag("div", _propositions(study), _scan(study), _setup(study), class_="figures")
    return join(figures, _table(cases))


def _drawn(draw: Callable[[JsonObject], Figure], study: JsonObject, alt: str) -> Html:
    named = formats.listed([formats.label(case) for case in done(study, "performance")])
    return picture(drawing.as_svg(draw(study)), f"{alt}, for {named}. The numbers are in the table below.")


def _propositions(study: JsonObject) -> Html:
    image = _drawn(
        plots.propositions, study, "Bars: time of an edge proposition over that of SpMV, n = 1 to 4"
    )
    text = ". Time of one edge proposition for a [0,n]-factor, in sparse matrix-vector products (SpMV)."
    return figure(image, tag("b", "Figure 3"), text)


def _scan(study: JsonObject) -> Html:
    image = _drawn(
        plots.scan_throughput, study, "Bars: throughput of the bidirectional scan and bandwidth of a copy"
    )
    text = ". Throughput of the bidirectional scan"
    timings = [case["performance"] for case in done(study, "performance")]
    faster = any(map(scan_speedup, timings))
    speedup = "; the numbers are speedups over a sequential walk along the paths" if faster else ""
    return figure(image, tag("b", "Figure 5"), f"{text}{speedup}.")


def _setup(study: JsonObject) -> Html:
    image = _drawn(plots.setup_breakdown, study, "Stacked bars: shares of the stages in AlgTriScal's setup")
    text = ". Breakdown of the setup of AlgTriScal by stages; the total time is given after each bar."
    return figure(image, tag("b", "Figure 6"), text)


def _table(cases: list[JsonObject]) -> Html:
    top = [
        Head("Matrix", rows=2),
        Head("SpMV", rows=2),
        Head("Proposition / SpMV", 4),
        Head("Scan and copy", 4),
        Head("Setup", 2),
    ]
    below = [Head(f"n = {n}") for n in DEGREES]
    below += [Head("scan"), Head("sequential"), Head("GB/s"), Head("of copy"), Head("time"), Head("/ SpMV")]
    rows = [row(case_name(case), _cells(case["performance"])) for case in cases]
    return table("Performance in numbers.", [top, below], [rows], "coverage")


def _cells(timings: JsonObject) -> list[Html]:
    propositions = [per_spmv(timings, dig(timings, "propositions", str(n))) for n in DEGREES]
    share = scan_share(timings)
    texts = [
        formats.seconds(timings.get("spmv_seconds")),
        *(formats.fixed(value, 2) for value in propositions),
        formats.seconds(dig(timings, "scan", "seconds")),
        formats.seconds(timings.get("sequential_scan_seconds")),
        formats.digits3(dig(timings, "scan", "gb_per_s")),
        formats.NONE if share is None else f"{100 * share:.0f} %",
        formats.seconds(timings.get("setup_seconds")),
        formats.fixed(per_spmv(timings, timings.get("setup_seconds")), 1),
    ]
    return [cell(text) for text in texts]
