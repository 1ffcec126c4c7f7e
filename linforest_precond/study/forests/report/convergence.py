"""Convergence of BiCGStab: figure 4 of the paper, and its numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

from linforest_precond.study import drawing, formats
from linforest_precond.study.csv_tables import done
from linforest_precond.study.forests import plots
from linforest_precond.study.forests.findings import converged, has_large_error, total_seconds
from linforest_precond.study.forests.report.solves import advice
from linforest_precond.study.forests.tables import published_coverage
from linforest_precond.study.json_types import JsonObject
from linforest_precond.study.report.blocks import (
    Head,
    badge,
    case_name,
    cell,
    compared,
    figure,
    not_run,
    paragraph,
    picture,
    table,
)
from linforest_precond.study.report.markup import Html, join, tag

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FURTHER_ROWS = {
    "Multilevel": "Multilevel, one V-cycle of algebraic multigrid (lf.multilevel)",
    "ILU(0)": "ILU(0), incomplete triangular factors (lf.ilu)",
    "Approximate inverse": "Approximate inverse, sparse products alone (lf.approximate_inverse)",
}
LARGE_ERROR = (
    "the solve converged, but the solution has less than half of the digits that the residual promises, "
    "because the matrix is ill-conditioned"
)


def convergence(study: JsonObject) -> Html:
    """Panels and table."""
    cases = done(study, "convergence")
    if not cases:
        return not_run()
    panels = tag("div", [_panel(case) for case in cases], class_="panels")
    return join(_explanation(), _further(cases), _legend(cases), panels, _table(cases))


def _explanation() -> Html:
    return paragraph(
        "Figure 4 of the paper: BiCGStab with the paper’s preconditioners. Jacobi uses the diagonal, TriScal "
        "the tridiagonal part in the original order, AlgTriScal the tridiagonal part along a linear forest "
        "(M = 5), and AlgTriBlock the 2×2 block tridiagonal part along a linear forest of vertex pairs, with "
        "m = 1 and m = 5. These solve with the tridiagonal part as it is, as in the paper, so that solves "
        "may break down. AlgTriScal+ and AlgTriBlock+ are ours: iterations and m are chosen automatically, "
        "pairs across paths are tried, and parts that are not definite are repaired. The dotted line marks "
        "the tolerance."
    )


def _further(cases: list[JsonObject]) -> Html | None:
    """What the rows are that are neither the paper's nor along forests."""
    ran = {run["precond"] for case in cases for run in case["convergence"]["runs"]}
    told = [text for name, text in FURTHER_ROWS.items() if name in ran]
    return paragraph("Asked for beyond these: ", "; ".join(told), ".") if told else None


def _legend(cases: list[JsonObject]) -> Html:
    """One legend for all panels, in text."""
    names = dict.fromkeys(run["precond"] for case in cases for run in case["convergence"]["runs"])
    colours = [tag("li", _swatch(f"border-top-color: {plots.colour_of(name)}"), name) for name in names]
    kinds = [
        tag("li", _swatch(), "relative residual"),
        tag("li", _swatch("border-top-style: dashed"), "forward error"),
    ]
    return tag("ul", colours, kinds, class_="legend")


def _swatch(style: str | None = None) -> Html:
    return tag("span", class_="swatch", style=style, aria_hidden="true")


def _panel(case: JsonObject) -> Html:
    panel = plots.convergence_panel(case, title=False, legend=False)
    svg = drawing.as_svg(cast("Figure", panel.figure))
    return figure(picture(svg, _alt(case)), case_name(case))


def _alt(case: JsonObject) -> str:
    """Alternative text of a panel."""
    runs = case["convergence"]["runs"]
    ends = [f"{run['precond']} {_ended(run)} after {formats.count(run.get('iterations'))}" for run in runs]
    return f"Residual and error by iterations on {formats.label(case)}: {'; '.join(ends)}."


def _ended(run: JsonObject) -> str:
    return str(run.get("status") or "unknown").lower()


def _table(cases: list[JsonObject]) -> Html:
    names = (
        "Iterations",
        "Median",
        "Status",
        "Setup",
        "Solve",
        "Total",
        "Residual",
        "Error",
        "Coverage",
    )
    explained = {
        "Median": "of the iterations over random symmetric permutations; ∞ where half did not converge",
        "Total": "setup and solve",
        "Residual": "true relative residual at the end",
        "Error": f"forward relative error at the end; “large”: {LARGE_ERROR}",
        "Coverage": "share of the off-diagonal weight that lies in the bands; in small print the paper’s",
    }
    heads = [
        [
            Head("Matrix"),
            Head("Preconditioner"),
            *(Head(name, explained=explained.get(name)) for name in names),
        ]
    ]
    caption = "Convergence in numbers. Bold: the best value of each matrix among the converged solves."
    return table(caption, heads, map(_body, cases), "runs")


def _body(case: JsonObject) -> list[Html]:
    """The rows of one matrix, with its name in the first."""
    runs = case["convergence"]["runs"]
    name = tag("th", case_name(case), scope="rowgroup", rowspan=len(runs))
    permuted = bool(case["convergence"].get("permutations"))
    return [tag("tr", name if run is runs[0] else None, _cells(case, run, permuted)) for run in runs]


def _cells(case: JsonObject, run: JsonObject, permuted: bool) -> list[Html]:
    runs = case["convergence"]["runs"]
    ended = "ok" if converged(run) else "failed"
    return [
        tag(
            "th", _swatch(f"border-top-color: {plots.colour_of(run['precond'])}"), run["precond"], scope="row"
        ),
        _least(run, runs, _of("iterations"), formats.count),
        _least(run, runs, _of("median_iterations"), _median if permuted else formats.count),
        tag("td", badge(_ended(run), ended, advice(run)), class_="text"),
        _least(run, runs, _of("setup_seconds"), formats.seconds),
        _least(run, runs, _of("solve_seconds"), formats.seconds),
        _least(run, runs, total_seconds, formats.seconds),
        cell(formats.small(run.get("residual"))),
        _error(case, run, runs),
        _coverage(case, run, runs),
    ]


def _error(case: JsonObject, run: JsonObject, runs: list[JsonObject]) -> Html:
    """The forward error, marked where it is large although the solve converged."""
    ours = _least(run, runs, _of("error"), formats.small)
    if not has_large_error(run, case["convergence"].get("rtol")):
        return ours
    return tag("td", formats.small(run["error"]), " ", badge("large", "missing", LARGE_ERROR))


def _median(count: float | None) -> str:
    """JSON has no infinity: a missing median means that half of the permuted systems did not converge."""
    return "∞" if formats.missing(count) else formats.count(count)


def _of(key: str) -> Callable[[JsonObject], Any]:
    return lambda run: run.get(key)


def _least(
    run: JsonObject,
    runs: list[JsonObject],
    value: Callable[[JsonObject], Any],
    form: Callable[[Any], str],
) -> Html:
    """A cell, bold where it is the least of the converged solves."""
    values = [value(other) for other in runs if converged(other) and not formats.missing(value(other))]
    ours = value(run)
    return cell(form(ours), best=converged(run) and len(values) > 1 and ours == min(values))


def _coverage(case: JsonObject, run: JsonObject, runs: list[JsonObject]) -> Html:
    """Bold where it is the greatest; the published one in small print."""
    values = [other["coverage"] for other in runs if not formats.missing(other.get("coverage"))]
    ours, theirs = run.get("coverage"), published_coverage(case, run["precond"])
    best = len(values) > 1 and ours == max(values)
    text = tag("strong", formats.coverage(ours)) if best else formats.coverage(ours)
    return compared(text, None if theirs is None else formats.coverage(theirs))
