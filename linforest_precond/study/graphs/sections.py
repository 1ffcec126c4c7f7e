"""The sections of the report."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from linforest_precond.study import formats
from linforest_precond.study.drawing import as_svg
from linforest_precond.study.graphs import plots
from linforest_precond.study.graphs.families import FAMILIES, Algorithm
from linforest_precond.study.graphs.rows import DEVICES, Row, rows_of
from linforest_precond.study.json_types import JsonObject
from linforest_precond.study.report.blocks import (
    Head,
    Section,
    cell,
    compared,
    coverage_list,
    figure,
    matrix_list,
    not_run,
    paragraph,
    picture,
    row,
    table,
)
from linforest_precond.study.report.markup import Html, join, tag

if TYPE_CHECKING:
    from matplotlib.figure import Figure

COVERAGE = (
    ("Chapter 1, breadth-first search", "yes", "lf.graph.bfs_levels; part of the forward-backward search."),
    ("Algorithm 1, sequential components", "no", "The thesis does not time it either."),
    (
        "Algorithm 2, FastSV (CC_opt2)",
        "yes",
        'connected_components(A, method="fastsv"). Hooks are atomic minima, so that parents only decrease; '
        "in the thesis the last writer wins, and the number of rounds depends on the threads.",
    ),
    (
        "CC_base, loops over vertices",
        "in part",
        "The same algorithm. Ours loops over vertices on the CPU and over edges on the GPU; both published "
        "curves are in the figure.",
    ),
    (
        "Algorithms 3 and 4, strong components",
        "yes",
        'strongly_connected_components(A, method="coloring"). All regions of a round are searched at the '
        "same time, and vertices without cycles are trimmed; on these graphs, one component each, it is the "
        "same work.",
    ),
    (
        "Algorithm 6, Luby (MIS_base, MIS_lex3, MIS_opt3)",
        "yes",
        'maximal_independent_set(A, method="luby", "luby_lexicographic" and "luby_optimized"). Which of two '
        "selected neighbours is dropped does not depend on the threads; random numbers are hashes.",
    ),
    (
        "Algorithm 8, Awerbuch-Shiloach",
        "yes",
        'minimum_spanning_tree(A, method="awerbuch_shiloach"). The implementations of the thesis may never '
        "end: they take the children of every root for a star, and rely on unique weights. Both are mended.",
    ),
    ("Chapter 6, isMIS and isCC", "yes", "is_maximal_independent_set, is_component_labelling: every answer."),
    ("Figures 7.1 to 7.12, times by device", "yes", "With the published times beside; another machine."),
    ("Figures 7.13 to 7.17, variants compared", "yes", "One figure for each problem."),
    ("Sparse formats other than CSR", "no", "The thesis uses CSR alone, too."),
    ("GraphBLAST and cuGraph", "no", "Planned in the thesis, and not measured there."),
)  # fmt: skip

TEXTS = {
    "components": "Afforest, our default, samples edges and skips the largest component; FastSV reads all "
    "edges in every round. A random graph of these densities has one component.",
    "strong": "Our default is SciPy’s sequential algorithm on the CPU and ECL-SCC on the GPU. Most of the "
    "time of the forward-backward search on the CPU is the transposition of the graph, on one thread; the "
    "two searches stop when all vertices are found, after a small part of the edges.",
    "independent_sets": "Our default takes vertices of low degree first, the variants of the thesis those of "
    "high degree. MIS_opt3 took the thesis up to 3,850 s on the CPU for graphs on which it takes "
    "milliseconds here: the probability that nobody is selected is at most 0.8 for each attempt as long "
    "as half of the vertices are left, so its rule of selection is not the cause. The thesis suspects its "
    "configuration of OpenMP.",
    "spanning_forests": "The thesis has no times: its implementations of Awerbuch and Shiloach’s algorithm "
    "do not always end. Weights are unique, as it requires, though ours need not be.",
}


def sections(study: JsonObject) -> list[Section]:
    families = [Section(part, family.title, _family(study, part)) for part, family in FAMILIES.items()]
    return [
        Section("coverage", "In the thesis, and here", coverage_list(COVERAGE)),
        Section("graphs", "Graphs", matrix_list(study)),
        *families,
    ]


def _family(study: JsonObject, part: str) -> Html:
    rows = rows_of(study, part)
    if not rows:
        return not_run()
    pictures = [_own_figure(study, part, algorithm) for algorithm in FAMILIES[part].algorithms]
    return join(paragraph(TEXTS[part]), _compared_figure(study, part), pictures, _table(part, rows))


def _own_figure(study: JsonObject, part: str, algorithm: Algorithm) -> Html | None:
    """The figure of an algorithm that the thesis has."""
    if algorithm.thesis is None and part != "spanning_forests":
        return None
    number = plots.FIGURES.get(algorithm.thesis or "")
    there = f", figure {number} of the thesis; dashed: its times" if number else ""
    text = f"{algorithm.title}{there}. CPU: one thread, HOST: all threads."
    return _drawn(plots.by_device(study, part, algorithm.key), text)


def _compared_figure(study: JsonObject, part: str) -> Html:
    device = plots.fastest_device(rows_of(study, part))
    where = {"gpu": "on the GPU", "host": "on all threads", "cpu": "on one thread"}[device]
    there = "; dashed: the thesis’ times" if part != "spanning_forests" else ""
    return _drawn(plots.compared(study, part), f"The algorithms compared {where}{there}.")


def _drawn(drawing: Figure, text: str) -> Html:
    return figure(picture(as_svg(drawing), f"Times by the number of vertices. {text}"), text)


def _table(part: str, rows: list[Row]) -> Html:
    algorithms, devices = FAMILIES[part].algorithms, _devices(rows)
    top = [Head("Density", rows=2), Head("Vertices", rows=2)]
    top += [Head(algorithm.title, len(devices) + 1) for algorithm in algorithms]
    below = [Head(name) for _ in algorithms for name in (*(DEVICES[each] for each in devices), _answer(part))]
    named: dict[str, list[Row]] = {}
    for each in rows:
        named.setdefault(each.case["name"], []).append(each)
    lines = [_line(group, devices) for group in named.values()]
    caption = "Times; the thesis’ in small print, on 1 thread, 16 threads and a Tesla V100."
    return table(caption, [top, below], [lines], "coverage")


def _devices(rows: list[Row]) -> list[str]:
    return [device for device in DEVICES if any(row.seconds(device) is not None for row in rows)]


def _answer(part: str) -> str:
    return {"independent_sets": "vertices", "spanning_forests": "weight"}.get(part, "components")


def _line(group: list[Row], devices: list[str]) -> Html:
    first, cells = group[0], [cell(formats.count(group[0].size))]
    for each in group:
        cells += [_time(each, device) for device in devices]
        cells.append(_size(each))
    return row(f"{first.density:.3g}", cells)


def _time(each: Row, device: str) -> Html:
    theirs = each.paper_seconds(device)
    shown = None if theirs is None else formats.seconds(theirs)
    return compared(formats.seconds(each.seconds(device)), shown)


def _size(each: Row) -> Html:
    """The number that describes the answer; a mark where a checker or another device disagrees."""
    wrong = not each.found.get("valid") or not each.found.get("same")
    text: Any = formats.count(each.found.get("size"))
    return tag("td", tag("span", f"{text} (invalid)", class_="departs") if wrong else text)


def method(study: JsonObject) -> Html:
    """How it was measured."""
    threads = {each.threads for each in rows_of(study)}
    used = f" HOST are {max(threads)} threads." if threads else ""
    return join(
        paragraph(
            "Directed random graphs, every edge with the same probability; weak components, independent sets "
            "and forests are those of the undirected counterpart, as in the thesis. Times are medians after "
            "a first call that compiles, of the algorithm alone: the graph is in memory, checked and, where "
            "needed, symmetrized. Those of the thesis are means of ten calls, and include its list of edges."
        ),
        paragraph(
            f"CPU is one thread.{used} The thesis: one thread and 16 threads on a Xeon Gold 6134 of 8 "
            "cores, and one Tesla V100. Its CPU and HOST times are from the same code as its GPU times."
        ),
        paragraph(
            "Every answer is checked by lf.graph.is_component_labelling, is_maximal_independent_set or "
            "is_spanning_forest, and compared bit by bit between the devices."
        ),
    )
