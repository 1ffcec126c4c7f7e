"""The results as tables: on the screen, and in README.md between two markers.

    python benchmarks/table.py [--write]

Rows measured on other code of their backend, or of the solvers, than today's are marked `older code`.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import cases
import machine
import results

README = machine.ROOT / "README.md"
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
    "speed": "Time on the GPU from an idle device on, stalls included, as a multiple of one SpMV: cupyx's "
    "`A @ x` of the same matrix in the same run, its launch hidden behind the one before",
    "breakdown": "Where the default chain's time goes, as multiples of one SpMV",
    "memory": "Peak device memory of the chain beyond the matrix, results included, as a multiple of it",
    "skew": "Time on the GPU with one very long row, as a multiple of the time of a regular graph",
    "copy": "Speed of copies on the GPU, read and written bytes counted",
    "solves": "Speed of tridiagonal solves on the GPU, calls queued, as a multiple of the speed of copying "
    "as many bytes, and of cuSPARSE's on the same system. N rows in blocks of b are counted at (3b + 2)N "
    "words: three bands, right-hand side and solution. Where the matrix is symmetric, the kernels read only "
    "two of the bands; neighbouring tiles share halos, which are read twice: 4N words and halos for b = 1. "
    "Where carries do not decay inside a halo, there is none, and passes ahead of the last one find the "
    "carries, which read 3N words each",
    "columns": "Time of several right-hand sides at once on the GPU, as a multiple of the time of one",
    "operators": "Time of preconditioners on the GPU as a multiple of one SpMV; setups and updates start on "
    "an idle device, stalls included",
    "held": "Device memory that a preconditioner holds, as a multiple of the matrix",
    "small iterations": "Speed of a solver's iteration on a small system on the GPU, launches and stalls "
    "included, as a multiple of the speed of cupyx's on the same system; the solver's setup does not count",
    "iterations": "Time of a solver's iteration on the GPU, without a preconditioner, as a multiple of the "
    "time of cupyx's on the same system",
    "preconditioned iterations": "Time of a solver's iteration on the GPU with `lf.tridiagonal(A)`, as a "
    "multiple of the time of its products alone, calls queued: one `A @ x` of cupyx and one `M @ r` for cg, "
    "two of each for bicgstab",
    "solution": f"Time on the GPU from the matrix to a solution of the relative residual {cases.RTOL:g}, "
    "setup of the preconditioner included: cg where the matrix is symmetric, bicgstab where it is not",
    "orders": "Time of Cuthill-McKee orders on the GPU from an idle device on, stalls included: of a pattern "
    "on the device, of whole calls, and of components. The goals in milliseconds are the times of the "
    "published code for batches",
    "matchings": "Time of matchings on the GPU from an idle device on, as a multiple of one SpMV: of a graph "
    "that is there already; and speed of whole calls, all checks included, as a multiple of the speed of "
    '`lf.graph.matching(A, method="greedy")` on one core of the CPU',
    "hierarchies": "Speed of a multilevel hierarchy's setup on the GPU, and of setup and solve to the "
    f"relative residual {cases.RTOL:g}, as multiples of the speed of PyAMG's smoothed aggregation with "
    "conjugate gradients on the CPU, and of conjugate gradients with other preconditioners on the GPU",
    "graphs": "Speed of graph kernels on the GPU, whole calls from an idle device on, as a multiple of the "
    "speed of SciPy's csgraph, or PyAMG's, on the same machine's CPU",
    "graphs in products": "The same times as multiples of one SpMV of the same matrix, calls queued",
    "edges": "Edges that they deal with in that time: two stored entries are one edge where directions do "
    "not matter",
    "levels": "Time of a level of a breadth-first search on the GPU where many levels have small fronts: a "
    "whole call divided by its levels",
    "largest": "Time, and edges, on a graph that is drawn on the GPU",
    "cpu": "Time on the CPU after compilation",
    "cpu solves": "Time of a tridiagonal solve on one thread of the CPU, factored before, as a multiple of "
    "LAPACK's on the same bands",
    "cpu iterations": "Time of a solver's iteration on the CPU, without a preconditioner, as a multiple of "
    "the time of SciPy's on the same system",
    "cpu orders": 'Time of `lf.graph.reverse_cuthill_mckee(A, method="serial")` on the CPU, all checks '
    "included, as a multiple of the time of SciPy's, which does not search for a vertex to start from",
    "cpu graphs": "Speed of graph kernels on all threads of the CPU, as a multiple of the speed of SciPy's "
    "csgraph, or PyAMG's",
    "cpu batches": 'Speed of `method="batch"` on the CPU as a multiple of the speed of `method="serial"`',
}
# Sections about one work on many matrices.
BY_MATRIX = ("memory",)
# Sections about many works, each on a matrix of its own.
BY_TYPE = ("solves", "columns", "cpu solves")
# Sections whose numbers say little without the note.
NOTED = ("solution", "hierarchies")


def markdown(documents, hashes) -> str:
    """All results as Markdown; `hashes` are those of today's code."""
    parts = [part for document in documents for part in _document(document, hashes)]
    return "\n\n".join(parts) or NOTHING


def _document(document, hashes):
    yield _headline(document)
    older = {backend for backend, digest in document["sha256"].items() if digest != hashes[backend]}
    for section, title in SECTIONS.items():
        rows = [row for row in document["rows"] if row["section"] == section]
        if rows and all(row["backend"] in older for row in rows):
            yield f"{title} ({OLDER}):\n\n{_pivot(rows, ())}"
        elif rows:
            yield f"{title}:\n\n{_pivot(rows, older)}"
    if document["failures"]:
        yield "Not measured: " + "; ".join(document["failures"])


def _headline(document):
    where, versions = document["machine"], document["versions"]
    host = f"{where['cpu']} ({where['cores']} cores)"
    gpu = [f"{where['gpu']} (driver {where['driver']})"] if "gpu" in where else []
    software = ", ".join(f"{NAMES[package]} {version}" for package, version in versions.items())
    day, commit = document["date"].partition("T")[0], document["commit"][:10]
    quick = " Tiny sizes, for a try: no measure of anything." if document["quick"] else ""
    return f"**{' and '.join([*gpu, host])}**, {day}, commit `{commit}`; {software}. Medians.{quick}"


def _pivot(rows, older):
    """A line per work, a column per matrix and type; where all is one work, a line per matrix.

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
    """What the row is judged by, and the other one where it says more."""
    median = f"{_short(row['median'])} {row['unit']}"
    if row["ratio"] is None:
        return median
    return {
        "ratio": _short(row["ratio"]),
        "median": f"{median}, {_short(row['ratio'])} × {row['peer']}",
        "speedup": f"{_short(1 / row['ratio'])}, {median}",
    }[row["judged"]]


def _remarks(row):
    """How the row stands to its goal and its dream."""
    remarks = []
    sign = "≥ " if row["judged"] == "speedup" else ""
    if row["goal"] is not None:
        remarks.append(f"goal {sign}{row['goal']:g}" + ("" if row["met"] else " **missed**"))
    if row["dream"] is not None:
        reached = results.reached(row["judged"], row["median"], row["ratio"], row["dream"])
        remarks.append(f"aim {sign}{row['dream']:g}" + (" reached" if reached else ""))
    return remarks


def _short(number):
    """Three digits, at least those before the point."""
    if number == 0 or abs(number) >= 100:
        return f"{number:,.0f}"
    return f"{number:.{1 if abs(number) >= 10 else 2 if abs(number) >= 1 else 3}f}"


def plain(document) -> str:
    """One results file as one table of aligned text."""
    lines = [("work", "matrix", "type", "median", "ratio", "goal", "aim", "")]
    for row in document["rows"]:
        verdict = {None: "", True: "met", False: "MISSED"}[row["met"]]
        if row["section"] in NOTED:
            verdict = f"{verdict} {row['note']}".lstrip()
        lines.append(
            (
                f"{row['section']}: {row['name']}",
                row["case"],
                row["dtype"],
                f"{_short(row['median'])} {row['unit']}",
                *_numbers(row),
                verdict,
            )
        )
    widths = [max(map(len, column)) for column in zip(*lines)]
    text = ["  ".join(cell.ljust(width) for cell, width in zip(line, widths)).rstrip() for line in lines]
    return "\n".join([*text, *(f"FAILED {failure}" for failure in document["failures"])])


def _numbers(row):
    """The ratio, goal and aim; of a speedup with a sign."""
    speedup = row["judged"] == "speedup"
    ratio = 1 / row["ratio"] if speedup and row["ratio"] else row["ratio"]
    signs = ("", "≥ ", "≥ ") if speedup else ("", "", "")
    return [
        "" if number is None else sign + _short(number)
        for sign, number in zip(signs, (ratio, row["goal"], row["dream"]))
    ]


def updated(readme, text) -> str:
    """README's text with the table in place."""
    before, begin, rest = readme.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"README must hold the markers {BEGIN} and {END}, in this order")
    return f"{before}{BEGIN}\n{text}\n{END}{after}"


def main(arguments=None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--write", action="store_true", help="update README instead of printing the table")
    parser.add_argument("--results", default=results.FOLDER, help="folder of the results files")
    parser.add_argument("--readme", default=README, help="file to update")
    options = parser.parse_args(arguments)
    text = markdown(results.read_all(options.results), machine.code_hashes())
    if not options.write:
        print(text)
        return 0
    readme = Path(options.readme)
    readme.write_text(updated(readme.read_text(encoding="utf-8"), text), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
