"""`run_study`: `run_paper` for linear forests, with the options of that study in its signature."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path

from linforest_precond.study.forests.settings import PARTS
from linforest_precond.study.run import run_paper


def run_study(
    cases: Iterable[str] | None = None,
    *,
    full: bool = False,
    device: str = "cpu",
    out: str | os.PathLike[str] = "linforest-study",
    offline: bool = False,
    resume: bool = False,
    force: bool = False,
    rtol: float = 1e-10,
    maxiter: int | None = None,
    permutations: int | None = None,
    charge: str = "md5",
    ties: str = "index",
    repair: str = "none",
    precond: str | Sequence[str] = (),
    smoother: str = "auto",
    coarsening: str = "auto",
    cycle: str = "V",
    parts: Sequence[str] = PARTS,
    pictures: bool = False,
    progress: bool = True,
) -> Path:
    """
    Repeat the measurements of Klein & Strzodka (2022) on many matrices, and write a report.

    The paper's own configuration is measured, and ours beside it.

    Parameters
    ----------
    cases : iterable of str, optional
        Matrices of the paper by name (at a reduced size unless `full`), generators with a size
        (``"aniso2:500"``), files, or any other name that `linforest_precond.matrices.load` accepts. By
        default seven small matrices, or the paper's 22 if `full`.
    full : bool
        The paper's matrices at their original size. One that is not available is replaced by its stand-in.
    device : {"cpu", "cuda"}
        Where to run.
    out : path-like
        The folder for the report; finished cases are saved in its folder ``cases``.
    offline : bool
        Download nothing.
    force : bool
        Overwrite files that were not written by a study.
    resume : bool
        Reuse the cases that an earlier run with the same settings on the same machine has finished.
    rtol : float
        The relative residual at which a solve has converged.
    maxiter, permutations : int, optional
        The most iterations of a solve, and the number of permuted systems for the median of the iterations;
        None chooses them by the size of each matrix.
    charge, ties, repair : str
        The paper's configuration: the hash of the charges and the order among equal weights, as in
        `linforest_precond.graph.factor`, and the repair of its preconditioners, as in
        `linforest_precond.tridiagonal`. Ours, with the library's defaults, is measured beside it in any case.
    precond : str or sequence of str
        Further preconditioners to compare with: some of "multilevel", "ilu" and "approximate_inverse", with
        the library's defaults.
    smoother, coarsening, cycle : str
        Of "multilevel", as in `linforest_precond.multilevel`; the cycle is "V", "W" or "F".
    parts : sequence of str
        Some of "coverage", "convergence" and "performance".
    pictures : bool
        Write the figures as SVG files, too, into the folder ``figures``.
    progress : bool
        Report progress on the standard error output.

    Returns
    -------
    Path
        Of ``report.html``; ``study.json`` beside it holds all numbers. After Ctrl-C or SIGTERM both contain
        the finished cases, and ``interrupted`` is true in ``study.json``.

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
    return run_paper(
        "forests",
        cases,
        full=full,
        device=device,
        out=out,
        offline=offline,
        resume=resume,
        force=force,
        parts=parts,
        pictures=pictures,
        progress=progress,
        rtol=float(rtol),
        maxiter=maxiter,
        permutations=permutations,
        charge=charge,
        ties=ties,
        repair=repair,
        smoother=smoother,
        coarsening=coarsening,
        cycle=cycle,
        precond=(precond,) if isinstance(precond, str) else tuple(dict.fromkeys(precond)),
    )
