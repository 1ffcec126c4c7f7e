"""Turn finished runs of ``linforest study`` into a page of the documentation.

    linforest study --full --device cuda --offline --only coverage,performance --out run1
    linforest study aniso1 aniso2 --full --device cuda --offline --only convergence --out run2
    python docs/reproduce.py run1 run2

writes docs/papers/linear_forests_measured.md, with its pictures in docs/papers/linear_forests/.
"""

from __future__ import annotations

import argparse
import io
import json
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from statistics import fmean
from typing import Any

from PIL import Image

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from linforest_precond.study import formats  # noqa: E402
from linforest_precond.study.csv_tables import dig, done  # noqa: E402
from linforest_precond.study.forests import performance_tables as times  # noqa: E402
from linforest_precond.study.forests import tables  # noqa: E402
from linforest_precond.study.forests.paper import figures  # noqa: E402
from linforest_precond.study.forests.report.performance import launch_median  # noqa: E402
from linforest_precond.study.report.header import what_was_run  # noqa: E402

PICTURES = "linear_forests"
RESOLUTION, COLOURS = 90, 64
DEGREES = tables.DEGREES
# On the CPU there are no launches, and no single precision.
ON_GPU = {"proposition_throughput", "scan_launches"}
PARTS = {"convergence": "convergence"}


def main(arguments: list[str] | None = None) -> Path:
    """Write the page; returns its path."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("study", type=Path, nargs="+", help="folders of finished runs, with study.json")
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "papers", help="folder for the page")
    options = parser.parse_args(arguments)
    runs = [json.loads((run / "study.json").read_text(encoding="utf-8")) for run in options.study]
    study = merged(runs)
    page = options.out / "linear_forests_measured.md"
    options.out.mkdir(parents=True, exist_ok=True)
    page.write_text(document(study, draw(study, options.out / PICTURES)), encoding="utf-8")
    return page


def merged(runs: list[dict[str, Any]]) -> dict[str, Any]:
    """One study of several runs: a case has the parts that any of them has measured."""
    cases: dict[str, dict[str, Any]] = {}
    for case in (case for run in runs for case in run["cases"]):
        found = cases.setdefault(case["name"], case)
        found |= {key: value for key, value in case.items() if value is not None}
    return runs[0] | {"finished": runs[-1].get("finished"), "cases": list(cases.values())}


def draw(study: dict[str, Any], folder: Path) -> set[str]:
    """Write the figures of the parts with results as small PNG files; returns their names."""
    folder.mkdir(parents=True, exist_ok=True)
    on_gpu = study.get("device") == "cuda"
    names = {name for name in figures({"cases": []}) if done(study, PARTS.get(name, "performance"))}
    wanted = names if on_gpu else names - ON_GPU
    for name, figure in figures(study).items():
        if name in wanted:
            save(figure, folder / f"{name}.png")
    return wanted


def save(figure: Any, path: Path) -> None:
    """A PNG file with a palette: a third of the size."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=RESOLUTION)
    Image.open(buffer).convert("RGB").quantize(COLOURS).save(path, optimize=True)


def document(study: dict[str, Any], pictures: set[str]) -> str:
    """The page as Markdown."""
    sections = (head, sizes, table4, table5, ties, charges, sums, convergence, propositions, ways, problems)
    text = "\n\n".join(filter(None, (section(study) for section in sections)))
    for name in figures({"cases": []}):
        link = f"![{name.replace('_', ' ')}]({PICTURES}/{name}.png)" if name in pictures else ""
        text = text.replace(f"<{name}>", link)
    return text + "\n"


def head(study: dict[str, Any]) -> str:
    return (
        "# Linear forests: the measured tables and figures\n\n"
        "Made by `python docs/reproduce.py` from a run of `linforest study`. Measured values, and in "
        "parentheses those of Klein & Strzodka (2022), "
        "[doi:10.1145/3545008.3545035](https://doi.org/10.1145/3545008.3545035). An asterisk marks a "
        "generated stand-in: a different matrix, whose values need not agree. "
        "[Reproducing the paper](linear_forests.md) explains the differences.\n\n" + what_was_run(study)
    )


def name_of(case: dict[str, Any]) -> str:
    mark = "\\*" if formats.is_standin(case) else ""
    return formats.title(case).replace("_", "\\_") + mark


def markdown(columns: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """A table: the first column is text, the others are numbers."""
    columns = list(columns)
    lines = [columns, ["---", *(["---:"] * (len(columns) - 1))], *map(list, rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def section(title: str, text: str, columns: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    rows = list(rows)
    return f"## {title}\n\n{text}\n\n{markdown(columns, rows)}" if rows else ""


def compared(case: dict[str, Any], quantity: tables.Quantity) -> str:
    """Ours, and the published value in parentheses; bold where they differ by more than 0.01."""
    ours, theirs, _, departs = tables.compare(case, quantity)
    digits = quantity.digits or 0
    text = formats.count(ours) if digits == 0 else formats.fixed(ours, digits)
    shown = f"**{text}**" if departs else text
    published = formats.count(theirs) if digits == 0 else formats.fixed(theirs, digits)
    return shown if theirs is None else f"{shown} ({published})"


def sizes(study: dict[str, Any]) -> str:
    columns = ("matrix", "N", "entries", "mean degree", "symmetric")
    rows = [
        [
            name_of(case),
            *(compared(case, quantity) for quantity in tables.TABLE3[1:]),
            formats.yes_no(case.get("symmetric")),
        ]
        for case in done(study)
    ]
    return section("Table 3: matrices", "Rows and entries.", columns, rows)


def compared_rows(study: dict[str, Any], quantities: Iterable[tables.Quantity]) -> list[list[str]]:
    cases = done(study, "coverage")
    return [[name_of(case), *(compared(case, quantity) for quantity in quantities)] for case in cases]


def table4(study: dict[str, Any]) -> str:
    configurations = [f"m = {m}, k_m = {k_m}" for m, k_m in tables.CONFIGURATIONS]
    columns = ["matrix"]
    columns += [f"{each}: {name}" for each in configurations for name in ("c(5)", "c(max)", "M_max")]
    rules = study.get("settings") or {}
    text = (
        "Coverage of the [0,2]-factor after five iterations and when it is maximal, and the iterations until "
        f"then; charges by {rules.get('charge')}, ties by {rules.get('ties')}, random ties for greedy."
    )
    rows = compared_rows(study, tables.TABLE4)
    return section("Table 4: configurations", text, [*columns, "greedy"], rows)


def table5(study: dict[str, Any]) -> str:
    columns = ["matrix", "c_id"]
    columns += [f"n = {n}, {kind}" for n in DEGREES for kind in ("parallel", "greedy")]
    columns += [f"2x2 blocks, m = {m}" for m in tables.BLOCK_PERIODS]
    text = "Coverage of the [0,n]-factors after five iterations, and of the 2x2 block tridiagonal part."
    return section("Table 5: degrees", text, columns, compared_rows(study, tables.TABLE5))


def ties(study: dict[str, Any]) -> str:
    """Both orders among equal weights, and ours."""
    names = ("index", "random", "auto")
    columns = ["matrix", *(f"n = {n}, {rule}" for n in (1, 2) for rule in names)]
    columns += [f"greedy n = {n}, {rule}" for n in (1, 2) for rule in names[:2]]
    rows = [
        [
            name_of(case),
            *(coverage(case, "rules", rule, "parallel", str(n)) for n in (1, 2) for rule in names),
            *(coverage(case, "rules", rule, "sequential", str(n)) for n in (1, 2) for rule in names[:2]),
        ]
        for case in done(study, "coverage")
    ]
    text = "The same matrix with each order among equal weights; `auto` is the library's default."
    return section("Ties", text, columns, rows)


def coverage(case: dict[str, Any], *keys: str) -> str:
    return formats.fixed(dig(case, "coverage", *keys), 3)


def charges(study: dict[str, Any]) -> str:
    names = ("md5", "splitmix64")
    columns = ["matrix", *(f"n = {n}, {name}" for n in DEGREES for name in names), "spread of the seeds"]
    rows = []
    for case in done(study, "coverage"):
        found = {(n, name): dig(case, "coverage", "charges", name, str(n)) for n in DEGREES for name in names}
        if all(found.values()):
            spread = max(max(each) - min(each) for each in found.values())
            means = [formats.fixed(fmean(each), 4) for each in found.values()]
            rows.append([name_of(case), *means, formats.fixed(spread, 4)])
    text = "Coverages with charges by MD5, as in the paper, and by the library's hash: means over seeds."
    return section("MD5 and splitmix64", text, columns, rows)


def sums(study: dict[str, Any]) -> str:
    columns = ("matrix", "partial sums", "c_id", "blocks, m = 1", "blocks, m = 5")
    rows = []
    for case in done(study, "coverage"):
        for each in dig(case, "coverage", "single_precision") or []:
            blocks = [dig(case, "coverage", "block", str(m)) for m in tables.BLOCK_PERIODS]
            scaled = [formats.fixed(value * each["scale"], 3) for value in blocks]
            rows.append([name_of(case), str(each["parts"]), formats.fixed(each["identity"], 3), *scaled])
    text = "Coverages of the grids if all sums are accumulated in single precision."
    return section("Sums in single precision", text, columns, rows)


def convergence(study: dict[str, Any]) -> str:
    cases = done(study, "convergence")
    names = list(dict.fromkeys(run["precond"] for case in cases for run in case["convergence"]["runs"]))
    rows = [[name_of(case), *(ending(case, name) for name in names)] for case in cases]
    text = (
        "Iterations of BiCGStab until the relative residual is 1e-10, and the coverage. A run that did not "
        "converge has its status instead: the paper's preconditioners are not repaired.\n\n<convergence>"
    )
    return section("Figure 4: convergence", text, ["matrix", *names], rows)


def ending(case: dict[str, Any], precond: str) -> str:
    run = next((run for run in case["convergence"]["runs"] if run["precond"] == precond), None)
    if run is None:
        return formats.NONE
    count = formats.count(run["iterations"])
    end = count if run["status"] == "CONVERGED" else f"{run['status'].lower()} at {count}"
    return f"{end}; {formats.coverage(run.get('coverage'))}"


def propositions(study: dict[str, Any]) -> str:
    columns = ["matrix", "precision", "SpMV", "SpMV GB/s"]
    columns += [f"k {sign} 0, n = {n}" for sign in ("=", ">") for n in DEGREES]
    columns += ["GB/s, k = 0, n = 2", "GB/s, k > 0, n = 2"]
    rows = [
        proposition_row(case, dtype)
        for case in done(study, "performance")
        for dtype in times.precisions(case["performance"])
    ]
    device = "cuSPARSE" if study.get("device") == "cuda" else "SciPy, on the CPU instead of the GPU"
    text = (
        f"Times of one proposition in products by {device}, and throughputs by the bytes of the paper's "
        "table 2.\n\n<propositions>\n\n<proposition_throughput>"
    )
    return section("Figure 3: propositions", text, columns, rows)


def proposition_row(case: dict[str, Any], dtype: str) -> list[str]:
    timings = case["performance"]
    found = {(k, n): times.proposition(timings, dtype, k, n) for k in (0, 1) for n in DEGREES}
    relative = [times.per_spmv(timings, row.get("seconds"), dtype) for row in found.values()]
    return [
        name_of(case),
        dtype,
        formats.seconds(times.spmv_seconds(timings, dtype)),
        formats.digits3(dig(timings, "spmv", dtype, "gb_per_s")),
        *(formats.fixed(value, 2) for value in relative),
        *(formats.digits3(found[k, 2].get("gb_per_s")) for k in (0, 1)),
    ]


def ways(study: dict[str, Any]) -> str:
    """Figures 5 and 6."""
    columns = ("matrix", "Algorithm 3", "ours", "ratio", "sequential", "radix sort", "ours", "ratio")
    columns += ("setup, paper's way", "ours", "ratio", "cycles GB/s", "paths GB/s", "copy GB/s")
    rows = [way_row(case) for case in done(study, "performance")]
    text = (
        "Breaking cycles and labelling paths, the permutation, and the whole setup: by the paper's methods "
        "and by ours, which give the same result; the median throughput of the launches of Algorithm 3."
        "\n\n<scan_launches>\n\n<scan_times>\n\n<setup_breakdown>"
    )
    return section("Figures 5 and 6: scans and setups", text, columns, rows)


def way_row(case: dict[str, Any]) -> list[str]:
    timings = case["performance"]
    pairs: list[tuple[tuple[str, ...], tuple[str, ...], Callable[[Any], float | None]]] = [
        (("scans", "seconds"), times.METHODS, times.scan_ratio),
        (("orderings",), times.PERMUTATIONS, times.ordering_ratio),
        (("setup_seconds",), times.WAYS, times.setup_ratio),
    ]
    triples = [
        [*(formats.seconds(dig(timings, *keys, each)) for each in names), formats.digits3(ratio(timings))]
        for keys, names, ratio in pairs
    ]
    sequential = formats.seconds(timings.get("sequential_scan_seconds"))
    speeds = [launch_median(timings, "cycles"), launch_median(timings, "paths"), timings.get("copy_gb_per_s")]
    throughputs = [formats.digits3(speed) for speed in speeds]
    return [name_of(case), *triples[0], sequential, *triples[1], *triples[2], *throughputs]


def problems(study: dict[str, Any]) -> str:
    rows = [
        [name_of(case), str(case.get("status")), str(case.get("error")).partition("\n")[0]]
        for case in study["cases"]
        if case.get("status") != "done"
    ]
    return section("Not measured", "Matrices without results.", ("matrix", "status", "reason"), rows)


if __name__ == "__main__":
    print(main())
