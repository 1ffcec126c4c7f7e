"""The sections of the report."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from linforest_precond.study import formats
from linforest_precond.study.csv_tables import done
from linforest_precond.study.drawing import as_svg
from linforest_precond.study.json_types import JsonObject
from linforest_precond.study.matching import plots
from linforest_precond.study.matching.findings import average
from linforest_precond.study.matching.published import published
from linforest_precond.study.matching.times import METHODS
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
)
from linforest_precond.study.report.markup import Html, join, tag

if TYPE_CHECKING:
    from matplotlib.figure import Figure

COVERAGE = (
    ("Algorithms 1 and 2, sequential", "yes", "One thread of the CPU, compiled by Numba."),
    ("Algorithm 3, random and weighted proposals", "yes", 'lf.graph.matching(A, "random") and "weighted".'),
    (
        "Algorithm 4, colours by MD5",
        "other hash",
        "Colours come from a 64-bit hash. The paper's array v, rv, ..., r¹⁵v is zero for v = 0 whatever r "
        "is, so vertex 0 would have one colour in all rounds.",
    ),
    ("Eq. 2 and the best probability", "yes", "0.53406, the default of p."),
    ("Figure 1", "no", "An illustration of one round."),
    ("Figure 2", "yes", "Other graphs: of the paper's only ecology1 is named in the text."),
    ("Figure 3", "yes", "On ecology1 or its stand-in, and the right part on all matrices."),
    ("Figure 4", "yes", "Numba's threads in place of TBB's."),
    (
        "Figure 5, sizes, weights and speedups",
        "yes",
        "On the matrices below in place of 425 of the collection.",
    ),
    ("Transfer to the GPU, 39 % of the time", "no", "Our graphs are on the device before and after."),
    ("Profiler's figures", "no", "Hit rates and instruction counts of a Tesla C2050."),
)


def sections(study: JsonObject) -> list[Section]:
    return [
        Section("coverage", "In the paper, and here", coverage_list(COVERAGE)),
        Section("matrices", "Matrices", matrix_list(study)),
        Section("rounds", "Rounds", _drawn(study, "rounds", plots.rounds, _rounds_text())),
        Section("colours", "Colours", _drawn(study, "colours", plots.colours, _colours_text())),
        Section("quality", "Sizes and weights", _quality(study)),
        Section("why", "Why the weighted ratio differs", _why(study)),
        Section("times", "Times", _times(study)),
    ]


def _drawn(study: JsonObject, part: str, draw: Callable[[JsonObject], Figure], text: Html) -> Html:
    """A text and one figure; a sentence where no case has the part."""
    return join(text, _figure(study, part, draw, "")) if done(study, part) else not_run()


def _figure(study: JsonObject, part: str, draw: Callable[[JsonObject], Figure], caption: str) -> Html:
    named = formats.listed([formats.label(case) for case in done(study, part)])
    image = picture(
        as_svg(draw(study)), f"{(draw.__doc__ or '').strip()} For {named}; the numbers are in {part}.csv."
    )
    return figure(image, caption or (draw.__doc__ or "").strip())


def _rounds_text() -> Html:
    return paragraph(
        "A vertex without unmatched neighbours is dead; the rounds end when every vertex is matched or "
        "dead. The paper shows the same: most vertices are matched in the first rounds. Locally dominant "
        "matching needs fewer rounds because every vertex may propose in each of them."
    )


def _colours_text() -> Html:
    return paragraph(
        "Left, weighted proposals: size, weight and time, each rescaled to its range. Right, random "
        "proposals: the fraction matched in the first round beside Eq. 2, which holds for large random "
        "graphs of any density. Algorithm 3 stays below it, because the first neighbour in one random "
        "order of all vertices is the same for many blue vertices; Eq. 2 assumes that each chooses for "
        "itself, which is simulated (dotted). Meshes have few neighbours to choose from in both. The "
        "vertical line is the published best probability."
    )


def _why(study: JsonObject) -> Html:
    text = join(
        paragraph(
            "Left: the ratio with the weights of the matrix, and with the same weights shuffled among the "
            "edges. Right: all weights 1, then multiplied by random factors of the two vertices, d_i d_j, "
            "where log₂ d is normal with the given standard deviation. Dashed: the paper's average, 1.15."
        ),
        paragraph(
            "With equal or independent weights the ratio is at most about 1, whatever their spread: "
            "two-sided choice gains nothing that the colours, which hide half of the neighbours, do not "
            "cost. It exceeds 1 where heavy edges meet at the same vertices: where rows differ in scale, "
            "as in structural mechanics, or in degree, as in circuits. There many light vertices have "
            "their heaviest edge at the same heavy vertex. Algorithm 1 lets the first of them in random "
            "order take it, while in Algorithm 3 the heavy vertex answers the heaviest proposal. So the "
            "average is a property of the set of matrices: the paper took 425 symmetric ones weighted by "
            "their entries; of those at hand many are grids and graphs."
        ),
    )
    return _drawn(study, "arrangement", plots.arrangement, text)


def _quality(study: JsonObject) -> Html:
    cases = done(study, "quality")
    if not cases:
        return not_run()
    rows: list[tuple[Any, list[Html]]] = [
        (case_name(case), _quality_cells(case["quality"])) for case in cases
    ]
    rows.append((tag("strong", "average"), _averages(study)))
    names = (
        "Matrix", "Edges", "Size: random / Alg. 1", "Weight: weighted / Alg. 1", "Weight: weighted / Alg. 2",
        "Weight: Alg. 1 / Alg. 2", "Locally dominant / Alg. 2", "Suitor / Alg. 2",
    )  # fmt: skip
    caption = (
        "Sizes and weights in units of the sequential ones, average ± standard deviation over random orders."
    )
    image = _figure(study, "quality", plots.quality, "Figure 5, quality. Dashed: the paper's averages.")
    return join(image, plain_table(caption, names, rows, "coverage"))


def _quality_cells(found: JsonObject) -> list[Html]:
    ratios = [
        f"{formats.fixed(found[key], 3)} ± {formats.fixed(found[f'{key}_deviation'], 3)}"
        for key in ("size", "gain", "greedy", "serial")
    ]
    ours = [formats.fixed(value, 3) for value in found["dominant"].values()]
    return [cell(text) for text in (formats.count(found["edges"]), *ratios, *ours)]


def _averages(study: JsonObject) -> list[Html]:
    known = published()
    implied = {"serial": known["greedy"] / known["gain"]}
    cells = [cell("")]
    for key in ("size", "gain", "greedy", "serial"):
        value, paper = average(study, key), (known | implied)[key]
        change = formats.difference(value - paper, 2) if value is not None else None
        shown = f"> {paper}" if key == "size" else formats.fixed(paper, 2)
        cells.append(compared(formats.fixed(value, 3), shown, None if key == "size" else change))
    return [*cells, cell(""), cell("")]


def _times(study: JsonObject) -> Html:
    cases = done(study, "times")
    if not cases:
        return not_run()
    rows = [(case_name(case), _time_cells(case["times"])) for case in cases]
    names = (
        "Matrix", "Vertices", "Edges", "Alg. 1 random", "Alg. 1 weighted", "Alg. 2",
        *(plots.NAMES[name] for name in METHODS), "Speedup random", "Speedup weighted", "Over Alg. 2",
    )  # fmt: skip
    known = published()
    text = paragraph(
        f"The paper's largest speedups: {known['cuda_speedup_random']}, {known['cuda_speedup_weighted']} "
        f"and {known['cuda_speedup_weighted_greedy']:.0f} on a Tesla C2050, {known['tbb_speedup_random']}, "
        f"{known['tbb_speedup_weighted']} and {known['tbb_speedup_weighted_greedy']:.0f} on 16 threads; "
        f"below {known['slower_below_edges']:,.0f} edges its parallel algorithm is slower. Times are from "
        "other machines and cannot be compared; the trend with the number of edges can."
    )
    pictures = [
        _figure(study, "times", plots.speedups, "Figure 5, speedups."),
        _figure(study, "times", plots.times, "Times by vertices and edges."),
        _figure(study, "threads", plots.threads, "Figure 4.") if done(study, "threads") else None,
    ]
    return join(text, pictures, plain_table("Times.", names, rows, "coverage"))


def _time_cells(found: JsonObject) -> list[Html]:
    order = ("serial_random", "serial_weighted", "greedy", *METHODS)
    times = [formats.seconds(found["seconds"][name]) for name in order]
    quotients = [
        formats.digits3(found["speedups"][name]) for name in ("random", "weighted", "weighted_greedy")
    ]
    counts = [formats.count(found["vertices"]), formats.count(found["edges"])]
    return [cell(text) for text in (*counts, *times, *quotients)]


def method(study: JsonObject) -> Html:
    """How it was measured."""
    threads = {case["times"]["threads"] for case in done(study, "times")}
    used = f"Parallel methods on the CPU use {max(threads)} threads. " if threads else ""
    return join(
        paragraph(
            "Weights are the magnitudes of the off-diagonal entries, |A| + |A|ᵀ where these are not "
            "symmetric. Averages are over random orders of the vertices (the paper's permutations): seeds "
            "of Algorithm 1's order and of the proposals' hash. Times are medians, without making the "
            "graph, on a copy of the matrix with its vertices in random order, as in the paper. "
            f"{used}Algorithms 1 and 2 use one."
        ),
        paragraph(
            "Ties between equal weights are broken by a random order of the vertices in Algorithms 1 and "
            "3, and by a hash of the edge in Algorithm 2 and our locally dominant and suitor matchings, "
            "which therefore agree."
        ),
    )
