"""Performance: figures 3, 5 and 6 of the paper, and their numbers."""

from __future__ import annotations

from collections.abc import Callable
from statistics import median
from typing import TYPE_CHECKING, Any

from linforest_precond.study import drawing, formats
from linforest_precond.study.csv_tables import dig, done
from linforest_precond.study.forests import plots
from linforest_precond.study.forests.performance_tables import (
    METHODS,
    PERMUTATIONS,
    WAYS,
    launches,
    ordering_ratio,
    per_spmv,
    precisions,
    proposition,
    scan_ratio,
    setup_ratio,
    spmv_seconds,
)
from linforest_precond.study.forests.tables import DEGREES
from linforest_precond.study.json_types import JsonObject
from linforest_precond.study.report.blocks import (
    Head,
    case_name,
    cell,
    figure,
    not_run,
    paragraph,
    picture,
    row,
    table,
)
from linforest_precond.study.report.markup import Html, join, tag

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def performance(study: JsonObject) -> Html:
    """Figures and tables."""
    cases = done(study, "performance")
    if not cases:
        return not_run()
    on_gpu = any(launches(case["performance"]) for case in cases)
    figures = tag("div", _gpu_figures(study) if on_gpu else _cpu_figures(study), class_="figures")
    return join(
        _introduction(), _explanation(on_gpu), figures, _propositions_table(cases), _ways_table(cases, on_gpu)
    )


def _introduction() -> Html:
    return paragraph(
        "What the setup of AlgTriScal costs, and on what the time is spent. The unit is the time of one "
        "product with the matrix (SpMV): a setup pays if the iterations that it saves take longer. A setup "
        "has three stages. In the edge propositions (figure 3) each vertex proposes its heaviest n edges; "
        "k counts them, and from k = 1 on vertices that have all their edges are left out. Then cycles are "
        "broken and the vertices are numbered along the paths (figure 5). Last, the permutation is built and "
        "the bands are copied: figure 6 shows the shares of all stages."
    )


def _explanation(on_gpu: bool) -> Html:
    """On the CPU: what was measured in place of the paper's figures."""
    ways = (
        "Two ways with the same result are measured: the paper’s, with Algorithm 3 (bidirectional scan) and "
        "a radix sort, and ours, with list ranking and a prefix sum. "
    )
    if on_gpu:
        return paragraph(
            ways,
            "Throughputs count bytes as the paper does: every buffer of table 2, or of a scan step, once. "
            "Our propositions skip vertices without free edges, so that they may exceed a copy’s bandwidth.",
        )
    return paragraph(
        ways,
        "This study ran on the CPU, where figures 3, 5 and 6 of the paper do not apply. In their place: "
        "propositions in double precision beside SciPy’s product, both on one thread; the time of labelling "
        "the paths, by Algorithm 3 and by a walk along them; and the stages of a setup on all threads. The "
        "throughputs of kernel launches are measured with --device cuda.",
        kind="note",
    )


def _drawn(draw: Callable[[JsonObject], Figure], study: JsonObject, alt: str, *caption: Any) -> Html:
    named = formats.listed([formats.label(case) for case in done(study, "performance")])
    alternative = f"{alt}, for {named}. The numbers are in the tables below."
    return figure(picture(drawing.as_svg(draw(study)), alternative), *caption)


def _gpu_figures(study: JsonObject) -> list[Html]:
    bars, boxes = "Bars: time of an edge proposition over that of SpMV, n = 1 to 4", "Box plots"
    return [
        _drawn(plots.propositions, study, bars, tag("b", "Figure 3"), ". Time of one edge proposition with "
               "k > 0 in products by cuSPARSE (SpMV), single precision; marks: k = 0."),
        _drawn(plots.proposition_throughput, study, "Bars: throughput of an edge proposition",
               tag("b", "Figure 3"), ". Throughput of propositions, counted as in the paper."),
        _drawn(plots.scan_launches, study, f"{boxes}: throughput of the launches of Algorithm 3",
               tag("b", "Figure 5"), ". Throughput of all launches of Algorithm 3, cycles and paths apart; "
               "the numbers are speedups over a sequential walk along the paths."),
        _drawn(plots.scan_times, study, "Bars: time of labelling the paths", tag("b", "Figure 5"),
               ". Time of breaking cycles and labelling paths, and the ratio of Algorithm 3 to ours."),
        _setup(study, tag("b", "Figure 6")),
    ]  # fmt: skip


def _cpu_figures(study: JsonObject) -> list[Html]:
    bars = "Bars: time of an edge proposition over that of SpMV, n = 1 to 4"
    return [
        _drawn(plots.propositions, study, bars, tag("b", "On the CPU, for figure 3"), ". Time of one edge "
               "proposition with k > 0 in products by SciPy (SpMV), one thread; marks: k = 0."),
        _drawn(plots.scan_times, study, "Bars: time of labelling the paths", tag("b", "On the CPU, for "
               "figure 5"), ". Time of breaking cycles and labelling paths on one thread, by Algorithm 3 and "
               "by a walk along them (ours), and the ratio."),
        _setup(study, tag("b", "On the CPU, for figure 6")),
    ]  # fmt: skip


def _setup(study: JsonObject, title: Html) -> Html:
    alt = "Stacked bars: stages of AlgTriScal's setup by the paper's methods and by ours"
    text = ". Stages of AlgTriScal’s setup by the paper’s methods (above) and by ours (below); total times."
    return _drawn(plots.setup_breakdown, study, alt, title, text)


def _propositions_table(cases: list[JsonObject]) -> Html:
    top = [
        Head("Matrix", rows=2),
        Head("Precision", rows=2),
        Head("SpMV", 2),
        Head("k = 0, in SpMV", 4),
        Head("k > 0, in SpMV", 4),
        Head("GB/s, n = 2", 2),
        Head("Active", rows=2, explained="vertices that propose with k > 0, n = 2: others have no free edge"),
    ]
    below = [Head("time"), Head("GB/s"), *([Head(f"n = {n}") for n in DEGREES] * 2)]
    below += [Head("k = 0"), Head("k > 0")]
    bodies = [_proposition_rows(case) for case in cases]
    caption = "Propositions in numbers. Figure 3; published times are plotted only, and have no numbers."
    return table(caption, [top, below], bodies, "runs")


def _proposition_rows(case: JsonObject) -> list[Html]:
    timings = case["performance"]
    found = precisions(timings) or ["–"]
    name = tag("th", case_name(case), scope="rowgroup", rowspan=len(found))
    return [
        tag(
            "tr",
            name if dtype == found[0] else None,
            tag("th", dtype, scope="row"),
            _proposition_cells(case, dtype),
        )
        for dtype in found
    ]


def _proposition_cells(case: JsonObject, dtype: str) -> list[Html]:
    timings = case["performance"]
    rows = {(k, n): proposition(timings, dtype, k, n) for k in (0, 1) for n in DEGREES}
    relative = [per_spmv(timings, row.get("seconds"), dtype) for row in rows.values()]
    vertices, active = case.get("rows"), rows[1, 2].get("vertices")
    texts = [
        formats.seconds(spmv_seconds(timings, dtype)),
        formats.digits3(dig(timings, "spmv", dtype, "gb_per_s")),
        *(formats.fixed(value, 2) for value in relative),
        *(formats.digits3(rows[k, 2].get("gb_per_s")) for k in (0, 1)),
        _percent(active, vertices),
    ]
    return [cell(text) for text in texts]


def _percent(part: float | None, whole: float | None) -> str:
    return formats.NONE if part is None or not whole else f"{100 * part / whole:.0f} %"


def _ways_table(cases: list[JsonObject], on_gpu: bool) -> Html:
    ratio = Head("ratio", explained="the time of the paper’s way over that of ours")
    top = [
        Head("Matrix", rows=2),
        Head("Cycles and paths", 4),
        Head("Permutation", 3),
        Head("Setup", 4),
        *([Head("Launches of Algorithm 3", 2)] if on_gpu else []),
    ]
    below = [Head("Algorithm 3"), Head("ours"), ratio, Head("sequential")]
    below += [Head("radix sort"), Head("ours"), ratio]
    below += [Head("paper’s way"), Head("ours"), ratio, Head("ours / SpMV")]
    below += [Head("cycles, of copy"), Head("paths, of copy")] if on_gpu else []
    rows = [row(case_name(case), _way_cells(case["performance"], on_gpu)) for case in cases]
    caption = "The paper’s way and ours. Figures 5 and 6 in numbers; both ways give the same result."
    return table(caption, [top, below], [rows], "coverage")


def _way_cells(timings: JsonObject, on_gpu: bool) -> list[Html]:
    scans = [dig(timings, "scans", "seconds", method) for method in METHODS]
    orderings = [dig(timings, "orderings", method) for method in PERMUTATIONS]
    setups = [dig(timings, "setup_seconds", way) for way in WAYS]
    texts = [
        *map(formats.seconds, scans),
        formats.digits3(scan_ratio(timings)),
        formats.seconds(timings.get("sequential_scan_seconds")),
        *map(formats.seconds, orderings),
        formats.digits3(ordering_ratio(timings)),
        *map(formats.seconds, setups),
        formats.digits3(setup_ratio(timings)),
        formats.fixed(per_spmv(timings, setups[1]), 1),
    ]
    if on_gpu:
        texts += [_percent(launch_median(timings, kind), timings.get("copy_gb_per_s")) for kind in LAUNCHES]
    return [cell(text) for text in texts]


LAUNCHES = ("cycles", "paths")


def launch_median(timings: JsonObject, kind: str) -> float | None:
    """The median throughput of the launches of a kind."""
    speeds = launches(timings).get(kind)
    return median(speeds) if speeds else None
