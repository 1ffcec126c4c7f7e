"""`run_study`: `run_paper` for linear forests."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from linforest_precond.study.run import run_paper


def run_study(
    cases: Iterable[str] | None = None,
    *,
    out: str | os.PathLike[str] = "linforest-study",
    precond: str | Sequence[str] = (),
    **options: Any,
) -> Path:
    """Repeat the measurements of Klein & Strzodka (2022) on many matrices, and write a report.

    The paper's own configuration is measured, and ours beside it.

    Parameters
    ----------
    cases : iterable of str, optional
        Matrices of the paper by name (at a reduced size unless `full`), generators with a size
        (``"aniso2:500"``), files, or any other name that `linforest_precond.matrices.load` accepts. By
        default seven small matrices, or the paper's 22 if `full`.
    out : path-like
        The folder for the report; finished cases are saved in its folder ``cases``.
    precond : str or sequence of str
        Further preconditioners to compare with: some of "multilevel", "ilu" and "approximate_inverse", with
        the library's defaults.
    **options
        Those of `run_paper`: `full`, where a matrix that is not available is replaced by its stand-in,
        `device`, `offline`, `resume`, `force`, `parts` (some of "coverage", "convergence" and "performance"),
        `pictures` and `progress`. And those of this study:

        - `rtol`, the relative residual at which a solve has converged, 1e-10 by default;
        - `maxiter` and `permutations`, the most iterations of a solve, and the number of permuted systems for
          the median of the iterations; None chooses them by the size of each matrix;
        - `charge`, `ties` and `repair`, the paper's configuration: the hash of the charges and the order
          among equal weights, as in `linforest_precond.graph.factor`, "md5" and "index" by default, and the
          repair of its preconditioners, as in `linforest_precond.tridiagonal`, "none" by default;
        - `smoother`, `coarsening` and `cycle` of "multilevel", as in `linforest_precond.multilevel`; the
          cycle is "V", "W" or "F".

    Returns
    -------
    Path
        As for `run_paper`.

    Examples
    --------
    >>> import json, tempfile
    >>> from linforest_precond.study import run_study
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     report = run_study(["aniso2:50"], out=folder, parts=["coverage"], progress=False)
    ...     study = json.loads((report.parent / "study.json").read_text(encoding="utf-8"))
    >>> study["cases"][0]["status"], round(study["cases"][0]["coverage"]["forest"], 2)
    ('done', 0.67)
    """
    further = (precond,) if isinstance(precond, str) else tuple(dict.fromkeys(precond))
    return run_paper("forests", cases, out=out, precond=further, **options)
