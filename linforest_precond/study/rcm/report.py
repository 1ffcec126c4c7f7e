"""The report: sections, summary and description of the measurements."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from linforest_precond.study import drawing, formats
from linforest_precond.study.csv_tables import dig, done
from linforest_precond.study.json_types import JsonObject
from linforest_precond.study.paper import Finding
from linforest_precond.study.rcm import figures
from linforest_precond.study.rcm.coverage import COVERAGE
from linforest_precond.study.rcm.measures import VARIANTS
from linforest_precond.study.rcm.published import published_number
from linforest_precond.study.rcm.tables import APPROACHES, ORDERS, measured, paper_seconds
from linforest_precond.study.report.blocks import (
    Head,
    Section,
    case_name,
    cell,
    compared,
    coverage_list,
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

NOTES = (
    "The paper's average front is the mean over vertices of the width of their own front: 667 on the 1000 × "
    "1000 grid, whose fronts are 500 wide on average. It is compared as such.",
    "Degrees count the diagonal, as in the paper. From nd12k on, the maximum valences of table I seem to be "
    "one row too low: it prints 98303 for nlpkkt200, which follows mycielskian18.",
    "Bandwidths after reordering depend on the start, which the paper chooses at random first and we by the "
    "George-Liu search from the vertex of lowest degree; among vertices of equal degree ours takes the lower "
    "index.",
    "The paper's times are those of an AMD Ryzen 3900X (12 cores) and an NVIDIA TITAN V, the best of 1 to 24 "
    "threads; ours are those of the machine above with all threads.",
    "HSL, MATLAB and cuSolver were not run; SciPy takes the place of HSL as the base of speed-ups. The "
    "paper's unordered code is Reorderlib.",
)


def sections(study: JsonObject) -> list[Section]:
    return [
        Section("orders", "Bandwidths and fronts", _orders(study)),
        Section("times", "Times", _times(study)),
        Section("threads", "Threads", _threads(study)),
        Section("batches", "The parts of the batch method", _batches(study)),
        Section("coverage", "In the paper, and here", coverage_list(COVERAGE)),
    ]


def _orders(study: JsonObject) -> Html:
    cases = done(study, "orders")
    if not cases:
        return not_run()
    heads = [
        "Matrix",
        "Rows",
        "Entries",
        "Largest degree",
        "Average front",
        "Bandwidth",
        "Reordered",
        "Same order",
    ]
    rows = [row(case_name(case), _order_cells(case)) for case in cases]
    caption = "Table I, its columns that do not depend on the machine."
    return join(table(caption, [[Head(head) for head in heads]], [rows]), *map(paragraph, NOTES[:3]))


def _order_cells(case: JsonObject) -> list[Html]:
    sizes = [cell(formats.count(case.get(name))) for name in ("rows", "nnz")]
    same = cell(formats.yes_no(dig(case, "orders", "identical")))
    return [*sizes, *(_compared_order(case, name) for name in ORDERS), same]


def _compared_order(case: JsonObject, name: str) -> Html:
    ours, theirs = dig(case, *ORDERS[name]), published_number(case.get("paper"), name)
    if ours is None or theirs is None:
        return compared(_rounded(ours), None)
    change = None
    if case.get("at_paper_size"):
        change = formats.difference(round(ours) - theirs, 0)
    return compared(_rounded(ours), formats.count(theirs), change, departs=round(ours) != theirs)


def _rounded(value: float | None) -> str:
    return formats.count(None if value is None else round(value))


def _times(study: JsonObject) -> Html:
    cases = done(study, "times")
    if not cases:
        return not_run()
    shown = [name for name in APPROACHES if any(measured(case, name, study["device"]) for case in cases)]
    heads = [Head("Matrix"), Head("SciPy"), *map(Head, shown)]
    rows = [row(case_name(case), _time_cells(case, shown, study["device"])) for case in cases]
    pictures = _figures(
        (figures.speedup_bars(study), "Figure 2", "Speed-up of each approach over SciPy."),
        (figures.breakdown(study), "Figure 4", "The order from a given start, and the search for one."),
    )
    caption = "Table I, times; the start is given, except for SciPy, which searches for none."
    return join(pictures, table(caption, [heads], [rows]), *map(paragraph, NOTES[3:]))


def _time_cells(case: JsonObject, shown: list[str], device: str) -> list[Html]:
    cells = [cell(formats.seconds(dig(case, "times", "scipy")))]
    for name in shown:
        theirs = paper_seconds(case, name)
        cells.append(
            compared(
                formats.seconds(measured(case, name, device)),
                None if theirs is None else formats.seconds(theirs),
            )
        )
    return cells


def _threads(study: JsonObject) -> Html:
    if not done(study, "threads"):
        return not_run()
    return _figures(
        (figures.thread_heatmap(study), "Figure 5", "Speed-up of batches over the serial method by threads."),
        (figures.stage_shares(study), "Figure 6", "Shares of the stages, averaged over the matrices."),
    )


def _batches(study: JsonObject) -> Html:
    cases = done(study, "batches")
    if not cases:
        return not_run()
    heads = [Head("Matrix"), *map(Head, VARIANTS)]
    rows = [row(case_name(case), _variant_cells(case)) for case in cases]
    text = "Batches of Algorithm 5 with overestimated numbers: generated, dequeued and executed."
    shares = _figures((figures.batch_shares(study), "Figure 3", text))
    return join(shares, table("Time of the batch method, its parts switched on.", [heads], [rows]))


def _variant_cells(case: JsonObject) -> list[Html]:
    seconds = {name: dig(case, "batches", name, "seconds") for name in VARIANTS}
    best = min((found for found in seconds.values() if found), default=None)
    return [cell(formats.seconds(found), best=found == best) for found in seconds.values()]


def _figures(*drawn: tuple[Figure, str, str]) -> Html:
    return tag("div", [_figure(*each) for each in drawn], class_="figures")


def _figure(drawn: Figure, name: str, text: str) -> Html:
    return figure(
        picture(drawing.as_svg(drawn), f"{text} The numbers are in the tables."), tag("b", name), f". {text}"
    )


def findings(study: JsonObject) -> list[Finding]:
    """
    The main results as sentences.

    Examples
    --------
    >>> from linforest_precond.study.rcm.report import findings
    >>> case = {"name": "a", "status": "done", "orders": {"identical": True}}
    >>> print(findings({"device": "cpu", "cases": [case]})[0].sentence)
    All methods gave the same order on the one matrix.
    """
    makers = (_same_order, _paper_bandwidths, _fastest)
    return [finding for maker in makers if (finding := maker(study))]


def _same_order(study: JsonObject) -> Finding | None:
    found = [dig(case, "orders", "identical") for case in done(study, "orders")]
    if not found:
        return None
    where = "the one matrix" if len(found) == 1 else f"all {len(found)} matrices"
    if all(found):
        return Finding("One order", f"All methods gave the same order on {where}.")
    return Finding(
        "One order", f"The methods gave different orders on {found.count(False)} matrices: a defect."
    )


def _paper_bandwidths(study: JsonObject) -> Finding | None:
    due = [case for case in done(study, "orders") if case.get("at_paper_size") and case.get("paper")]
    if not due:
        return None
    pairs: list[tuple[Any, Any]] = [
        (dig(case, "orders", "reordered_bandwidth"), published_number(case["paper"], "reordered_bandwidth"))
        for case in due
    ]
    better = sum(ours <= theirs for ours, theirs in pairs)
    names = formats.listed([formats.label(case) for case in due][:4])
    text = (
        f"The reordered bandwidth is at most the published one on {better} of {len(due)} matrices ({names})"
    )
    return Finding("The paper", f"{text}.")


def _fastest(study: JsonObject) -> Finding | None:
    cases = done(study, "times")
    if not cases:
        return None
    device = "cuda" if any(dig(case, "times", "cuda") for case in cases) else "cpu"
    wins: dict[str, int] = {}
    for case in cases:
        times = {
            name: seconds
            for name, seconds in dig(case, "times", device).items()
            if name not in ("auto", "start searched for")
        }
        best = min(times, key=lambda name: times[name])
        wins[best] = wins.get(best, 0) + 1
    words = [f"{name} on {count}" for name, count in sorted(wins.items(), key=lambda item: -item[1])]
    place = {"cpu": "the CPU", "cuda": "the GPU"}[device]
    return Finding("Fastest", f"On {place}: {formats.listed(words)} of {len(cases)} matrices.")


def method(study: JsonObject) -> Html:
    """How it was measured."""
    return join(
        paragraph(
            "Times are medians of up to five calls after one that compiles, of the order of a checked "
            "pattern from the first vertex of its largest component. On the GPU they include the connected "
            "components and the sort of all rows by degree, which the traversals need."
        ),
        paragraph(
            "The stages of the batch method were timed in a run of their own; reading the clock slows it "
            "down by some percent. Batches have at most 64 vertices and 1024 entries."
        ),
    )
