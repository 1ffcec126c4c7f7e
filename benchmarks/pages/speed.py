"""The page of the numbers that users need, quoted from the pages that have all of them.

    python -m benchmarks.pages.speed [--write]

`--write` puts it into docs/performance.md. Run it after a change of benchmarks/PERFORMANCE.md,
docs/solve_times.md or docs/multilevel.md.
"""

from __future__ import annotations

import argparse
import re
import sys

from benchmarks.measures import provenance
from benchmarks.pages.multilevel_sections import table
from benchmarks.pages.table import DOCUMENT as MEASUREMENTS

DOCS = provenance.ROOT / "docs"
DOCUMENT = DOCS / "performance.md"
# Cells of benchmarks/PERFORMANCE.md end with the project's own targets.
TARGET = re.compile(r" \([^()]*target[^()]*\)")
GPU = "**NVIDIA"
CPU = "**Neoverse"
ANISO = "ANISO2 2500², float64"
SMALL = "5-point 100², float64"
GRAPHS = ("R-MAT 2^20, float64", "7-point 100³, float64")
SYSTEMS = {
    CPU: (
        "fipy-layers-3-d",
        "pandapower-newton-pegase",
        "pymatting-closed-form-matting",
        "skfem-elasticity-3-d-p1",
        "memplus",
        "bcsstk33",
    ),
    GPU: (
        "fipy-freezing",
        "fipy-layers-3-d",
        "pandapower-newton-pegase",
        "pymatting-closed-form-matting",
        "skfem-elasticity-3-d-p1",
        "skfem-helmholtz-above-resonance",
    ),
}


class Page:
    """The tables of a page of measurements."""

    def __init__(self, path):
        self.text = TARGET.sub("", path.read_text(encoding="utf-8"))

    def after(self, *places):
        """The text after the first of several places, then the next, and so on."""
        text = self.text
        for place in places:
            text = text[text.index(place) :]
        return text

    def table(self, *places):
        """{row: {column: cell}} of the first table after these places."""
        lines = self.after(*places).splitlines()
        first = next(number for number, line in enumerate(lines) if line.startswith("|"))
        found = []
        for line in lines[first:]:
            if not line.startswith("|"):
                break
            found.append([cell.strip() for cell in line.strip("|").split("|")])
        head, _, *rows = found
        return {row[0]: dict(zip(head, row)) for row in rows}


def machine_of(page, machine):
    """The machine and the commit of a page's table."""
    line = page.after(machine).splitlines()[0]
    return re.sub(r"\*\*| \(driver [^)]*\)|;.*", "", line)


def setups(performance):
    """The time of a product, and in units of it setup, update and application of preconditioners."""
    costs = performance.table(GPU, "Preconditioners on the GPU")
    memory = performance.table(GPU, "Device memory of a preconditioner")
    product = performance.table(GPU, "Setup on the GPU")["SpMV (cupyx A @ x), calls queued: the unit"][ANISO]
    names = "lf.tridiagonal(A)", "lf.block_tridiagonal(A)"
    rows = [
        [
            f"`{name}`",
            *(costs[row][ANISO] for row in (name, f"update of {name}", f"{name} @ r, calls queued")),
            memory[name][ANISO],
        ]
        for name in names
    ]
    return product, table(["", "setup", "`M.update(A2)`", "`M @ r`", "memory, A = 1"], rows)


def solves(performance):
    """Setup and solve on the GPU by preconditioner."""
    found = performance.table(GPU, "Time on the GPU from the matrix")
    names = {
        "none": "none",
        "Jacobi": "`lf.jacobi`",
        "AlgTriScal": "`lf.tridiagonal`",
        "AlgTriBlock": "`lf.block_tridiagonal`",
    }
    columns = [ANISO, "7-point 128³, float64", "7-point 128³ with convection, float64"]
    rows = [[names[name], *(short(found[name][column]) for column in columns)] for name in names]
    systems = performance.table("## Multigrid beside AmgX")
    multigrid = ("ANISO2 2500²", "7-point 128³", "7-point 128³ with convection, upwind (BiCGStab)")
    cells = [f"{systems[name]['`lf.multilevel`']} ms ({systems[name]['iterations']})" for name in multigrid]
    head = ["", *(column.removesuffix(", float64") for column in columns)]
    return table(head, [*rows, ["`lf.multilevel`", *cells]])


def short(cell):
    """A time and its iterations, without the setup and the word."""
    return re.sub(r"\((?:setup [^,]*, )?([\d,]+) iterations\)", r"(\1)", cell)


def amgx(performance):
    systems = performance.table("## Multigrid beside AmgX")
    columns = "AmgX", "`lf.multilevel`", "of it setup", "iterations"
    rows = [[name, *(row[column] for column in columns)] for name, row in systems.items() if row["AmgX"]]
    return table(["system", *columns], rows)


def pyamg(multilevel):
    found = multilevel.table("## Seconds: setup + solve")
    columns = {
        "default": "`lf.multilevel`",
        "lines": '`smoother="tridiagonal"`',
        "PyAMG SA": "PyAMG SA",
        "PyAMG RS": "PyAMG RS",
    }
    names = ("Poisson 1024²", "Poisson 100³", "anisotropic 256², 0°", "anisotropic 256², 45°", "ANISO2 256²")
    rows = [[name, *(found[name][column] for column in columns)] for name in names]
    return table(["system", *columns.values()], rows)


def chosen(solve_times, machine):
    """What `lf.solve` takes beside the best method by hand: the summary and some of the systems."""
    summary = next(line for line in solve_times.after(machine).splitlines() if line.startswith("- all: "))
    found = solve_times.table(machine)
    columns = "rows", "lf.solve", "chosen", "best by hand", "method", "second side", "update"
    rows = []
    for name in SYSTEMS[machine]:
        cells = [found[name][column] for column in columns]
        cells[-2:] = (re.sub(r" \([^)]*\)", "", cell) for cell in cells[-2:])
        rows.append([name, *cells])
    head = ["system", "rows", "`lf.solve`", "chosen", "best by hand", "method", "second b", "update, b"]
    return summary.removeprefix("- all: "), table(head, rows)


def first_calls(performance):
    found = performance.table(CPU, "First calls with empty caches")
    column = "5-point 300², float64"
    names = "lf.tridiagonal", "lf.multilevel", "lf.solvers.cg"
    rows = [
        [f"`{name}`", *(found[f"{name}, {process} process"][column] for process in ("first", "second"))]
        for name in names
    ]
    return table(["", "first process", "next processes"], rows)


def iterations(performance):
    """The time of an iteration on a small system."""
    found = performance.table(GPU, "Iterations of a Krylov solver on a small system")
    names = "lf.solvers.cg", "lf.solvers.bicgstab"
    return table(["", "5-point 100²"], [[f"`{name}`", beside(found[name][SMALL])] for name in names])


def graphs(performance):
    found = performance.table(GPU, "Graph algorithms on the GPU")
    names = "connected_components", "minimum_spanning_tree", "breadth_first_order", "maximal_independent_set"
    rows = [
        [f"`lf.graph.{name}`", *(beside(found[f"lf.graph.{name}"][column]) for column in GRAPHS)]
        for name in names
    ]
    return table(["", *(column.removesuffix(", float64") for column in GRAPHS)], rows)


def matchings(performance):
    found = performance.table(GPU, "Matchings on the GPU")
    names = [f'lf.graph.matching(A, method="{method}")' for method in ("locally_dominant", "suitor")]
    columns = [column for column in found[names[0]] if column]
    rows = [[f"`{name}`", *(beside(found[name][column]) for column in columns)] for name in names]
    return table(["", *(column.removesuffix(", float64") for column in columns)], rows)


def beside(cell):
    """The time and, in parentheses, the speed relative to a peer."""
    speed, time = cell.split(", ")
    return f"{time} ({speed} ×)"


def page():
    performance = Page(MEASUREMENTS)
    solve_times, multilevel = Page(DOCS / "solve_times.md"), Page(DOCS / "multilevel.md")
    product, setup_table = setups(performance)
    (cpu_summary, cpu_table), (gpu_summary, gpu_table) = (
        chosen(solve_times, machine) for machine in (CPU, GPU)
    )
    return f"""# Performance

Generated by `python -m benchmarks.pages.speed --write`; do not edit. Medians in double precision; solves to a
relative residual of 1e-8. [Solve times](solve_times.md) and [multilevel hierarchies](multilevel.md) have more
systems; [benchmarks/PERFORMANCE.md](../benchmarks/PERFORMANCE.md) in the repository has every measurement,
how it was made, and what limits it.

## `lf.solve` beside the best method by hand

Milliseconds of setup and solve; for a second right-hand side; and for a matrix with new values.

{machine_of(solve_times, CPU)}: {cpu_summary}

{cpu_table}

{machine_of(solve_times, GPU)}: {gpu_summary}

{gpu_table}

## Multigrid

Milliseconds on an H200, beside AmgX 2.5.0 with its best configuration, of another run.

{amgx(performance)}

Seconds of setup + solve on one thread of a CPU (aarch64), beside PyAMG's smoothed aggregation and Ruge-Stüben
solvers.

{pyamg(multilevel)}

## Setup and update

ANISO2 2500² (6.25 million rows, 56 million entries) on an H200, in products `A @ x` of cupyx, which take
{product}; memory in units of the matrix.

{setup_table}

## Solves by preconditioner

Milliseconds of setup and solve on an H200, with iterations; CG, or BiCGStab for convection.

{solves(performance)}

## Iterations of small systems

On an H200; in parentheses the speed relative to cupyx's solvers.

{iterations(performance)}

## Graphs and matchings

On an H200, whole calls; in parentheses the speed relative to SciPy's csgraph or PyAMG on the CPU beside it,
and for matchings relative to `method="greedy"` there.

{graphs(performance)}

{matchings(performance)}

## First calls

Processor seconds of the first call with empty caches, and of the first in later processes (5-point 300²,
Neoverse-N1, 2 cores). `linforest warmup` compiles ahead.

{first_calls(performance)}
"""


def main(arguments=None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--write", action="store_true", help=f"update {DOCUMENT.name} instead of printing it")
    options = parser.parse_args(arguments)
    if options.write:
        DOCUMENT.write_text(page(), encoding="utf-8")
    else:
        print(page())
    return 0


if __name__ == "__main__":
    sys.exit(main())
