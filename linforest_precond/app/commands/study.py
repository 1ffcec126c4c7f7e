"""``linforest study``: repeat the measurements of a paper, and write a report."""

from __future__ import annotations

import difflib
import json
from argparse import SUPPRESS, ArgumentParser, Namespace
from collections import Counter
from pathlib import Path
from typing import Any

from linforest_precond.app.commands.inputs import add_device, check_device
from linforest_precond.app.commands.preconditioners import add_multigrid_options, preconditioner_name
from linforest_precond.app.interrupts import Exit
from linforest_precond.backends.arguments import integer, number
from linforest_precond.graph.forest.factor import CHARGES, TIES
from linforest_precond.matrices import MatrixNotAvailable
from linforest_precond.precond.tridiagonal.tridiagonal_part import REPAIRS
from linforest_precond.records.printing import one_line
from linforest_precond.study import run_paper
from linforest_precond.study.forests.settings import FURTHER
from linforest_precond.study.paper import Paper
from linforest_precond.study.papers import PAPERS

DEFAULT = "forests"
SEE = "(see linforest study --help)"


# The paper's own setting is the default; ours is measured beside it in any case.
FOREST_CHOICES = (
    ("charge", CHARGES, "hash of the charges in the paper's configuration (default: md5)"),
    ("ties", TIES, "order among equal weights in the paper's configuration (default: index)"),
    ("repair", REPAIRS, "repair of the paper's preconditioners (default: none)"),
)


def _listed(paper: Paper) -> str:
    """A paper's lines in the help: the study's name and title, whose it is, and its parts."""
    whose = f"{paper.title}: {paper.reference.authors},"
    lines = (whose, paper.reference.title, f"parts: {', '.join(paper.parts)}")
    return f"  {paper.name:10}" + f"\n{'':12}".join(lines)


PAPER_HELP = "\n".join(map(_listed, PAPERS.values()))
EPILOG = f"""\
PAPER is one of
{PAPER_HELP}

and {DEFAULT} by default. A matrix that has the name of a paper is given as a file (./rcm).

A CASE is a matrix of the paper (aniso2, ecology1), a generator with its size (aniso2:500), a file (A.mtx),
or any name that linforest info accepts; some papers have inputs of their own (graphs 1000@0.25, orderings
shuffled:poisson2d:500, traffic packets:20, joins KOSARAK@5000). By default --quick runs small matrices in a
minute or two, and --full the paper's at their original sizes. A matrix that cannot be downloaded is replaced
by a generated stand-in where there is one, and marked as such.

Every finished case is saved in DIR/cases; after Ctrl-C or SIGTERM the report shows the finished cases, and
--resume continues from there.

examples:
  linforest study
  linforest study aniso2:500 my_matrix.mtx --out my-study
  linforest study --full --device cuda --resume
  linforest study matching --quick
  linforest study ecology1 --offline --only coverage,convergence"""


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("paper", nargs="?", metavar="PAPER", help=f"see below (default: {DEFAULT})")
    parser.add_argument("cases", nargs="*", metavar="CASE", help="matrices to study (default: see below)")
    size = parser.add_mutually_exclusive_group()
    size.add_argument("--quick", action="store_true", help="small matrices (the default)")
    size.add_argument("--full", action="store_true", help="the matrices of the paper at their original sizes")
    add_device(parser)
    parser.add_argument(
        "--out",
        metavar="DIR",
        help="folder for the report (default: linforest-study in the current folder, "
        "linforest-study-PAPER for the other papers)",
    )
    parser.add_argument("--offline", action="store_true", help="download nothing")
    parser.add_argument("--resume", action="store_true", help="reuse the finished cases in DIR")
    parser.add_argument("--force", action="store_true", help="overwrite files that no study has written")
    parser.add_argument(
        "--only", type=_parts, metavar="PART[,PART]", help="only these parts of the study (see below)"
    )
    parser.add_argument("--pictures", action="store_true", help="write the figures to DIR/figures, too")
    parser.add_argument(
        "--markdown", metavar="FOLDER", help="write the report as a Markdown page, too, with its pictures"
    )
    parser.add_argument("--quiet", action="store_true", help="no progress, only the path of the report")
    _add_options(parser)


def _add_options(parser: ArgumentParser) -> None:
    """The options of single papers: absent unless given, so that the paper's own default holds."""
    group = parser.add_argument_group("options of single papers")
    group.add_argument(
        "--rtol", type=number, default=SUPPRESS, help="forests: relative residual tolerance (default: 1e-10)"
    )
    group.add_argument(
        "--maxiter", type=integer, default=SUPPRESS, metavar="N", help="forests: most iterations of a solve"
    )
    group.add_argument(
        "--permutations",
        type=integer,
        default=SUPPRESS,
        metavar="K",
        help="forests: also solve K randomly permuted systems, and report the median of their iterations; "
        "matching: average over K random orders of the vertices",
    )
    group.add_argument(
        "--precond",
        type=_preconditioners,
        default=SUPPRESS,
        metavar="NAME[,NAME]",
        help=f"forests: further preconditioners to compare with: {', '.join(FURTHER)}",
    )
    add_multigrid_options(parser)
    for name, choices, text in FOREST_CHOICES:
        group.add_argument(f"--{name}", choices=choices, default=SUPPRESS, help=text)


def run(arguments: Namespace) -> int:
    check_device(arguments.device)
    paper, cases = _paper_and_cases(arguments)
    try:
        report = _report(arguments, paper, cases)
    except MatrixNotAvailable as error:
        close = difflib.get_close_matches(arguments.paper, PAPERS, 1)
        if not close or arguments.paper in PAPERS:
            raise
        what = str(error).partition("; did you mean")[0]  # a matrix of a similar name is less likely
        raise MatrixNotAvailable(f"{what}; did you mean the paper {close[0]}?") from None
    study = json.loads((Path(report).parent / "study.json").read_text(encoding="utf-8"))
    print(_summary(study["cases"]))
    print(f"report: {one_line(str(report))}")
    print(f"        {Path(report).resolve().as_uri()}")
    return _exit(study, named=bool(cases))


def _report(arguments: Namespace, paper: Paper, cases: list[str]) -> Path:
    return run_paper(
        paper.name,
        cases or None,
        full=arguments.full,
        device=arguments.device,
        out=arguments.out or ("linforest-study" if paper.name == DEFAULT else None),
        offline=arguments.offline,
        resume=arguments.resume,
        force=arguments.force,
        parts=_checked_parts(arguments.only, paper),
        pictures=arguments.pictures,
        markdown=arguments.markdown,
        progress=not arguments.quiet,
        **_options(arguments, paper),
    )


def _paper_and_cases(arguments: Namespace) -> tuple[Paper, list[str]]:
    """The first word is a case of the default paper unless it is the name of a paper."""
    if arguments.paper in PAPERS:
        return PAPERS[arguments.paper], arguments.cases
    first = [] if arguments.paper is None else [arguments.paper]
    return PAPERS[DEFAULT], first + arguments.cases


def _options(arguments: Namespace, paper: Paper) -> dict[str, Any]:
    """The options of single papers that were given."""
    options = set().union(*(each.options for each in PAPERS.values()))
    given = {name: value for name, value in vars(arguments).items() if name in options}
    for name in given:
        if name not in paper.options:
            takers = [other.name for other in PAPERS.values() if name in other.options]
            raise ValueError(f"--{name} is an option of {' and '.join(takers)}, not of {paper.name} {SEE}")
    return given


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
        return Exit.TERMINATED if study.get("ended_by") == "SIGTERM" else Exit.INTERRUPTED
    if "failed" in statuses:
        return Exit.NOT_CONVERGED
    return Exit.NOT_AVAILABLE if named and "missing" in statuses else Exit.DONE


def _preconditioners(text: str) -> tuple[str, ...]:
    return tuple(preconditioner_name(name) for name in _parts(text))


def _parts(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(",") if part.strip())


def _checked_parts(parts: tuple[str, ...] | None, paper: Paper) -> tuple[str, ...] | None:
    if parts is None or (parts and set(parts) <= set(paper.parts)):
        return parts
    known, got = ", ".join(paper.parts), ", ".join(parts)
    raise ValueError(f"--only must name some of {known}, separated by commas, got {got!r} {SEE}")
