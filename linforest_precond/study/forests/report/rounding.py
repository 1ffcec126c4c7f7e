"""What does not change the coverages, and what may have: hashes of charges, and sums in single precision."""

from __future__ import annotations

from statistics import fmean
from typing import Any

from linforest_precond.study.csv_tables import dig
from linforest_precond.study.forests.tables import BLOCK_PERIODS, DEGREES, of_the_paper, published
from linforest_precond.study.formats import coverage, fixed
from linforest_precond.study.json_types import JsonObject
from linforest_precond.study.report.blocks import Head, case_name, cell, compared, paragraph, row, table
from linforest_precond.study.report.markup import Html, join, tag

HASHES = ("md5", "splitmix64")


def charges(cases: list[JsonObject]) -> Html | None:
    """Coverages with charges drawn by MD5, as in the paper, and by the library's default."""
    cases = [case for case in cases if case["coverage"].get("charges")]
    if not cases:
        return None
    top = [Head("Matrix", rows=2), *(Head(f"n = {n}", 3) for n in DEGREES)]
    spread = Head("spread", explained="of MD5’s coverages over the seeds: the greatest less the least")
    below = [Head("MD5"), Head("splitmix64"), spread] * len(DEGREES)
    rows = [row(case_name(case), _hash_cells(case["coverage"]["charges"])) for case in cases]
    caption = "MD5 and splitmix64. Coverages with both hashes of the charges, means over three seeds."
    return table(caption, [top, below], [rows], "coverage")


def _hash_cells(found: dict[str, Any]) -> list[Html]:
    cells = []
    for n in DEGREES:
        by_seed = [dig(found, name, str(n)) or [] for name in HASHES]
        means = [fixed(fmean(each), 4) if each else "–" for each in by_seed]
        spread = max(by_seed[0]) - min(by_seed[0]) if by_seed[0] else None
        cells += [cell(text) for text in (*means, fixed(spread, 4))]
    return cells


def single_precision(cases: list[JsonObject]) -> Html | None:
    """c_id and blocks of the ANISO grids with sums in single precision."""
    cases = [case for case in cases if case["coverage"].get("single_precision")]
    if not cases:
        return None
    heads = [
        [
            Head("Matrix"),
            Head("Sums"),
            Head(tag("span", "c", tag("sub", "id"))),
            *(Head(f"2×2 blocks, m = {m}") for m in BLOCK_PERIODS),
        ]
    ]
    caption = "Sums in single precision. Coverages of the grids by the number of float32 partial sums."
    return join(_reason(), table(caption, heads, [_grid(case) for case in cases], "runs"))


def _reason() -> Html:
    return paragraph(
        "The stencils of ANISO1, 2 and 3 have off-diagonal weights of 2 · 1.0 + 4 · 0.2 + 2 · 0.1 = 3.0, of "
        "which the two strong couplings are 2.0: the share 2/3 is exact away from the boundary, and it is "
        "all that the strong couplings along the lines of the grid can cover. The paper prints 0.68 for "
        "these in the columns c_id and blocks, and 0.67 for the factors. The hypothesis: c_id and blocks "
        "were divided by a sum in single precision, which loses small weights (beyond 2²² a running sum "
        "ignores 0.2). At the paper’s size, four partial sums give the printed values."
    )


def _grid(case: JsonObject) -> list[Html]:
    """Exact sums, then a row for each number of partial sums."""
    found = case["coverage"]
    exact = {"identity": found.get("identity"), "scale": 1.0}
    rows: list[tuple[str, JsonObject]] = [("double precision", exact)]
    for each in found["single_precision"]:
        rows.append((f"float32, {each['parts']} partial sum{'s' if each['parts'] > 1 else ''}", each))
    name = tag("th", case_name(case), scope="rowgroup", rowspan=len(rows))
    return [
        tag("tr", name if place == 0 else None, tag("th", text, scope="row"), _grid_cells(case, sums))
        for place, (text, sums) in enumerate(rows)
    ]


def _grid_cells(case: JsonObject, sums: JsonObject) -> list[Html]:
    """The printed value is shown, and agreement to its two digits is set in bold."""
    paper = published(case)
    blocks = [dig(case, "coverage", "block", str(m)) for m in BLOCK_PERIODS]
    ours = [sums["identity"], *(None if value is None else value * sums["scale"] for value in blocks)]
    if paper is None:
        return [cell(fixed(value, 3)) for value in ours]
    theirs = [paper.table5.c_id, *(paper.table5.block[m] for m in BLOCK_PERIODS)]
    return [_printed(value, wanted, of_the_paper(case)) for value, wanted in zip(ours, theirs)]


def _printed(value: float | None, wanted: float, due: bool) -> Html:
    met = due and value is not None and round(value, 2) == wanted
    return compared(tag("strong", fixed(value, 3)) if met else fixed(value, 3), coverage(wanted))
