"""Fill the column "now" of the table of setups in benchmarks/PERFORMANCE.md from the stored results.

    python -m benchmarks.run --device cuda --only setups preconditioners:float64 multigrid_systems:system \\
        stronger_preconditioners:inverses tridiagonal_solves:pivoting
    python -m benchmarks.run --device cpu --only cpu:small
    python -m benchmarks.pages.setup_table

The first two commands measure all of its rows, the third writes the newest value of each. A cell with several
matrices shows the least and the greatest; what was not measured keeps its cell.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import NamedTuple

from benchmarks.measures import results, targets
from benchmarks.pages.table import DOCUMENT, short
from benchmarks.systems import cases

HEADING = "## Setups of long rows, blocks, small systems and lines"
COLUMN = 2
LONG_ROWS = tuple(name for name, goals in targets.STANDIN_SETUPS.items() if len(goals) == 2)
SUFFIX = {"ratio": "", "median": " ms", "speedup": " ×"}


class Rows(NamedTuple):
    """Rows of the results; of all matrices where no words of their titles are given."""

    section: str
    name: str
    words: tuple[str, ...] = ("",)
    dtype: str = "float64"

    def values(self, measured):
        return [
            value(row)
            for row in measured
            if row["section"] == self.section and row["name"] == self.name and row["dtype"] == self.dtype
            if any(word in row["case"] for word in self.words)
        ]


def long_rows(name):
    return [Rows("stand-in setups", name, LONG_ROWS, dtype) for dtype in ("float64", "float32")]


def each(section, name, *words):
    """A number for each matrix."""
    return [Rows(section, name, (word,)) for word in words]


KINDS = ("tridiagonal", "block_tridiagonal", "multilevel")
TRIDIAGONAL, BLOCKS = "lf.tridiagonal(A)", "lf.block_tridiagonal(A)"
LINES = 'lf.multilevel(A, smoother="tridiagonal")'
# The numbers in each line of the table, by its first cell.
CELLS = {
    "`lf.graph.factor(A, 2, iterations=1)`, long rows, float64 / float32": long_rows(
        "lf.graph.factor(A, 2, iterations=1)"
    ),
    "`lf.graph.factor(A, 4, iterations=5)`, long rows, float64 / float32": long_rows(
        "lf.graph.factor(A, 4, iterations=5)"
    ),
    "`lf.tridiagonal(A)`, long rows, float64 / float32": long_rows(TRIDIAGONAL),
    "the same, Long_Coup_dt0": each("stand-in setups", TRIDIAGONAL, "Long_Coup"),
    "the same, thermal2 / Transport / atmosmodd": each(
        "stand-in setups", TRIDIAGONAL, "thermal2", "Transport", "atmosmodd"
    ),
    "`lf.block_tridiagonal(A)`, these eight": [Rows("stand-in setups", BLOCKS)],
    "the same, ANISO2 2500²": each("operators", BLOCKS, "ANISO2"),
    f"`{LINES}`, 5-point 2048² / 7-point 128³ / 30° 1500²": each(
        "line smoothers", LINES, "5-point", "7-point", "30°"
    ),
    "`lf.multilevel(A)`, 5-point 2048² / 7-point 160³": each(
        "systems in products", "lf.multilevel(A)", "5-point 2048²", "7-point 160³"
    ),
    "the same and solve, 27-point 110³": each("systems", "lf.multilevel(A) and solve", "27-point"),
    "update of a hierarchy, of its setup": [Rows("system updates", "update(A)")],
    "ANISO2 300²: `lf.tridiagonal` / `lf.block_tridiagonal` / `lf.multilevel`": [
        Rows("setups", f"lf.{kind}(A)", ("ANISO2 300²",)) for kind in KINDS
    ],
    "`M.update(A2)` of `lf.tridiagonal` there": [Rows("setups", "update of lf.tridiagonal(A)")],
    "`M.update(A2)` of `lf.tridiagonal`, ANISO2 2500²": each(
        "operators", "update of lf.tridiagonal(A)", "ANISO2"
    ),
    "`lf.approximate_inverse(A, 20)`, 7-point 128³ / elasticity": each(
        "inverses", "lf.approximate_inverse(A, 20)", "7-point", "elasticity"
    ),
    "pivoted solve beside gtsv2 with pivoting, float64 / float32": [
        Rows("solves", "solve beside cuSPARSE gtsv2", dtype=dtype) for dtype in ("float64", "float32")
    ],
    "CPU, 2,000 rows: `lf.tridiagonal` / `lf.block_tridiagonal` / `lf.multilevel`": [
        Rows("cpu small", f"lf.{kind}(A)") for kind in KINDS
    ],
    "`M @ r` there": [Rows("cpu small", f"M @ r of lf.{kind}") for kind in KINDS],
}


def newest(documents):
    """The newest row of each measurement; on the CPU, of machines with the cores of its targets."""
    found = {}
    for document in sorted(documents, key=lambda document: document["date"]):
        for row in document["rows"]:
            if row["backend"] == "cuda" or document["machine"]["cores"] == cases.CPU_THREADS:
                found[row["section"], row["name"], row["case"], row["dtype"]] = row
    return list(found.values())


def value(row):
    """What the target bounds, and how it is judged."""
    judged = row["judged"]
    return (1 / row["ratio"] if judged == "speedup" else row[judged]), judged


def cell(parts, measured):
    """The numbers of a line; None where one of them was not measured."""
    values = [part.values(measured) for part in parts]
    if not all(values):
        return None
    ranges = (sorted({short(number) for number, _ in found}, key=number_of) for found in values)
    text = " / ".join("–".join(dict.fromkeys((words[0], words[-1]))) for words in ranges)
    return text + SUFFIX[values[0][0][1]]


def number_of(text):
    return float(text.replace(",", ""))


def filled(document, measured):
    """The document's text with the numbers in the table."""
    before, heading, after = document.partition(HEADING)
    table, end, rest = after.partition("\n## ")
    lines = [filled_line(line, measured) for line in table.split("\n")]
    return before + heading + "\n".join(lines) + end + rest


def filled_line(line, measured):
    parts = line.split(" | ")
    work = parts[0].removeprefix("| ")
    if work in CELLS:
        parts[COLUMN] = cell(CELLS[work], measured) or parts[COLUMN]
    return " | ".join(parts)


def main(arguments=None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--results", default=results.FOLDER, help="folder with the results files")
    parser.add_argument("--document", default=DOCUMENT, help="file to update")
    options = parser.parse_args(arguments)
    document = Path(options.document)
    measured = newest(results.read_all(options.results))
    document.write_text(filled(document.read_text(encoding="utf-8"), measured), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
