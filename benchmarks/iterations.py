"""How many iterations the preconditioners save, on anisotropic grids and on real matrices.

    LINFOREST_MATRICES=FOLDER python benchmarks/iterations.py [--write] [--only NAME ...] [--processes 2]

The folder holds the matrices and their MANIFEST.tsv. `--write` puts the tables into docs/iterations.md.
"""

from __future__ import annotations

import argparse
import csv
import math
import os
import statistics
import sys
import time
import warnings
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import LinearOperator, bicgstab, cg, splu

import linforest_precond as lf
from linforest_precond.matrices.matrix_market import read_entries

DOCUMENT = Path(__file__).resolve().parent.parent / "docs" / "iterations.md"
RTOL = 1e-8
MOST_ITERATIONS = 2000
PERMUTATIONS = 5
# A residual so far above the tolerance is no solution, whatever the recurrence of the solver says.
LARGEST_RESIDUAL = 100 * RTOL
GRIDS = {f"ANISO{k} 300²": (k, 300) for k in (1, 2, 3)}

# By the paper's names; `original` puts the rows of a permuted matrix back into their first order.
KINDS = {
    "Jacobi": lambda A, original: lf.jacobi(A),
    "TriScal": lambda A, original: lf.tridiagonal(A, ordering=original),
    "AlgTriScal": lambda A, original: lf.tridiagonal(A),
    "AlgTriBlock": lambda A, original: lf.block_tridiagonal(A),
}

INTRODUCTION = f"""# Iterations

Made by `python benchmarks/iterations.py --write`; do not edit.

Iterations to the relative residual {RTOL:g} with each preconditioner, at most {MOST_ITERATIONS}. The
right-hand side is b = A x with x_i = sin(16 π i / N), the first guess is 0, everything is float64.

- **Jacobi** is `lf.jacobi(A)`, **TriScal** is `lf.tridiagonal(A, ordering="original")`, **AlgTriScal** is
  `lf.tridiagonal(A)`, **AlgTriBlock** is `lf.block_tridiagonal(A)`, all with their default options.
- c_id, c and c_block are the shares of the off-diagonal weight that TriScal, AlgTriScal and AlgTriBlock
  hold.
- CG (`scipy.sparse.linalg.cg`) where A is symmetric positive definite: equal to its transpose, with a
  positive diagonal, every |a_ij|² < a_ii a_jj, and either listed as positive definite in the SuiteSparse
  Matrix Collection or with positive pivots only in an LU factorization without row exchanges.
- BiCGStab (`scipy.sparse.linalg.bicgstab`) for all others, and for the grids too: the median over
  {PERMUTATIONS} random symmetric permutations of rows and columns, because its count changes with every
  rounding. TriScal keeps A's own order in all of them. A half iteration counts as a whole one.
- `–`: not within {MOST_ITERATIONS} iterations, by breakdown, divergence or slowness, or the residual
  computed anew was above {LARGEST_RESIDUAL:g}. Counts of BiCGStab differ a little from machine to machine.
"""


@dataclass(frozen=True)
class Line:
    """What was found for one matrix; math.inf iterations where a solver did not get there."""

    name: str
    rows: int
    entries: int
    solver: str
    coverages: tuple[float, float, float]
    iterations: dict[str, float]
    remarks: tuple[str, ...] = ()


def measured(name, known_definite=None, solver=None, A=None) -> Line | None:
    """The line of one matrix; None where it has zeros on its diagonal."""
    A = load(name) if A is None else A
    if not A.diagonal().all():
        return None
    solver = solver or ("CG" if is_positive_definite(A, known_definite) else "BiCGStab")
    operators = {kind: quietly(make, A, "original") for kind, make in KINDS.items()}
    return Line(
        name,
        A.shape[0],
        int(np.count_nonzero(A.data)),
        solver,
        tuple(operators[kind].coverage for kind in ("TriScal", "AlgTriScal", "AlgTriBlock")),
        cg_counts(A, operators) if solver == "CG" else bicgstab_counts(A),
        remarks_of(operators),
    )


def load(name):
    """A grid or a real matrix, as float64."""
    if name in GRIDS:
        return lf.matrices.aniso(*GRIDS[name])
    A = sp.csr_array(read_entries(folder() / f"{name}.mtx.gz"))
    return sp.csr_array(A, dtype=np.result_type(A.dtype, np.float64))


def folder() -> Path:
    return Path(os.environ["LINFOREST_MATRICES"])


def quietly(call, *arguments):
    """The result of a call whose warnings are told elsewhere."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        return call(*arguments)


def remarks_of(operators) -> tuple[str, ...]:
    """The repairs, and the kinds that needed them."""
    kinds_of = {}
    for kind, M in operators.items():
        kinds_of.setdefault(repairs_of(M), []).append(kind)
    return tuple(f"{', '.join(kinds)}: {repairs}" for repairs, kinds in kinds_of.items() if repairs)


def repairs_of(M) -> str:
    """What had to be done to the tridiagonal part, as the operator prints it."""
    lines = (line.split(maxsplit=1) for line in str(M).splitlines())
    repairs = next((line[1] for line in lines if line[0] == "repairs"), "none")
    repairs = "; ".join(part for part in repairs.split("; ") if "not for CG" not in part)
    return "" if repairs == "none" else repairs


def is_positive_definite(A, known=None) -> bool:
    """Whether A is symmetric positive definite, by the rule in the introduction."""
    diagonal = A.diagonal()
    if (A != A.T.conj()).nnz or not (diagonal.real > 0).all():
        return False
    entries = A.tocoo()
    beside = entries.row != entries.col
    products = diagonal.real[entries.row] * diagonal.real[entries.col]
    if (abs(entries.data[beside]) ** 2 >= products[beside]).any():
        return False
    return known or has_positive_pivots(A)


def has_positive_pivots(A) -> bool:
    try:
        factors = splu(
            sp.csc_array(A),
            permc_spec="MMD_AT_PLUS_A",
            diag_pivot_thresh=0.0,
            options={"SymmetricMode": True},
        )
    except RuntimeError:  # exactly singular
        return False
    return bool((factors.perm_r == factors.perm_c).all() and (factors.U.diagonal().real > 0).all())


def cg_counts(A, operators) -> dict[str, float]:
    b = right_side(A)
    return {kind: iterations(cg, A, b, M, products=1) for kind, M in operators.items()}


def bicgstab_counts(A) -> dict[str, float]:
    """The median over random permutations, for each kind; half of the runs or more must get there."""
    b = right_side(A)
    runs = {kind: [] for kind in KINDS}
    for seed in range(PERMUTATIONS):
        order = np.random.default_rng(seed).permutation(A.shape[0])
        permuted = sp.csr_array(A[order][:, order])
        for kind, make in KINDS.items():
            M = quietly(make, permuted, np.argsort(order))
            runs[kind].append(iterations(bicgstab, permuted, b[order], M, products=2))
    return {kind: statistics.median(counts) for kind, counts in runs.items()}


def right_side(A):
    n = A.shape[0]
    return A @ np.sin(16 * np.pi * np.arange(n) / n)


def iterations(solver, A, b, M, products) -> float:
    """Iterations of a solver that takes so many products with A in each, a half one counted as whole."""
    count = 0

    def product(x):
        nonlocal count
        count += 1
        return A @ x

    counted = LinearOperator(A.shape, product, dtype=A.dtype)
    with np.errstate(all="ignore"):
        x, info = solver(counted, b, rtol=RTOL, maxiter=MOST_ITERATIONS, M=M)
        solved = info == 0 and np.linalg.norm(b - A @ x) <= LARGEST_RESIDUAL * np.linalg.norm(b)
    return -(-count // products) if solved else math.inf


def table(lines) -> str:
    head = ["matrix", "rows", "entries", "solver", "c_id", "c", "c_block", *KINDS]
    text = [head, ["---"] + ["---:" if title != "solver" else "---" for title in head[1:]]]
    for line in lines:
        counts = (line.iterations[kind] for kind in KINDS)
        text.append(
            [line.name, f"{line.rows:,}", f"{line.entries:,}", line.solver]
            + [f"{share:.2f}" for share in line.coverages]
            + ["–" if math.isinf(count) else f"{count:,.0f}" for count in counts]
        )
    return "\n".join(f"| {' | '.join(cells)} |" for cells in text)


def markdown(grids, lines, left_out) -> str:
    """The whole document."""
    remarks = [f"- {line.name}: {'; '.join(line.remarks)}" for line in lines if line.remarks]
    parts = [INTRODUCTION.rstrip(), "## Grids", table(grids), "## Real matrices", table(lines)]
    parts.append(summary(lines))
    if left_out:
        parts.append(f"Left out, for zeros on the diagonal: {', '.join(left_out)}.")
    if remarks:
        parts += ["## Repairs", "In A's own order of the rows:", "\n".join(remarks)]
    return "\n\n".join(parts) + "\n"


def summary(lines) -> str:
    """On how many matrices a preconditioner needs fewer iterations than Jacobi, and on how many more."""
    unsolved = sum(all(map(math.isinf, line.iterations.values())) for line in lines)
    sentences = [f"{unsolved} of these {len(lines)} matrices are solved with none of the preconditioners"]
    for kind in list(KINDS)[1:]:
        pairs = [(line.iterations[kind], line.iterations["Jacobi"]) for line in lines]
        fewer, more = sum(own < other for own, other in pairs), sum(own > other for own, other in pairs)
        sentences.append(f"{kind} needs fewer iterations than Jacobi on {fewer} and more on {more}")
    return "; ".join(sentences) + "."


def manifest() -> dict[str, dict]:
    """The lines of MANIFEST.tsv by name, the most rows first."""
    with open(folder() / "MANIFEST.tsv", newline="", encoding="utf-8") as lines:
        return {line["name"]: line for line in csv.DictReader(lines, delimiter="\t")}


def task(job):
    start = time.perf_counter()
    return job, measured(*job), time.perf_counter() - start


def main(arguments=None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--write", action="store_true", help=f"update {DOCUMENT.name} instead of printing it")
    parser.add_argument("--only", nargs="+", metavar="NAME", help="these matrices alone")
    parser.add_argument("--processes", type=int, default=2)
    options = parser.parse_args(arguments)
    found = run(jobs(options.only), options.processes)
    kept = [line for line in found.values() if line is not None]
    text = markdown(
        [line for line in kept if line.name in GRIDS],
        [line for line in kept if line.name not in GRIDS],
        [name for (name, *_), line in found.items() if line is None],
    )
    if options.write:
        DOCUMENT.write_text(text, encoding="utf-8")
    else:
        print(text)
    return 0


def jobs(only=None):
    """The arguments of `measured` for all matrices; grids are solved in both ways."""
    found = [(name, True, solver) for solver in ("CG", "BiCGStab") for name in GRIDS]
    found += [(name, line["spd"] == "1", None) for name, line in manifest().items()]
    return [job for job in found if not only or job[0] in only]


def run(jobs, processes) -> dict[tuple, Line | None]:
    """The lines of all jobs, in their order; one thread to a process."""
    os.environ |= {"NUMBA_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    found = {}
    with get_context("spawn").Pool(processes) as pool:
        for job, line, seconds in pool.imap_unordered(task, jobs):
            found[job] = line
            counts = "zeros on the diagonal" if line is None else f"{line.solver} {line.iterations}"
            print(f"{job[0]}: {counts}, {seconds:.0f} s", file=sys.stderr, flush=True)
    return {job: found[job] for job in jobs}


if __name__ == "__main__":
    sys.exit(main())
