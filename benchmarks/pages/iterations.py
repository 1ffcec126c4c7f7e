"""Iterations with each preconditioner, on real matrices and on generated ones of every family.

    LINFOREST_MATRICES=FOLDER python -m benchmarks.pages.iterations [--write] [--only NAME ...]
        [--processes 2] [--lines FILE]

The folder holds the matrices and their MANIFEST.tsv. `--write` puts the tables into docs/iterations.md. Lines
of the tables are added to a file as they are finished, and a later call with the same file takes them from
there: a long run may be interrupted.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import statistics
import sys
import time
import traceback
import warnings
from dataclasses import asdict, dataclass
from functools import partial
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import LinearOperator, bicgstab, cg, splu

import linforest_precond as lf
from benchmarks.pages.iteration_kinds import (
    DEFINITE,
    FEWER_PERMUTATIONS,
    FORESTS,
    LARGEST_RESIDUAL,
    MANY_ENTRIES,
    MATCHED,
    MOST_ITERATIONS,
    OTHERS,
    PERMUTATIONS,
    RTOL,
    permuted_operator,
)
from benchmarks.pages.iteration_tables import markdown
from benchmarks.systems import chooser_systems, real_matrices
from benchmarks.systems.real_matrices import is_directed, manifest
from linforest_precond.matrix.checked import checked
from linforest_precond.precond.parts.part import in_words
from linforest_precond.precond.scaling.scaling import scaling_of

DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "iterations.md"
GRIDS = {f"ANISO{k} 300²": partial(lf.matrices.aniso, k, 300) for k in (1, 2, 3)}
# Of benchmarks/systems/chooser_systems.py: some of every family.
GENERATED = (
    "Poisson 250²", "Poisson 32³", "anisotropic 120², 30°", "jumps 200²", "convection 100², 10, upwind",
    "convection 100², 5, central", "elasticity 20 x 8 x 8", "Helmholtz 100², 2 wavelengths", "circuit 40000",
    "controlled circuit 4000", "triangulation 30000, grounded", "R-MAT 2^14, grounded",
    "badly scaled ANISO2 80²", "stand-in ecology1/8", "stand-in atmosmodd/5", "stand-in thermal2/8",
    "stand-in Transport/8", "stand-in StocF-1465/6", "stand-in CurlCurl_3/8", "stand-in Geo_1438/6",
    "stand-in Long_Coup_dt0/7",
)  # fmt: skip


@dataclass(frozen=True)
class Line:
    """The results of one system; math.inf iterations where it is not solved, NaN where a kind is not for it.

    `solve` are the iterations of all trials of `lf.solve`, and `chosen` is what it took. `reachable`: solved
    by some preconditioner, or by a direct solver.
    """

    name: str
    rows: int
    entries: int
    solver: str
    coverages: tuple[float, float, float]
    iterations: dict[str, float]
    solve: float = math.inf
    chosen: str = ""
    remarks: tuple[str, ...] = ()
    reachable: bool = True


def measured(name, known_definite=None, solver=None, A=None) -> Line:
    """The line of one matrix."""
    A = load(name) if A is None else A
    solver = solver or ("CG" if is_positive_definite(A, known_definite) else "BiCGStab")
    operators = {kind: quietly(make, A, "original") for kind, make in FORESTS.items()}
    counts = cg_counts(A, operators) if solver == "CG" else bicgstab_counts(A)
    solve, chosen = solved(A)
    return Line(
        name,
        A.shape[0],
        int(np.count_nonzero(A.data)),
        solver,
        tuple(operators[kind].coverage for kind in ("TriScal", "AlgTriScal", "AlgTriBlock")),
        counts,
        solve,
        chosen,
        remarks_of(operators),
        any(map(math.isfinite, (*counts.values(), solve))) or is_solved_directly(A),
    )


def load(name):
    """A generated matrix, or one of the folder."""
    if name in GRIDS:
        return GRIDS[name]()
    if name in chooser_systems.GENERATED:
        return chooser_systems.GENERATED[name]()
    return real_matrices.load(name)


def quietly(call, *arguments):
    """The result of a call without its warnings, which the document lists as repairs."""
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
    """The repairs of the tridiagonal part, as the operator prints them."""
    return in_words(M.repairs, positive_definite=True) if M.repairs else ""


def is_positive_definite(A, known=None) -> bool:
    """Whether A is symmetric positive definite, by the rule in the introduction."""
    diagonal = A.diagonal()
    if (A != A.T.conj()).nnz or not (diagonal.real > 0).all():
        return False
    entries = A.tocoo()
    off_diagonal = entries.row != entries.col
    products = diagonal.real[entries.row] * diagonal.real[entries.col]
    if (abs(entries.data[off_diagonal]) ** 2 >= products[off_diagonal]).any():
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
    others = OTHERS | DEFINITE | matched(A)
    operators = operators | {kind: made(make, A) for kind, make in others.items()}
    return {
        kind: math.nan if M is None else iterations(cg, A, b, M, products=1) for kind, M in operators.items()
    }


def made(make, A):
    """The preconditioner; None where there is none for such a matrix."""
    try:
        return quietly(make, A)
    except ValueError:
        return None


def matched(A) -> dict:
    """The preconditioners with matched rows, where "auto" matches them."""
    return MATCHED if scaling_of(checked(A), "auto", False) is not None else {}


def bicgstab_counts(A) -> dict[str, float]:
    """The median over random permutations for each kind; infinite unless more than half of them converge.

    Forests depend on the numbers of the rows, and are made of the permuted matrix.
    """
    systems = list(permuted_systems(A))
    counts = {
        kind: median(systems, lambda P, order, make=make: quietly(make, P, np.argsort(order)))
        for kind, make in FORESTS.items()
    }
    for kind, make in (OTHERS | matched(A)).items():
        M = made(make, A)
        permute = partial(permuted_operator, M)
        counts[kind] = math.nan if M is None else median(systems, lambda P, order, M=permute: M(order))
    return counts


def permuted_systems(A):
    """(permuted matrix, right-hand side, order) of each permutation."""
    b = right_side(A)
    for seed in range(PERMUTATIONS if A.nnz <= MANY_ENTRIES else FEWER_PERMUTATIONS):
        order = np.random.default_rng(seed).permutation(A.shape[0])
        yield sp.csr_array(A[order][:, order]), b[order], order


def median(systems, make) -> float:
    """Of BiCGStab's iterations; infinite as soon as half of the systems have not been solved."""
    counts = []
    for P, b, order in systems:
        counts.append(iterations(bicgstab, P, b, make(P, order), products=2))
        if 2 * sum(map(math.isinf, counts)) > len(systems):
            return math.inf
    return statistics.median(counts)


def right_side(A):
    n = A.shape[0]
    return A @ np.sin(16 * np.pi * np.arange(n) / n)


def iterations(solver, A, b, M, products) -> float:
    """Iterations of a solver that makes `products` products with A in each; half ones count as whole."""
    count = 0

    def product(x):
        nonlocal count
        count += 1
        return A @ x

    counted = LinearOperator(A.shape, product, dtype=A.dtype)
    with np.errstate(all="ignore"):
        x, info = solver(counted, b, rtol=RTOL, maxiter=MOST_ITERATIONS, M=M)
        is_solved = info == 0 and np.linalg.norm(b - A @ x) <= LARGEST_RESIDUAL * np.linalg.norm(b)
    return -(-count // products) if is_solved else math.inf


def solved(A) -> tuple[float, str]:
    """The iterations of all trials of `lf.solve`, and its choice."""
    report = lf.SolveReport()
    options = {"rtol": RTOL, "maxiter": MOST_ITERATIONS, "report": report}
    _, info = quietly(lambda: lf.solve(A, right_side(A), **options))
    if info or report.chosen is None:
        return math.inf, ""
    chosen = ", ".join(filter(None, (report.chosen.name, report.chosen.solver)))
    return sum(trial.iterations for trial in report.trials), chosen


def is_solved_directly(A) -> bool:
    """Whether LU factors with row exchanges reach the residual: b - A x ends above it otherwise."""
    b = right_side(A)
    try:
        x = splu(sp.csc_array(A)).solve(b)
    except RuntimeError:  # exactly singular
        return False
    return bool(np.linalg.norm(b - A @ x) <= RTOL * np.linalg.norm(b))


def jobs(only=None):
    """(group, name, whether it is positive definite, solver) of all systems."""
    found = [("real", name, *facts_of(line)) for name, line in manifest().items() if not is_directed(line)]
    found += [("grids", name, True, "CG") for name in GRIDS] + [("grids", "ANISO2 300²", True, "BiCGStab")]
    found += [("generated", name, None, None) for name in GENERATED]
    return [job for job in found if not only or job[1] in only]


def facts_of(line):
    """Whether it is known to be definite, and its solver: CG for Laplacians of graphs."""
    return line["spd"] == "1", "CG" if line["all_ones"] == "True" else None


def task(job):
    """The line of a job, or the reason why there is none."""
    start = time.perf_counter()
    try:
        line = line_of(*job)
    except Exception as error:
        traceback.print_exc()
        line = f"{job[1]}: {type(error).__name__}: {error}"
    return job, line, time.perf_counter() - start


def line_of(group, name, definite, solver) -> Line:
    if group != "real":
        return measured(name, definite, solver)
    title = f"{name}, Laplacian" if solver == "CG" else name
    return measured(title, definite, solver, real_matrices.system(manifest()[name]))


def run(jobs, processes, finished) -> dict[tuple, Line | str]:
    """The lines of all jobs, in their order; one thread per process. `finished` has and gets those made."""
    os.environ |= {"NUMBA_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    found, start = read_lines(finished), time.perf_counter()
    left = [job for job in jobs if job not in found]
    with get_context("spawn").Pool(processes) as pool:
        for job, line, seconds in pool.imap_unordered(task, left):
            found[job] = line
            if isinstance(line, Line):
                add_line(finished, job, line)
            times = f"{seconds:.0f} s of {time.perf_counter() - start:.0f}"
            print(f"{len(found)}/{len(jobs)} {told(line)}; {times}", file=sys.stderr, flush=True)
    return {job: found[job] for job in jobs}


def read_lines(path) -> dict[tuple, Line]:
    """The lines in a file, by their jobs."""
    if path is None or not Path(path).exists():
        return {}
    records = map(json.loads, Path(path).read_text(encoding="utf-8").splitlines())
    return {tuple(record["job"]): line_from(record["line"]) for record in records}


def line_from(fields) -> Line:
    return Line(**fields | {name: tuple(fields[name]) for name in ("coverages", "remarks")})


def add_line(path, job, line) -> None:
    if path is not None:
        with open(path, "a", encoding="utf-8") as file:
            print(json.dumps({"job": job, "line": asdict(line)}, ensure_ascii=False), file=file)


def told(line) -> str:
    """One line on the screen."""
    if isinstance(line, str):
        return line
    counts = " ".join(f"{count:.0f}" for count in line.iterations.values())
    return f"{line.name}: {line.solver} {counts}, solve {line.solve:.0f} {line.chosen}"


def main(arguments=None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--write", action="store_true", help=f"update {DOCUMENT.name} instead of printing it")
    parser.add_argument("--only", nargs="+", metavar="NAME", help="only these systems")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--lines", metavar="FILE", help="keep finished lines here, and take them from there")
    options = parser.parse_args(arguments)
    found = run(jobs(options.only), options.processes, options.lines)
    left_out = [name for name, line in manifest().items() if is_directed(line)]
    lines = [(group, line) for (group, *_), line in found.items() if isinstance(line, Line)]
    text = markdown(lines, left_out)
    if options.write:
        DOCUMENT.write_text(text, encoding="utf-8")
    else:
        print(text)
    return int(len(lines) < len(found))


if __name__ == "__main__":
    sys.exit(main())
