"""
The papers with a study, in the order of ``linforest study --help``.

How a paper's study is added:

1. A package ``study/NAME/`` with a module ``paper.py`` that makes a `Paper` (``study/paper.py`` has its
   fields; ``study/matching/paper.py`` is a small example). The work is in functions from data to data:

   - ``select(names, full)`` gives the cases; `named_cases` of ``study/cases.py`` understands every name that
     `linforest_precond.matrices.load` does. For other inputs, a `Case` with any unique name and a ``fetch``.
   - one function per part of the study, ``(matrix, case, settings) -> dict`` of numbers, strings, lists and
     dicts, never empty. ``study.json`` holds them as ``study["cases"][i][part]``, and arrays of NumPy are
     not among them. The framework loads the matrix, catches failures, saves the case for ``--resume``, and
     deals with Ctrl-C and SIGTERM.
   - ``tables(study)``, ``figures(study)``, ``findings(study)`` and ``report(study)`` from that file. `done`
     of ``study/results.py`` gives the finished cases, ``study/drawing.py`` the style of figures, and
     ``study/report_tables.py`` cells with published values. A `Listing` of ``study/listings.py`` is a table
     of both, the CSV file and the report (``study/traffic/`` is made of them).
   - a template ``study/templates/NAME.html`` with the sections of the report; ``report(study)`` gives its
     variables, among them the rows of its tables, and ``macros.html`` has tables and figures.

2. The published numbers as ``study/NAME/published.csv``, listed under ``package-data`` in ``pyproject.toml``,
   a function in ``study/published.py`` that reads them, and a test that compares them with a second
   transcription in ``tests/study/published/``.
3. An entry in `PAPERS` below, and the package in the list of ``pyproject.toml``.
4. Options of its own are fields of a subclass of `Settings`, and arguments in ``commands/study.py``.
5. A section that lists what is in the paper and what is here (`coverage_list` of ``macros.html``), with
   nothing left out silently.
6. ``--quick``, the default, takes at most two minutes on two cores; ``--full`` has the paper's sizes.
"""

from __future__ import annotations

from linforest_precond.backends.arguments import as_choice
from linforest_precond.study.forests.paper import FORESTS
from linforest_precond.study.graphs.paper import GRAPHS
from linforest_precond.study.grid2d.paper import GRID2D
from linforest_precond.study.joins.paper import JOINS
from linforest_precond.study.matching.paper import MATCHING
from linforest_precond.study.orderings.paper import ORDERINGS
from linforest_precond.study.paper import Paper
from linforest_precond.study.rcm.paper import RCM
from linforest_precond.study.scale.paper import SCALE
from linforest_precond.study.traffic.paper import TRAFFIC

PAPERS: dict[str, Paper] = {
    paper.name: paper
    for paper in (
        FORESTS,
        RCM,
        MATCHING,
        GRAPHS,
        ORDERINGS,
        TRAFFIC,
        SCALE,
        JOINS,
        GRID2D,
    )
}


def paper_named(name: str) -> Paper:
    """The study of a paper by its name."""
    return PAPERS[as_choice("paper", name, PAPERS)]
