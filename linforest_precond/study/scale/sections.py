"""The sections of the report."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from linforest_precond.study import formats
from linforest_precond.study.csv_tables import done
from linforest_precond.study.drawing import as_svg
from linforest_precond.study.json_types import JsonObject
from linforest_precond.study.report.blocks import (
    Section,
    case_name,
    cell,
    compared,
    coverage_list,
    figure,
    matrix_list,
    not_run,
    paragraph,
    picture,
    plain_table,
    text_cell,
)
from linforest_precond.study.report.markup import Html, join, tag
from linforest_precond.study.scale import plots
from linforest_precond.study.scale.batches import BATCHES
from linforest_precond.study.scale.findings import geometric_gap
from linforest_precond.study.scale.optimum import METHODS
from linforest_precond.study.scale.published import implied_edges, published
from linforest_precond.study.scale.tables import of_the_paper

if TYPE_CHECKING:
    from matplotlib.figure import Figure

COVERAGE = (
    ("Algorithm 4.1, LD-SEQ", "yes", 'lf.graph.matching(A, "locally_dominant").'),
    (
        "Algorithms 4.2 and 4.3, LD-GPU in batches",
        "one device",
        'Streamed through one GPU (device="cuda", batches=k), or from files through the host\'s memory '
        "(batches=k). Several GPUs are not used.",
    ),
    ("Table 4.1, times on 1 to 8 GPUs", "printed", "Other machines; the rates below are of one device."),
    (
        "Table 4.2, quality against the optimum",
        "yes",
        "Exact matchings by SciPy and NetworkX.",
    ),
    ("Table 4.3, A100 against V100", "printed", "One kind of GPU at hand."),
    ("Table 4.4, MMEPS", "yes", "Million matched edges per second, for 1, 2, 4 and 8 batches."),
    ("Figure 4.1 to 4.3", "no", "Illustrations."),
    ("Figures 4.4, 4.9 and 4.10, scaling over GPUs", "no", "Several GPUs are not used."),
    ("Figures 4.5 and 4.7, shares of the phases", "no", "Most of them are communication between GPUs."),
    ("Figure 4.6, batches", "yes", "On one device."),
    ("Figures 4.8 and 4.11, occupancy", "no", "Profiler's figures."),
    (
        "Chapters 2, 3, 5 and 6",
        "yes",
        "On pages of their own: orderings and the cache, traffic matrices, fuzzy joins, the 2D layout.",
    ),
)


def sections(study: JsonObject) -> list[Section]:
    return [
        Section("coverage", "In the thesis, and here", coverage_list(COVERAGE)),
        Section("matrices", "Graphs", matrix_list(study)),
        Section("optimum", "Quality against the optimum", _optimum(study)),
        Section("batches", "Batches", _batches(study)),
        Section("memory", "Graphs larger than the memory", _memory(study)),
        Section("printed", "The printed tables", _printed()),
    ]


def _figure(draw: Callable[[JsonObject], Figure], study: JsonObject) -> Html:
    caption = (draw.__doc__ or "").strip()
    return figure(picture(as_svg(draw(study)), caption), caption)


def _optimum(study: JsonObject) -> Html:
    cases = done(study, "optimum")
    if not cases:
        return not_run()
    rows: list[tuple[Any, list[Html]]] = [(case_name(case), _gap_cells(case)) for case in cases]
    paper = published()["geometric mean"]["ld_gap"]
    ours = [geometric_gap(study, method) for method in METHODS]
    means = [formats.fixed(value, 1) for value in ours]
    first = compared(means[0], formats.fixed(paper, 2))
    rows.append((tag("strong", "geometric mean"), [text_cell(""), first, *map(cell, means[1:])]))
    names = ("Graph", "Exact matching", *(method.replace("_", " ") for method in METHODS))
    caption = (
        "Distance from the maximum weight in %. Table 4.2; published values of the graph in small print."
    )
    return join(_figure(plots.optimum, study), plain_table(caption, names, rows, "coverage"))


def _gap_cells(case: JsonObject) -> list[Html]:
    found, paper = case["optimum"], of_the_paper(case).get("ld_gap")
    solver = found["solver"] or found["reason"]
    values = [formats.fixed(found["gaps"].get(method), 1) for method in METHODS]
    printed = None if paper is None else formats.fixed(paper, 1)
    return [text_cell(solver), compared(values[0], printed), *map(cell, values[1:])]


def _batches(study: JsonObject) -> Html:
    cases = done(study, "batches")
    if not cases:
        return not_run()
    text = paragraph(
        "MMEPS: million matched edges per second. As a whole: the graph is on the device. In batches: the "
        "graph stays on the host, and batches of consecutive rows with about equal numbers of entries are "
        "copied in every round in which vertices of the batch have lost their target. Published rates are "
        "those of the whole graph on up to eight GPUs."
    )
    rows = [(case_name(case), _rate_cells(case)) for case in cases]
    names = ("Graph", "Matched edges", "Whole", "Suitor", *(f"{count} batches" for count in BATCHES), "Same")
    caption = "MMEPS by the number of batches. Table 4.4; published rates of LD-GPU in small print."
    return join(text, _figure(plots.rates, study), plain_table(caption, names, rows, "coverage"))


def _rate_cells(case: JsonObject) -> list[Html]:
    found, paper = case["batches"], of_the_paper(case).get("ld_mmeps")
    printed = None if paper is None else formats.digits3(paper)
    batched = [formats.digits3(row["mmeps"]) for row in found["batched"].values()]
    same = all(row["same"] for row in found["batched"].values())
    return [
        cell(formats.count(found["edges"])),
        compared(formats.digits3(found["whole"]["mmeps"]), printed),
        cell(formats.digits3(found["suitor"]["mmeps"])),
        *map(cell, batched),
        cell(formats.yes_no(same)),
    ]


def _memory(study: JsonObject) -> Html:
    cases = done(study, "memory")
    if not cases:
        return not_run()
    text = paragraph(
        "Each graph is given the memory of its arrays of vertices (five indices each, and the values of the "
        "result) and an eighth of that of its entries. Resident are these arrays and two batches of entries: "
        "on the GPU one is being copied, and the rows that remain at the end take as much again; on the CPU "
        "these rows are the second batch. There the entries are in memory-mapped files; the pages that the "
        "operating system caches of them do not count."
    )
    rows = [(case_name(case), _memory_cells(case["memory"])) for case in cases]
    names = ("Graph", "Size", "Given", "Batches", "Peak", "Same matching")
    return join(text, _figure(plots.memory, study), plain_table("Memory.", names, rows, "coverage"))


def _memory_cells(found: JsonObject) -> list[Html]:
    sizes = {key: f"{formats.digits3(found[key] / 2**20)} MiB" for key in ("graph", "given", "peak")}
    texts = (sizes["graph"], sizes["given"], formats.count(found["batches"]), sizes["peak"])
    return [*map(cell, texts), cell(formats.yes_no(found["same"]))]


def _printed() -> Html:
    rows = [(graph, _printed_cells(row)) for graph, row in published().items() if graph != "geometric mean"]
    names = ("Graph", "Vertices", "Edges", "LD-GPU, s", "GPUs", "SR-OMP, s", "LD-GPU, MMEPS", "SR-OMP, MMEPS",
             "Matched edges, LD-GPU", "Matched edges, SR-OMP")  # fmt: skip
    caption = "Tables 4.1 and 4.4 as printed. The last two columns are rate times time, in millions."
    text = paragraph(
        "The two products must agree, up to the difference of the two matchings. They do except for one "
        "graph, so that MMEPS is what its name says, and one of the printed numbers of that graph is not "
        "right."
    )
    return join(text, plain_table(caption, names, rows, "coverage"))


def _printed_cells(row: dict[str, float]) -> list[Html]:
    keys = ("vertices", "edges", "ld_gpu", "gpus", "sr_omp", "ld_mmeps", "sr_mmeps")
    values = [formats.digits3(row.get(key)) if key != "gpus" else formats.count(row[key]) for key in keys]
    edges = [implied_edges(row, code) for code in ("ld", "sr")]
    implied = [formats.digits3(None if value is None else value / 1e6) for value in edges]
    return [cell(text) for text in (*values, *implied)]


def method(study: JsonObject) -> Html:
    """How it was measured."""
    return join(
        paragraph(
            "Weights are the magnitudes of the off-diagonal entries, or uniform random numbers in (0, 1] "
            "where these are all equal, as in the thesis. The exact matching is SciPy's for bipartite "
            "graphs (every row gets a column of its own of weight 0), and NetworkX's for others; it is "
            "left out for large graphs."
        ),
        paragraph(
            "Times are medians and do not include reading the graph; those in batches include all copies, "
            "which the thesis excludes for the first one. “Same” means that all mates are equal to those "
            "of the graph in memory."
        ),
    )
