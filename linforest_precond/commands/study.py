"""``linforest study``: coverage, convergence and performance on many matrices, with a report."""

from __future__ import annotations

import json
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections import Counter
from pathlib import Path
from typing import Any

from linforest_precond.commands.inputs import add_device, check_device
from linforest_precond.commands.outcome import Exit
from linforest_precond.printing import one_line
from linforest_precond.study import run_study
from linforest_precond.study.settings import PARTS

HELP = "run the convergence study and write a report (HTML, tables, pictures)"
EPILOG = """\
A CASE is a matrix of the paper (aniso2, ecology1), a generator with its size (aniso2:500), a file (A.mtx),
or any name that linforest info accepts. By default --quick runs seven small matrices in a minute or two, and
--full all 22 matrices of the paper at their original sizes. A matrix that cannot be downloaded is replaced by
a generated stand-in, and marked as such.

Every finished case is saved in DIR/cases; after Ctrl-C the report shows the finished cases, and --resume
continues from there.

examples:
  linforest study
  linforest study aniso2:500 my_matrix.mtx --out my-study
  linforest study --full --device cuda --resume
  linforest study ecology1 --offline --only coverage,convergence"""


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("cases", nargs="*", metavar="CASE", help="matrices to study (default: see below)")
    size = parser.add_mutually_exclusive_group()
    size.add_argument("--quick", action="store_true", help="small matrices (the default)")
    size.add_argument("--full", action="store_true", help="the matrices of the paper at their original sizes")
    add_device(parser)
    parser.add_argument(
        "--out",
        default="linforest-study",
        metavar="DIR",
        help="folder for the report (default: linforest-study in the current folder)",
    )
    parser.add_argument("--offline", action="store_true", help="download nothing")
    parser.add_argument("--resume", action="store_true", help="reuse the finished cases in DIR")
    parser.add_argument(
        "--rtol", type=float, default=1e-10, help="relative residual tolerance (default: 1e-10)"
    )
    parser.add_argument("--maxiter", type=int, metavar="N", help="maximum number of iterations of a solve")
    parser.add_argument(
        "--permutations",
        type=int,
        metavar="K",
        help="also solve K randomly permuted systems, and report the median of their iterations",
    )
    parser.add_argument(
        "--only",
        type=_parts,
        default=PARTS,
        metavar="PART[,PART]",
        help=f"only these parts of the study: {', '.join(PARTS)}",
    )
    parser.add_argument("--quiet", action="store_true", help="no progress, only the path of the report")


def run(arguments: Namespace) -> int:
    check_device(arguments.device)
    report = run_study(
        arguments.cases or None,
        full=arguments.full,
        device=arguments.device,
        out=arguments.out,
        offline=arguments.offline,
        resume=arguments.resume,
        rtol=arguments.rtol,
        maxiter=arguments.maxiter,
        permutations=arguments.permutations,
        parts=arguments.only,
        progress=not arguments.quiet,
    )
    study = json.loads((Path(report).parent / "study.json").read_text(encoding="utf-8"))
    print(_summary(study["cases"]))
    print(f"report: {one_line(str(report))}")
    print(f"        {Path(report).resolve().as_uri()}")
    return _exit(study, named=bool(arguments.cases))


def _summary(cases: list[dict[str, Any]]) -> str:
    """The number of cases by status, and the errors."""
    words = {"done": "done", "failed": "failed", "missing": "not available"}
    counts = Counter(words[case["status"]] for case in cases)
    shown = [f"{counts[word]} {word}" for word in words.values() if counts[word]]
    errors = [
        "  " + one_line(f"{case['name']}: {case['error']}") for case in cases if case["status"] != "done"
    ]
    return "\n".join([f"cases: {', '.join(shown) or 'none'}", *errors])


def _exit(study: dict[str, Any], named: bool) -> Exit:
    """A missing matrix is an error only if the user named it."""
    statuses = {case["status"] for case in study["cases"]}
    if study["interrupted"]:
        return Exit.INTERRUPTED
    if "failed" in statuses:
        return Exit.NOT_CONVERGED
    return Exit.NOT_AVAILABLE if named and "missing" in statuses else Exit.DONE


def _parts(text: str) -> tuple[str, ...]:
    parts = tuple(part.strip() for part in text.split(",") if part.strip())
    unknown = [part for part in parts if part not in PARTS]
    if unknown or not parts:
        raise ArgumentTypeError(f"must name some of {', '.join(PARTS)}, separated by commas, got {text!r}")
    return parts
