"""Run a study: one case after the other, each saved when it is done, and a report at the end."""

from __future__ import annotations

import importlib.util
import os
import time
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from linforest_precond.study import machine
from linforest_precond.study.cases import Case, Missing, Source, properties, select
from linforest_precond.study.convergence import convergence
from linforest_precond.study.coverage import coverages
from linforest_precond.study.json_types import JsonObject
from linforest_precond.study.performance import performance
from linforest_precond.study.progress import Progress, showing
from linforest_precond.study.settings import PARTS, Settings
from linforest_precond.study.store import SCHEMA, Store, plain, write_json
from linforest_precond.study.warm import warm_up

TITLE = "Linear forests as preconditioners"
# The fields of a case before it is measured.
EMPTY = {
    "status": "failed",
    "error": None,
    "seconds": 0.0,
    **dict.fromkeys(("rows", "nnz", "symmetric", "mean_degree", *PARTS)),
}


def run_study(
    cases: Iterable[str] | None = None,
    *,
    full: bool = False,
    device: str = "cpu",
    out: str | os.PathLike[str] = "linforest-study",
    offline: bool = False,
    resume: bool = False,
    rtol: float = 1e-10,
    maxiter: int | None = None,
    permutations: int | None = None,
    parts: Sequence[str] = PARTS,
    progress: bool = True,
) -> Path:
    """
    Measure coverages, convergence and performance on many matrices, and write a report.

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
    resume : bool
        Reuse the cases that an earlier run with the same settings on the same machine has finished.
    rtol : float
        The relative residual at which a solve has converged.
    maxiter, permutations : int, optional
        The most iterations of a solve, and the number of permuted systems for the median of the iterations;
        None chooses them by the size of each matrix.
    parts : sequence of str
        Some of "coverage", "convergence" and "performance".
    progress : bool
        Report progress on the standard error output.

    Returns
    -------
    Path
        Of ``report.html``; ``study.json`` beside it holds all numbers. After Ctrl-C both contain the finished
        cases, and ``interrupted`` is true in ``study.json``.

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
    settings = Settings(device, full, float(rtol), maxiter, permutations, tuple(parts))
    selected = select(cases, full)
    folder = Path(out)
    _require_matplotlib()
    study = _opened(settings)
    stamp = {"mode": settings.mode, "settings": study["settings"], "machine": study["machine"]}
    session = Session(settings, Source(device, offline), Store(folder, stamp, resume))
    with showing(len(selected), progress) as shown:
        study["interrupted"] = session.run(selected, study["cases"], shown)
    return _written(study, folder)


def _opened(settings: Settings) -> JsonObject:
    return {
        "schema": SCHEMA,
        "title": TITLE,
        "started": _now(),
        "finished": None,
        "interrupted": False,
        "device": settings.device,
        "mode": settings.mode,
        "machine": machine.surroundings(settings.device),
        "settings": settings.as_dict(),
        "cases": [],
    }


def _written(study: JsonObject, folder: Path) -> Path:
    from linforest_precond.study.report import write_report  # brings Matplotlib

    study["finished"] = _now()
    write_json(folder / "study.json", study)
    return write_report(plain(study), folder)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def _require_matplotlib() -> None:
    """Fail before hours of work, not after them."""
    if importlib.util.find_spec("matplotlib") is None:
        raise ImportError('the report needs Matplotlib: pip install "linforest-precond[study]"')


class Session:
    """Runs the cases of a study."""

    def __init__(self, settings: Settings, source: Source, store: Store):
        self.settings, self.source, self.store = settings, source, store
        self.warm = False

    def run(self, cases: list[Case], records: list[JsonObject], shown: Progress) -> bool:
        """Append a record for each case; returns whether the user interrupted."""
        try:
            for case in cases:
                shown.working_on(case.title)
                free_memory(self.settings.device)
                records.append(self.one(case, shown))
                shown.finished(_line(records[-1]))
        except KeyboardInterrupt:
            shown.finished("interrupted; the report shows the finished cases")
            return True
        return False

    def one(self, case: Case, shown: Progress) -> JsonObject:
        """The record of a case: saved by an earlier run, or measured and saved now."""
        kept = self.store.kept(case)
        # Where a stand-in was used before, the matrix itself may be available by now.
        if kept is not None and kept["name"] == case.record()["name"]:
            return kept
        start = time.perf_counter()
        record = {**case.record(), **EMPTY}
        try:
            found, A = self.source.fetch(case)
            if kept is not None and kept["name"] == found.record()["name"]:
                return kept
            record |= found.record()
            self._prepare(shown)
            start = time.perf_counter()
            for fields in self._measured(A, found, shown):
                record |= fields
            record["status"] = "done"
        except Missing as error:
            record |= {"status": "missing", "error": str(error)}
        except Exception as error:
            record["error"] = f"{type(error).__name__}: {error}"
        record["seconds"] = time.perf_counter() - start
        self.store.keep(case, record)
        saved: JsonObject = plain(record)
        return saved

    def _prepare(self, shown: Progress) -> None:
        if not self.warm:
            shown.working_on("compiling")
            warm_up(self.settings)
            self.warm = True

    def _measured(self, A: Any, case: Case, shown: Progress) -> Iterator[JsonObject]:
        """The fields of a record, part by part: finished parts are kept when a later one fails."""
        yield properties(A)
        measures = {
            "coverage": coverages,
            "convergence": self._convergence,
            "performance": performance,
        }
        for part in self.settings.parts:
            shown.working_on(f"{case.title}: {part}")
            yield {part: measures[part](A)}

    def _convergence(self, A: Any) -> JsonObject:
        settings, nnz = self.settings, int(A.nnz)
        return convergence(
            A,
            rtol=settings.rtol,
            maxiter=settings.maxiter_for(nnz),
            permutations=settings.permutations_for(nnz),
        )


def free_memory(device: str) -> None:
    """Release the blocks of CuPy's memory pool: the next matrix may need all memory."""
    if device == "cuda":
        import cupy

        cupy.get_default_memory_pool().free_all_blocks()


def _line(record: JsonObject) -> str:
    words = {"done": f"done in {record['seconds']:.1f} s", "missing": "not available", "failed": "failed"}
    reason = "" if record["error"] is None else f": {record['error']}"
    return f"{record['title']}: {words[record['status']]}{reason}"
