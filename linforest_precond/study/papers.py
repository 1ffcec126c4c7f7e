"""
The papers with a study, in the order of ``linforest study --help``.

How a paper's study is added:

1. A table in ``study/papers.toml``: the title, the citation, the default cases, and a case `warm_up` that is
   measured first, so that no time includes compilation.
2. A package ``study/NAME/``, listed in ``pyproject.toml``. It makes a `Paper` by `paper_of`
   (``study/paper.py`` describes the fields; ``study/traffic/`` is a small example) from

   - ``measures.py``: one function per part, ``(matrix, case, settings) -> dict`` of numbers, strings, lists
     and dicts, never empty. ``study.json`` holds them as ``study["cases"][i][part]``. The framework loads
     the matrix, catches exceptions, saves the case for ``--resume``, and handles Ctrl-C and SIGTERM.
   - a module of the inputs, where they are not matrices: ``own_case``, ``fetch`` and others.
   - ``tables.py``: functions from the study to records. The decorator `Tables.listing` of
     ``study/listings.py`` makes each a CSV file, a table of the report, or both. `done` of
     ``study/results.py`` gives the finished cases.
   - ``findings.py``: functions from records to a sentence, decorated by `Findings.about` of
     ``study/findings.py``.
   - ``plots.py``: functions from the study to a figure, listed in `FIGURES`; ``study/drawing.py`` has what
     figures share.
   - a template ``study/templates/NAME.html`` with the sections of the report. Its variables are the tables by
     name, ``plots``, ``matrices``, and the `variables` of the `Paper`. ``macros.html`` draws both.

3. The published numbers in ``study/NAME/published.csv``, which ``study/published.py`` reads, and a test that
   compares them with a second transcription in ``tests/study/published/``. CSV files are listed under
   ``package-data`` in ``pyproject.toml``.
4. An entry in `PAPERS` below.
5. Options of its own are fields of a subclass of `Settings`, and arguments in ``commands/study.py``.
6. ``study/NAME/reproduced.csv``: what is in the paper, whether it is here, and remarks, with nothing left out
   silently. `coverage_list` of ``macros.html`` shows it.
7. ``--quick``, the default, takes at most two minutes on two cores; ``--full`` has the paper's sizes.
"""

from __future__ import annotations

from linforest_precond.backends.arguments import as_choice
from linforest_precond.study.forests import FORESTS
from linforest_precond.study.graphs import GRAPHS
from linforest_precond.study.grid2d import GRID2D
from linforest_precond.study.joins import JOINS
from linforest_precond.study.matching import MATCHING
from linforest_precond.study.orderings import ORDERINGS
from linforest_precond.study.paper import Paper
from linforest_precond.study.rcm import RCM
from linforest_precond.study.scale import SCALE
from linforest_precond.study.traffic import TRAFFIC

PAPERS: dict[str, Paper] = {
    paper.name: paper for paper in (FORESTS, RCM, MATCHING, GRAPHS, ORDERINGS, TRAFFIC, SCALE, JOINS, GRID2D)
}


def paper_named(name: str) -> Paper:
    """The study of a paper by its name."""
    return PAPERS[as_choice("paper", name, PAPERS)]
