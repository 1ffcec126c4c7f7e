"""The results as Markdown tables: on the screen, or in benchmarks/PERFORMANCE.md between two markers.

    python -m benchmarks.pages.table [--write]

A row whose backend, or the host code above it, has changed since the measurement is marked `older code`.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from benchmarks.measures import provenance, results
from benchmarks.systems import cases

DOCUMENT = provenance.ROOT / "benchmarks" / "PERFORMANCE.md"
BEGIN, END = "<!-- performance:begin -->", "<!-- performance:end -->"
NOTHING = "No measurements are stored yet."
OLDER = "older code"

NAMES = {
    "python": "Python",
    "numpy": "NumPy",
    "scipy": "SciPy",
    "numba": "Numba",
    "cupy": "CuPy",
    "cuda_runtime": "CUDA runtime",
}
SECTIONS = {
    "speed": "Setup on the GPU: time from an idle device, synchronizations included, in units of one SpMV: "
    "cupyx's `A @ x` with the same matrix in the same run, calls queued so that the launch is hidden",
    "breakdown": "Breakdown of the default setup by kernels, in units of one SpMV",
    "memory": "Peak device memory of the setup beyond the matrix, results included, in units of the matrix",
    "skew": "Setup on the GPU with one very long row, in units of the time on a regular matrix",
    "copy": "Copy bandwidth of the GPU, read plus written bytes",
    "solves": "Tridiagonal solves on the GPU, calls queued: speed relative to a copy of the same bytes, and "
    "relative to cuSPARSE on the same system. N rows in blocks of size b count as (3b + 2)N words: three "
    "bands, right-hand side and solution. For a symmetric matrix the kernels read two bands only, and halos "
    "are read by both tiles: 4N words plus halos for b = 1. Where the couplings do not decay within a halo, "
    "there is none: reduction passes of 3N words each compute the values that enter every tile",
    "columns": "Several right-hand sides at once on the GPU, in units of the time of one",
    "operators": "Preconditioners on the GPU: time in units of one SpMV; setup and update from an idle "
    "device, synchronizations included",
    "setups": "Setups on the GPU from an idle device, synchronizations included: of a small matrix, and of "
    "one whose entries need 64-bit indices",
    "stand-in setups": "Setups of stand-ins for matrices of the paper on the GPU from an idle device, "
    "synchronizations included, in units of one SpMV of the same precision",
    "line smoothers": "Setups of multigrid that smooths along paths, on the GPU from an idle device",
    "stacks": "Many small systems with one pattern at once, `lf.tridiagonal(A, values=V)`, in units of the "
    "time for one system of as many rows; on the GPU from an idle device",
    "held": "Device memory of a preconditioner, in units of the matrix",
    "products": "Sparse matrix-vector products inside the Krylov solvers on the GPU, calls queued: speed "
    "relative to cupyx's `A @ x`",
    "small iterations": "Iterations of a Krylov solver on a small system on the GPU, launches and "
    "synchronizations included, setup excluded: speed relative to cupyx on the same system",
    "iterations": "Iterations of a Krylov solver on the GPU without a preconditioner, in units of the time "
    "of cupyx on the same system",
    "preconditioned iterations": "Iterations of a Krylov solver on the GPU with `lf.tridiagonal(A)`, in "
    "units of the time of its products alone, calls queued: one `A @ x` of cupyx and one `M @ r` for cg, two "
    "of each for bicgstab. With `reorder=True`, A is permuted once before, which is not timed",
    "solution": f"Time on the GPU from the matrix to a relative residual of {cases.RTOL:g}, setup of the "
    "preconditioner included: cg for symmetric matrices, bicgstab for the others",
    "orders": "Cuthill-McKee orderings on the GPU from an idle device, synchronizations included: of a "
    "checked pattern, of whole calls, and connected components for comparison. The targets in milliseconds "
    "are the times of the published batch code",
    "matchings": "Matchings on the GPU from an idle device: of a checked graph, in units of one SpMV; and "
    "whole calls, input checks included: speed relative to "
    '`lf.graph.matching(A, method="greedy")` on one core of the CPU',
    "hierarchies": "Multigrid hierarchies on the GPU: speed of the setup, and of setup plus solve to a "
    f"relative residual of {cases.RTOL:g}, relative to PyAMG's smoothed aggregation with CG on the CPU, and "
    "to CG with other preconditioners on the GPU",
    "systems": "Multigrid on the GPU, `lf.multilevel(A)` with its default options: milliseconds of setup and "
    f"solve to a relative residual of {cases.RTOL:g}, with random right-hand sides",
    "systems in products": "Its setup from an idle device, and a preconditioned iteration, in units of one "
    "SpMV",
    "systems in milliseconds": "The same in milliseconds",
    "system updates": "`update` of the hierarchy with new values, in units of its setup",
    "system setups by kernels": "Breakdown of the setup by kernels",
    "cycles by level": "Breakdown of one cycle by level, each kernel timed alone",
    "systems by size": "Multigrid on the GPU on cubes of growing size: setup and solve, per unknown",
    "factors": "Applications of incomplete factors without fill-in on the GPU, calls queued: speed relative "
    "to `spilu(A, fill_factor=1).solve` of cupyx",
    "inverses": "Sparse approximate inverses on the GPU: time in units of one SpMV; setup from an idle "
    "device, synchronizations included",
    "matched rows": "Rows matched to columns on the GPU, whole calls from an idle device: speed relative to "
    "SciPy's `min_weight_full_bipartite_matching` on the CPU, which is timed once on fewer rows; its time is "
    "taken to be proportional to the rows, though it grows faster",
    "graphs": "Graph algorithms on the GPU, whole calls from an idle device: speed relative to SciPy's "
    "csgraph, or PyAMG, on the CPU of the same machine",
    "graphs in products": "The same times in units of one SpMV of the same matrix, calls queued",
    "edges": "The same times as edges per second; two stored entries are one edge of an undirected graph",
    "levels": "Breadth-first search with small frontiers on the GPU: time per level, a whole call divided by "
    "its number of levels",
    "largest": "Time, and edges per second, on a graph generated on the GPU",
    "cpu": "Setup on the CPU after compilation",
    "cpu small": "Setups and products on the CPU for about 2,000 rows, after compilation",
    "cpu solves": "Tridiagonal solves on one thread of the CPU, factored before, in units of the time of "
    "LAPACK on the same bands",
    "cpu iterations": "Iterations of a Krylov solver on the CPU without a preconditioner, in units of the "
    "time of SciPy on the same system",
    "cpu orders": '`lf.graph.reverse_cuthill_mckee(A, method="serial")` on the CPU, input checks included, '
    "in units of the time of SciPy, which does not search for a start vertex",
    "cpu graphs": "Graph algorithms on all threads of the CPU: speed relative to SciPy's csgraph, or PyAMG",
    "cpu busy": "Calls on all threads of the CPU beside two processes that never wait, in units of the time "
    "on an idle machine",
    "first calls": "First calls with empty caches, and in the next process: processor seconds on the CPU, "
    "elapsed ones on the GPU, imports not counted",
    "cpu batches": 'Batch Cuthill-McKee (`method="batch"`) on the CPU: speed relative to `method="serial"`',
}
# Sections with one line per matrix.
BY_MATRIX = ("memory",)
# Sections with one line per matrix and measurement.
BY_TYPE = (
    "solves",
    "stand-in setups",
    "line smoothers",
    "columns",
    "products",
    "cpu solves",
    "systems",
    "systems in products",
    "systems in milliseconds",
    "system updates",
    "system setups by kernels",
    "cycles by level",
    "systems by size",
)
# Sections that show the rows' notes.
NOTED = ("solution", "factors", "matched rows", "hierarchies", "systems", "systems by size")


def markdown(documents, hashes) -> str:
    """All results as Markdown; `hashes` are those of the present code."""
    parts = [part for document in documents for part in _document(document, hashes)]
    return "\n\n".join(parts) or NOTHING


def _document(document, hashes):
    quick = " Tiny sizes: a test of the program, not a measurement." if document["quick"] else ""
    yield f"{headline(document)} Medians.{quick}"
    older = {backend for backend, digest in document["sha256"].items() if digest != hashes[backend]}
    for section, title in SECTIONS.items():
        rows = [row for row in document["rows"] if row["section"] == section]
        if rows and all(row["backend"] in older for row in rows):
            yield f"{title} ({OLDER}):\n\n{_pivot(rows, ())}"
        elif rows:
            yield f"{title}:\n\n{_pivot(rows, older)}"
    if document["failures"]:
        yield "Not measured: " + "; ".join(document["failures"])


def headline(document) -> str:
    """The machine, the date, the commit and the versions."""
    where, versions = document["machine"], document["versions"]
    host = f"{where['cpu']} ({where['cores']} cores)"
    gpu = [f"{where['gpu']} (driver {where['driver']})"] if "gpu" in where else []
    software = ", ".join(f"{NAMES[package]} {version}" for package, version in versions.items())
    day, commit = document["date"].partition("T")[0], document["commit"][:10]
    return f"**{' and '.join([*gpu, host])}**, {day}, commit `{commit}`; {software}."


def _pivot(rows, older):
    """A line per measurement and a column per matrix and dtype, unless `_place` says otherwise.

    Rows of the backends in `older` are marked.
    """
    cells = {_place(row): _cell(row, older) for row in rows}
    names, columns = (list(dict.fromkeys(side)) for side in zip(*cells))
    lines = [["", *columns], ["---"] + ["---:"] * len(columns)]
    lines += [[name, *(cells.get((name, column), "") for column in columns)] for name in names]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _place(row):
    """The line and the column of a row."""
    if row["section"] in BY_MATRIX:
        return row["case"], row["dtype"]
    if row["section"] in BY_TYPE:
        return f"{row['case']}: {row['name']}", row["dtype"]
    return row["name"], f"{row['case']}, {row['dtype']}"


def _cell(row, older):
    remarks = [row["note"]] if row["section"] in NOTED else []
    remarks += _remarks(row)
    if row["backend"] in older:
        remarks.append(OLDER)
    return f"{_value(row)} ({', '.join(remarks)})" if remarks else _value(row)


def _value(row):
    """The quantity that the target bounds, and the median where that quantity is a speedup."""
    median = f"{short(row['median'])} {row['unit']}"
    if row["ratio"] is None:
        return median
    return {
        "ratio": short(row["ratio"]),
        "median": f"{median}, {short(row['ratio'])} × {row['peer']}",
        "speedup": f"{short(1 / row['ratio'])}, {median}",
    }[row["judged"]]


def _remarks(row):
    """The target and the stretch target of a row, and whether it meets them."""
    remarks = []
    sign = "≥" if row["judged"] == "speedup" else "≤"
    if row["goal"] is not None:
        remarks.append(f"target {sign} {row['goal']:g}" + ("" if row["met"] else " **not met**"))
    if row["dream"] is not None:
        met = results.reached(row["judged"], row["median"], row["ratio"], row["dream"])
        remarks.append(f"stretch target {sign} {row['dream']:g}" + (" met" if met else ""))
    return remarks


def short(number):
    """Three digits, or all those before the decimal point."""
    if number == 0 or abs(number) >= 100:
        return f"{number:,.0f}"
    return f"{number:.{1 if abs(number) >= 10 else 2 if abs(number) >= 1 else 3}f}"


def plain(document) -> str:
    """One results file as one table of aligned text."""
    lines = [("measurement", "matrix", "dtype", "median", "ratio", "target", "stretch", "")]
    for row in document["rows"]:
        verdict = {None: "", True: "met", False: "NOT MET"}[row["met"]]
        if row["section"] in NOTED:
            verdict = f"{verdict} {row['note']}".lstrip()
        lines.append(
            (
                f"{row['section']}: {row['name']}",
                row["case"],
                row["dtype"],
                f"{short(row['median'])} {row['unit']}",
                *_numbers(row),
                verdict,
            )
        )
    widths = [max(map(len, column)) for column in zip(*lines)]
    text = ["  ".join(cell.ljust(width) for cell, width in zip(line, widths)).rstrip() for line in lines]
    return "\n".join([*text, *(f"FAILED {failure}" for failure in document["failures"])])


def _numbers(row):
    """The ratio (or speedup), the target and the stretch target."""
    speedup = row["judged"] == "speedup"
    ratio = 1 / row["ratio"] if speedup and row["ratio"] else row["ratio"]
    signs = ("", "≥ ", "≥ ") if speedup else ("", "≤ ", "≤ ")
    return [
        "" if number is None else sign + short(number)
        for sign, number in zip(signs, (ratio, row["goal"], row["dream"]))
    ]


def updated(document, text) -> str:
    """The document's text with the tables between the markers."""
    before, begin, rest = document.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"the document must contain the markers {BEGIN} and {END}, in this order")
    return f"{before}{BEGIN}\n{text}\n{END}{after}"


def main(arguments=None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--write", action="store_true", help=f"update {DOCUMENT.name} instead of printing")
    parser.add_argument("--results", default=results.FOLDER, help="folder with the results files")
    parser.add_argument("--document", default=DOCUMENT, help="file to update")
    options = parser.parse_args(arguments)
    text = markdown(results.read_all(options.results), provenance.code_hashes())
    if not options.write:
        print(text)
        return 0
    document = Path(options.document)
    document.write_text(updated(document.read_text(encoding="utf-8"), text), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
