"""Multilevel hierarchies beside PyAMG's, on the CPU: iterations, complexities and times.

    OPENBLAS_NUM_THREADS=1 LINFOREST_MATRICES=FOLDER python benchmarks/multilevel.py [--write] [--quick]
        [--only NAME ...]

Times are those of one thread, of NumPy's as well. The folder holds the real matrices and their MANIFEST.tsv;
without it their table is left out. `--write` puts the tables into docs/multilevel.md, `--quick` takes the
smaller grids alone.
"""

from __future__ import annotations

import argparse
import gc
import math
import os
import platform
import sys
import time
import warnings
from dataclasses import dataclass
from pathlib import Path

import numba
import numpy as np
from iterations import folder, is_positive_definite, load, manifest

import linforest_precond as lf

DOCUMENT = Path(__file__).resolve().parent.parent / "docs" / "multilevel.md"
RTOL = 1e-8
MOST_ITERATIONS = 500
EPSILON = 1e-3
# Grids with more unknowns are left out of a quick run; with more than LARGE, some solvers are.
QUICK = 70_000
LARGE = 1_100_000
OF_ALL = "Jacobi", "lines", "PyAMG pairwise", "PyAMG SA"
# Real matrices up to so many rows; hierarchies there go down to few unknowns.
MOST_ROWS = 60_000
MAX_COARSE = 100

SHAPES = [(64, 64), (256, 256), (1024, 1024), (2048, 2048), (32,) * 3, (64,) * 3, (100,) * 3, (160,) * 3]
SIDE = 256

INTRODUCTION = f"""# Multilevel hierarchies

Made by `python benchmarks/multilevel.py --write`; do not edit.

Iterations to the relative residual {RTOL:g} for a random right-hand side, from 0, in float64 on the CPU; at
most {MOST_ITERATIONS}. Complexities are those of the operators: entries of all levels over those of the
finest.

- **Jacobi** is `lf.multilevel(A)` with `lf.solvers.fcg` and the K-cycle: its defaults, pairs by matching.
  **Lines** is the same with `smoother="tridiagonal"`, and so coarsened along paths; **blocks** with
  `smoother="block_tridiagonal"`. **Jacobi, paths** and **lines, pairs** have these smoothers with the other
  coarsening: `coarsening="paths"` and `coarsening="matching"`. **Smoothed P, V** is
  `smooth_prolongation=True, matchings=3` with the V-cycle and `lf.solvers.cg`.
- **PyAMG pairwise**, **SA** and **RS** are `pairwise_solver`, `smoothed_aggregation_solver` and
  `ruge_stuben_solver` with their default options and `solve(b, tol={RTOL:g}, accel="cg")`.
- Seconds are those of one run on one thread, setup and solve; compilation is not in them.
"""


@dataclass(frozen=True)
class Result:
    """One solver on one matrix; math.inf iterations where it did not get there."""

    levels: int
    complexity: float
    iterations: float
    setup: float
    solve: float


def ours(cycle="K", solver="fcg", **options):
    """A solver of this package: a function of the matrix and the right-hand side."""

    def run(A, b):
        start = time.perf_counter()
        ml = lf.multilevel(A, **options)
        middle = time.perf_counter()
        history = lf.solvers.History()
        M = ml.aspreconditioner(cycle)
        _, info = getattr(lf.solvers, solver)(A, b, rtol=RTOL, maxiter=MOST_ITERATIONS, M=M, history=history)
        count = math.inf if info else len(history) - 1
        seconds = middle - start, time.perf_counter() - middle
        return Result(len(ml.levels), ml.operator_complexity(), count, *seconds)

    return run


def pyamgs(name):
    """A solver of PyAMG, likewise."""

    def run(A, b):
        import pyamg
        from scipy.sparse import csr_matrix

        make = getattr(pyamg, name, None) or getattr(pyamg.aggregation, name)
        A = csr_matrix(A)
        start = time.perf_counter()
        ml = make(A)
        middle = time.perf_counter()
        residuals: list[float] = []
        ml.solve(b, tol=RTOL, maxiter=MOST_ITERATIONS, accel="cg", residuals=residuals)
        count = len(residuals) - 1 if residuals[-1] <= RTOL * residuals[0] else math.inf
        seconds = middle - start, time.perf_counter() - middle
        return Result(len(ml.levels), ml.operator_complexity(), count, *seconds)

    return run


SOLVERS = {
    "Jacobi": ours(),
    "lines": ours(smoother="tridiagonal"),
    "blocks": ours(smoother="block_tridiagonal"),
    "Jacobi, paths": ours(coarsening="paths"),
    "lines, pairs": ours(smoother="tridiagonal", coarsening="matching"),
    "smoothed P, V": ours("V", "cg", smooth_prolongation=True, matchings=3),
    "PyAMG pairwise": pyamgs("pairwise_solver"),
    "PyAMG SA": pyamgs("smoothed_aggregation_solver"),
    "PyAMG RS": pyamgs("ruge_stuben_solver"),
}


def grids(quick=False):
    """{name: a function that makes the matrix}: Poisson's equation, and anisotropic diffusion."""
    found = {}
    for shape in SHAPES:
        if not quick or math.prod(shape) <= QUICK:
            name = f"Poisson {shape[0]}{'²' if len(shape) == 2 else '³'}"
            found[name] = lambda shape=shape: lf.matrices.poisson(shape)
    for degrees in (0, 30, 45):
        theta = math.radians(degrees)
        name = f"anisotropic {SIDE}², {degrees}°"
        found[name] = lambda theta=theta: lf.matrices.anisotropic_diffusion((SIDE, SIDE), theta, EPSILON)
    for k in (1, 2, 3):
        found[f"ANISO{k} {SIDE}²"] = lambda k=k: lf.matrices.aniso(k, SIDE)
    return found


def measured(A, solvers) -> dict[str, Result]:
    b = np.random.default_rng(1).standard_normal(A.shape[0])
    found = {}
    for name in solvers:
        gc.collect()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found[name] = SOLVERS[name](A, b)
        print(f"  {name}: {found[name]}", file=sys.stderr, flush=True)
    return found


def real_lines():
    """Iterations of CG with Jacobi and with V-cycles, on the real matrices that are positive definite."""
    lines = []
    for name, facts in manifest().items():
        if int(facts["rows"]) > MOST_ROWS:
            continue
        A = load(name)
        if A.dtype.kind == "c" or not A.diagonal().all() or not is_positive_definite(A, facts["spd"] == "1"):
            continue
        b = A @ np.random.default_rng(1).standard_normal(A.shape[0])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            operators = {"Jacobi": lf.jacobi(A)}
            for smoother in ("jacobi", "chebyshev", "tridiagonal"):
                ml = lf.multilevel(A, smoother=smoother, max_coarse=MAX_COARSE)
                operators[smoother] = ml.aspreconditioner("V")
            counts = [count_of(A, b, M) for M in operators.values()]
        lines.append([name, f"{A.shape[0]:,}", f"{ml.operator_complexity():.2f}", *map(shown, counts)])
        print(lines[-1], file=sys.stderr, flush=True)
    return lines


def count_of(A, b, M) -> float:
    history = lf.solvers.History()
    _, info = lf.solvers.cg(A, b, rtol=RTOL, maxiter=10 * A.shape[0], M=M, history=history)
    return math.inf if info else len(history) - 1


def shown(count) -> str:
    return "–" if math.isinf(count) else f"{count:,.0f}"


def table(head, lines) -> str:
    text = [head, ["---", *["---:"] * (len(head) - 1)], *lines]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in text)


def tables(results) -> list[str]:
    """Iterations, complexities and seconds of all grids."""
    head = ["matrix", *SOLVERS]
    parts = []
    for title, cell in (
        ("Iterations", lambda result: shown(result.iterations)),
        ("Operator complexities", lambda result: f"{result.complexity:.2f}"),
        ("Seconds: setup + solve", lambda result: f"{result.setup:.2f} + {result.solve:.2f}"),
    ):
        lines = [
            [name, *(cell(found[kind]) if kind in found else "" for kind in SOLVERS)]
            for name, found in results.items()
        ]
        parts += [f"## {title}", table(head, lines)]
    return parts


def summary(results) -> str:
    """How iterations grow with Poisson's grids, and what lines save on anisotropic ones."""
    sentences = []
    for mark, words in (("²", "2-D"), ("³", "3-D")):
        counts = [found["Jacobi"].iterations for name, found in results.items()
                  if name.startswith("Poisson") and name.endswith(mark)]  # fmt: skip
        if counts:
            sentences.append(
                f"Iterations grow {counts[-1] / counts[0]:.2f} x from the least to the largest {words} grid"
            )
    for name, found in results.items():
        if "°" in name or name.startswith("ANISO"):
            saved = found["Jacobi"].iterations / found["lines"].iterations
            sentences.append(f"{name}: Jacobi takes {saved:.1f} x as many as lines")
    return "; ".join(sentences) + "."


def main(arguments=None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--write", action="store_true", help=f"update {DOCUMENT.name} instead of printing it")
    parser.add_argument("--quick", action="store_true", help="smaller grids alone")
    parser.add_argument("--only", nargs="+", metavar="NAME", help="grids whose names begin so")
    options = parser.parse_args(arguments)
    numba.set_num_threads(1)
    measured(lf.matrices.poisson((40, 40)), SOLVERS)  # compiles
    results = {}
    for name, make in grids(options.quick).items():
        if options.only and not name.startswith(tuple(options.only)):
            continue
        print(name, file=sys.stderr, flush=True)
        A = make()
        results[name] = measured(A, SOLVERS if A.shape[0] <= LARGE else OF_ALL)
    parts = [INTRODUCTION.rstrip(), *tables(results), summary(results)]
    if "LINFOREST_MATRICES" in os.environ and folder().exists() and not options.only:
        head = ["matrix", "rows", "complexity", "Jacobi-CG", "jacobi, V", "chebyshev, V", "tridiagonal, V"]
        words = f"Iterations of CG, with hierarchies down to {MAX_COARSE} unknowns."
        parts += ["## Real matrices that are positive definite", words, table(head, real_lines())]
    parts.append(f"Measured on {platform.machine()}, {os.cpu_count()} cores.")
    text = "\n\n".join(parts) + "\n"
    if options.write:
        DOCUMENT.write_text(text, encoding="utf-8")
    else:
        print(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
