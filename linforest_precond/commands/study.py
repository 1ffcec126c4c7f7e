"""``linforest study``: coverage, convergence and speed on many matrices, written up as a report."""

from __future__ import annotations

import json
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections import Counter
from pathlib import Path
from typing import Any

from linforest_precond.commands.inputs import add_device, check_device
from linforest_precond.commands.outcome import Exit
from linforest_precond.study import run_study
from linforest_precond.study.settings import PARTS

HELP = "run the convergence study and write a report (HTML, tables, pictures)"
EPILOG = """\
A CASE is a matrix of the paper (aniso2, ecology1), a generator with its size (aniso2:500), a file (A.mtx),
or any name that linforest info takes. Without one, --quick takes seven small matrices and needs a minute or
two, --full all 22 matrices of the paper at their sizes. A matrix that cannot be downloaded is replaced by a
generated one that resembles it, and marked so.

While it runs, every finished case is kept in DIR/cases; after Ctrl-C the report shows what is done, and
--resume goes on from there.

examples:
  linforest study
  linforest study aniso2:500 my_matrix.mtx --out my-study
  linforest study --full --device cuda --resume
  linforest study ecology1 --offline --only coverage,convergence"""


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("cases", nargs="*", metavar="CASE", help="matrices to study; none: the usual list")
    size = parser.add_mutually_exclusive_group()
    size.add_argument("--quick", action="store_true", help="small matrices (the default)")
    size.add_argument("--full", action="store_true", help="the matrices of the paper at their sizes")
    add_device(parser)
    parser.add_argument(
        "--out",
        default="linforest-study",
        metavar="DIR",
        help="folder for the report (default: linforest-study in the current folder)",
    )
    parser.add_argument("--offline", action="store_true", help="download nothing")
    parser.add_argument("--resume", action="store_true", help="keep the finished cases that DIR holds")
    parser.add_argument("--rtol", type=float, default=1e-10, help="residual to reach (default: 1e-10)")
    parser.add_argument("--maxiter", type=int, metavar="N", help="most iterations of a solve")
    parser.add_argument(
        "--permutations",
        type=int,
        metavar="K",
        help="solve K randomly permuted systems too, and tell the median of their iterations",
    )
    parser.add_argument(
        "--only",
        type=_parts,
        default=PARTS,
        metavar="PART[,PART]",
        help=f"not the whole study but parts of it: {', '.join(PARTS)}",
    )
    parser.add_argument("--quiet", action="store_true", help="no progress, only where the report lies")


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
    print(f"report: {report}")
    print(f"        {Path(report).resolve().as_uri()}")
    return _exit(study, named=bool(arguments.cases))


def _summary(cases: list[dict[str, Any]]) -> str:
    """How many cases ended how, and what went wrong."""
    words = {"done": "done", "failed": "failed", "missing": "not at hand"}
    counts = Counter(words[case["status"]] for case in cases)
    shown = [f"{counts[word]} {word}" for word in words.values() if counts[word]]
    trouble = [f"  {case['name']}: {case['error']}" for case in cases if case["status"] != "done"]
    return "\n".join([f"cases: {', '.join(shown) or 'none'}", *trouble])


def _exit(study: dict[str, Any], named: bool) -> Exit:
    """A matrix that the user named must be there; of the usual list, what is not at hand is left out."""
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
