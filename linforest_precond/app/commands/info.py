"""``linforest info``: properties of a matrix, and coverage and cost of each preconditioner."""

from __future__ import annotations

import json
import textwrap
from argparse import ArgumentParser, Namespace
from collections.abc import Callable
from dataclasses import asdict, replace
from functools import partial
from typing import Any

import numpy as np

from linforest_precond import matrices
from linforest_precond.app.commands import inputs
from linforest_precond.app.commands.advice import (
    MOST_ITERATIONS,
    TOLERANCE,
    advice,
    gather_misses,
    order_advice,
    trial,
)
from linforest_precond.app.commands.inputs import watched
from linforest_precond.app.commands.preconditioners import (
    CHOICES,
    COMPARED,
    NamedKind,
    add_multigrid_options,
    multigrid_options,
    preconditioner_name,
)
from linforest_precond.app.commands.properties import Properties, properties
from linforest_precond.app.interrupts import Exit
from linforest_precond.backends import Backend, backend_named
from linforest_precond.backends.annotations import Array, SparseMatrix
from linforest_precond.matrices.arrays import on_device
from linforest_precond.records.printing import as_columns, as_table, one_line
from linforest_precond.study.store import plain

# Limits for the repeated calls of a measurement.
REPEATS, MILLISECONDS = 30, 200.0
WIDTH = 108
LONGEST_TEXT = 300
ORIGIN = ("title", "kind", "group", "author", "date", "licence", "citation")

EPILOG = f"""\
{inputs.MATRIX_HELP}

coverage: the share of the off-diagonal weight (the sum of magnitudes) that lies in the preconditioner's
bands. memory: of the preconditioner, and the peak during its setup, both estimated. setup and apply: measured
on this machine, in milliseconds and in units of one sparse matrix-vector product A @ x (SpMV). --try:
iterations until the relative residual is {TOLERANCE:g}, at most {MOST_ITERATIONS}, for b = A times a random
vector; the solver is cg, fcg or bicgstab.

examples:
  linforest info A.mtx
  linforest info A.mtx --try
  linforest info A.mtx --try --precond jacobi,multilevel --smoother tridiagonal
  linforest info HB/494_bus
  linforest info standin:atmosmodm/4 --device cuda
  linforest info aniso2:500 --json"""


def add_arguments(parser: ArgumentParser) -> None:
    inputs.add_arguments(parser)
    parser.add_argument(
        "--precond",
        type=inputs.some_of(CHOICES, "name", preconditioner_name),
        default=COMPARED,
        metavar="NAME[,NAME]",
        help=f"only these of {', '.join(CHOICES)}",
    )
    add_multigrid_options(parser)
    parser.add_argument(
        "--try", dest="trials", action="store_true", help="run short trial solves, and name the winner"
    )
    parser.add_argument("--quiet", action="store_true", help="no live line during trial solves")
    parser.add_argument("--json", action="store_true", help="print as JSON")


def run(arguments: Namespace) -> int:
    inputs.check_device(arguments.device)
    A = matrices.load(arguments.matrix, offline=arguments.offline)
    found = properties(A)
    spmv: float | None = None
    measured: dict[str, dict[str, Any]] = {}
    misses: dict[str, float] = {}
    sentences: list[str] = []
    if found.square and found.rows:
        matrix = on_device(A, arguments.device)
        spmv, measured = _measure(matrix, found, arguments)
        misses = gather_misses(A)
        sentences = [order_advice(misses)]
    report = {
        "name": arguments.matrix,
        "device": arguments.device,
        "origin": _origin(arguments.matrix),
        "properties": asdict(found),
        "spmv_milliseconds": spmv,
        "preconditioners": measured,
        "gather_misses": misses,
        "advice": advice(found, measured, name=arguments.matrix) + sentences,
    }
    print(json.dumps(plain(report), indent=2) if arguments.json else _text(report, found))
    return Exit.DONE


def _measure(
    A: SparseMatrix, found: Properties, arguments: Namespace
) -> tuple[float, dict[str, dict[str, Any]]]:
    """Milliseconds of one SpMV, and a row of the table for every preconditioner."""
    backend = backend_named(arguments.device)
    r = backend.xp.ones(A.shape[0], A.dtype)
    spmv = _milliseconds(lambda: A @ r, backend)
    solver = ("cg" if found.fits_cg else "bicgstab") if arguments.trials else None
    options = {"multilevel": multigrid_options(arguments)}
    rows = {}
    with watched(arguments.quiet) as verbose:
        for name in arguments.precond:
            choice = replace(CHOICES[name], make=partial(CHOICES[name].make, **options.get(name, {})))
            M, rows[name] = _row(choice, A, r, found.pattern_symmetric, spmv, backend)
            if solver is not None:
                rows[name]["trial"] = trial(A, M, solver, verbose)
    return spmv, rows


def _row(
    choice: NamedKind, A: SparseMatrix, r: Array, symmetric: bool, spmv: float, backend: Backend
) -> tuple[Any, dict[str, Any]]:
    M = choice.make(A)
    memory = choice.memory(A, symmetric)
    setup = _milliseconds(lambda: choice.make(A), backend)
    apply = _milliseconds(lambda: M @ r, backend)
    return M, {
        "title": choice.title,
        "coverage": float(M.coverage),
        "operator_bytes": memory.operator,
        "setup_bytes": memory.setup,
        "setup_milliseconds": setup,
        "setup_spmv": setup / spmv,
        "apply_milliseconds": apply,
        "apply_spmv": apply / spmv,
        "trial": None,
    }


def _milliseconds(call: Callable[[], Any], backend: Backend) -> float:
    """The median of several calls, after one that compiles."""
    call()
    samples: list[float] = []
    while len(samples) < REPEATS and sum(samples) < MILLISECONDS:
        watch = backend.runtime.streams.Stopwatch()
        call()
        watch.stop()
        samples.append(float(watch.milliseconds()))
    return float(np.median(samples))


def _origin(name: str) -> dict[str, str]:
    """Author, kind and licence of the matrix, from its file or the cached index of the collection."""
    try:
        known = matrices.describe(name, offline=True)
    except (LookupError, ValueError, OSError):
        return {}
    fields = {field: getattr(known, field) for field in ORIGIN}
    return {field: str(value) for field, value in fields.items() if value is not None}


def _text(report: dict[str, Any], found: Properties) -> str:
    origin = ((field, one_line(text, LONGEST_TEXT)) for field, text in report["origin"].items())
    parts = [as_table(one_line(report["name"]), *origin, *_facts(found))]
    if report["preconditioners"]:
        parts.append(_preconditioners(report))
    return "\n\n".join([*parts, "\n".join(textwrap.fill(sentence, WIDTH) for sentence in report["advice"])])


def _facts(found: Properties) -> list[tuple[str, str]]:
    mean = found.entries / max(found.rows, 1)
    zeros = f", and {found.explicit_zeros:,} explicit zeros" if found.explicit_zeros else ""
    facts = [
        ("rows", f"{found.rows:,}" if found.square else f"{found.rows:,}, and {found.columns:,} columns"),
        ("entries", f"{found.entries:,}{zeros}"),
        ("entries per row", f"{mean:.2f} ({found.fewest:,} to {found.most:,})"),
        ("dtype", f"{found.dtype}, magnitudes {found.smallest:.3g} to {found.largest:.3g}"),
    ]
    if not found.square:
        return facts
    return [
        *facts,
        ("symmetric", _symmetry(found)),
        ("diagonal", _diagonal(found)),
        ("dominant rows", _count(found.dominant_rows, found.rows)),
        ("empty rows", f"{found.empty_rows:,}"),
        ("components", f"{found.components:,}"),
    ]


def _symmetry(found: Properties) -> str:
    if found.symmetric:
        return "yes"
    if found.to_rounding:
        return "no, but Hermitian to rounding" if found.dtype.startswith("complex") else "to rounding"
    if found.hermitian:
        return "no, but Hermitian"
    return "no, but the pattern is" if found.pattern_symmetric else "no, nor is the pattern"


def _diagonal(found: Properties) -> str:
    if found.positive_diagonal:
        return "positive"
    return f"zero in {found.zero_diagonal:,} rows" if found.zero_diagonal else "not positive"


def _count(part: int, whole: int) -> str:
    return "all" if part == whole else f"{part:,} ({part / whole:.1%})"


def _preconditioners(report: dict[str, Any]) -> str:
    tried = any(row["trial"] for row in report["preconditioners"].values())
    rows = [
        ("", "", "", "memory", "memory", "setup", "setup", "apply", "apply", ""),
        ("--precond", "", "coverage", "", "in setup", "ms", "SpMV", "ms", "SpMV", "iterations" * tried),
    ]
    for name, row in report["preconditioners"].items():
        memory = (_bytes(row[key]) for key in ("operator_bytes", "setup_bytes"))
        times = (
            _digits(row[f"{step}_{unit}"]) for step in ("setup", "apply") for unit in ("milliseconds", "spmv")
        )
        coverage, iterations = f"{row['coverage']:.3f}", _iterations(row["trial"])
        rows.append((name, row["title"], coverage, *memory, *times, iterations))
    spmv = f"one SpMV (A @ x): {_digits(report['spmv_milliseconds'])} ms on {report['device']}"
    return f"{as_columns(rows, words=(0, 1))}\n{spmv}"


def _iterations(found: dict[str, Any] | None) -> str:
    if found is None:
        return ""
    return f"{found['iterations']:,}" if found["converged"] else f"> {found['iterations']:,}"


def _digits(value: float) -> str:
    """Three digits, and no exponent for large numbers."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def _bytes(count: int) -> str:
    for unit, size in (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
        if count >= size:
            return f"{_digits(count / size)} {unit}"
    return f"{count} B"
