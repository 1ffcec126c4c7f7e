"""Run the study of a paper: measure and save case by case, then write the report."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from linforest_precond.backends.cpu.runtime.jit import threads_for_small_arrays
from linforest_precond.matrices.download.places import MatrixNotAvailable
from linforest_precond.package_imports import require_extra
from linforest_precond.records.progress import Progress, showing
from linforest_precond.study import machine
from linforest_precond.study.cases import Case, Missing, Source
from linforest_precond.study.paper import Paper, Settings
from linforest_precond.study.papers import paper_named
from linforest_precond.study.report import write_document, write_pictures, write_report
from linforest_precond.study.results import JsonObject
from linforest_precond.study.signals import Terminated, Termination, termination
from linforest_precond.study.store import SCHEMA, Store, plain, require_own, write_json

# The fields of a case before it is measured; the parts of the study follow.
EMPTY = {
    "status": "failed",
    "error": None,
    "seconds": 0.0,
    **dict.fromkeys(("rows", "nnz", "symmetric", "mean_degree")),
}


def run_paper(
    paper: str,
    cases: Iterable[str] | None = None,
    *,
    full: bool = False,
    device: str = "cpu",
    out: str | os.PathLike[str] | None = None,
    offline: bool = False,
    resume: bool = False,
    force: bool = False,
    parts: Iterable[str] | None = None,
    pictures: bool = False,
    markdown: str | os.PathLike[str] | None = None,
    progress: bool = True,
    **options: Any,
) -> Path:
    """
    Repeat the measurements of a paper, and write a report with the published values beside the measured ones.

    Parameters
    ----------
    paper : str
        One of the names that ``linforest study --help`` lists.
    cases : iterable of str, optional
        Matrices, as for `run_study`; by default a quick selection, or all of the paper if `full`.
    full : bool
        The sizes of the paper.
    device : {"cpu", "cuda"}
        Where to run.
    out : path-like, optional
        The folder for the report; by default ``linforest-study-`` and the paper's name. Finished cases are
        saved in its folder ``cases``.
    offline : bool
        Download nothing.
    resume : bool
        Reuse the cases that an earlier run with the same settings on the same machine has finished.
    force : bool
        Overwrite files that were not written by a study.
    parts : iterable of str, optional
        Some parts of the study; all by default.
    pictures : bool
        Write the figures as SVG files, too, into the folder ``figures``.
    markdown : path-like, optional
        A folder for the report as a Markdown page, too, with its pictures.
    progress : bool
        Report progress on the standard error output.
    **options
        Options of the paper's own study.

    Returns
    -------
    Path
        Of ``report.html``; ``study.json`` beside it holds all numbers. After Ctrl-C or SIGTERM both contain
        the finished cases, and in ``study.json`` ``interrupted`` is true and ``ended_by`` names the signal.

    Raises
    ------
    FileExistsError
        A file that was not written by a study would be overwritten.
    MatrixNotAvailable
        None of the given `cases` can be found; nothing is written.

    Examples
    --------
    >>> import json, tempfile
    >>> from linforest_precond.study import run_paper
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     report = run_paper("forests", ["aniso2:50"], out=folder, parts=["coverage"], progress=False)
    ...     study = json.loads((report.parent / "study.json").read_text(encoding="utf-8"))
    >>> study["study"], study["cases"][0]["status"]
    ('forests', 'done')
    """
    chosen = paper_named(paper)
    settings = chosen.configured(device, full, parts, **options)
    named = cases is not None
    selected = chosen.select(cases, full)
    folder = Path(f"linforest-study-{paper}" if out is None else out)
    require_extra()
    require_own(folder, None if markdown is None else Path(markdown) / f"{paper}.md", force)
    study = _opened(chosen, settings)
    stamp = {name: study[name] for name in ("study", "mode", "settings", "machine")}
    with termination() as signals:
        session = Session(chosen, settings, Source(device, offline), Store(folder, stamp, resume), signals)
        with showing(len(selected), progress) as shown:
            study["ended_by"] = session.run(selected, study["cases"], shown)
        if named and not study["ended_by"]:
            _require_any(study["cases"])
        with signals.deferred():
            report = _written(chosen, study, folder, pictures)
            if markdown is not None:
                write_document(chosen, plain(study), Path(markdown))
    return report


def _opened(paper: Paper, settings: Settings) -> JsonObject:
    return {
        "schema": SCHEMA,
        "study": paper.name,
        "title": paper.title,
        "started": _now(),
        "finished": None,
        "interrupted": False,
        "ended_by": None,
        "device": settings.device,
        "mode": settings.mode,
        "machine": machine.surroundings(settings.device),
        "settings": settings.as_dict(),
        "cases": [],
    }


def _require_any(records: list[JsonObject]) -> None:
    """Raise where no matrix of all that the user named was found: there is nothing to report."""
    if records and all(record["status"] == "missing" for record in records):
        raise MatrixNotAvailable("; ".join(str(record["error"]) for record in records))


def _written(paper: Paper, study: JsonObject, folder: Path, pictures: bool) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    study |= {"finished": _now(), "interrupted": study["ended_by"] is not None}
    write_json(folder / "study.json", study)
    saved = plain(study)
    if pictures:
        write_pictures(paper, saved, folder / "figures")
    return write_report(paper, saved, folder)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


class Session:
    """Runs the cases of a study."""

    def __init__(
        self, paper: Paper, settings: Any, source: Source, store: Store, signals: Termination
    ) -> None:
        self.paper, self.settings, self.source, self.store = paper, settings, source, store
        self.signals = signals
        self.warm = False

    def run(self, cases: list[Case], records: list[JsonObject], shown: Progress) -> str | None:
        """Append a record for each case; returns the name of the signal that ended the run."""
        try:
            for case in cases:
                shown.working_on(case.title)
                free_memory(self.settings.device)
                records.append(self.one(case, shown))
                shown.finished(_line(records[-1]))
        except KeyboardInterrupt as error:
            shown.finished("interrupted; the report shows the finished cases")
            return "SIGTERM" if isinstance(error, Terminated) else "SIGINT"
        return None

    def one(self, case: Case, shown: Progress) -> JsonObject:
        """The record of a case: saved by an earlier run, or measured and saved now."""
        kept = self.store.kept(case)
        # Where the earlier run used a stand-in, the matrix itself may be available now.
        if kept is not None and kept["name"] == case.record()["name"]:
            return kept
        start = time.perf_counter()
        record = {**case.record(), **EMPTY, **dict.fromkeys(self.paper.parts)}
        try:
            found, A = self.paper.fetch(self.source, case)
            if kept is not None and kept["name"] == found.record()["name"]:
                return kept
            record |= found.record()
            self._prepare(shown)
            start = time.perf_counter()
            for fields in self._measured(A, found, shown):
                record |= fields
            record["status"] = "done"
        except Missing as error:
            # Users share reports: the path of the home folder is replaced.
            text = str(error).replace(str(Path.home()), "~")
            record |= {"status": "missing", "error": text}
        except Exception as error:
            record["error"] = f"{type(error).__name__}: {error}"
        self.signals.check()
        record["seconds"] = time.perf_counter() - start
        self.store.keep(case, record)
        saved: JsonObject = plain(record)
        return saved

    def _prepare(self, shown: Progress) -> None:
        if not self.warm:
            shown.working_on("compiling")
            with threads_for_small_arrays():  # as for the cases
                self.paper.warm_up(self.settings)
            self.warm = True

    def _measured(self, A: Any, case: Case, shown: Progress) -> Iterator[JsonObject]:
        """The fields of a record, part by part: finished parts are kept when a later one fails."""
        yield self.paper.properties(A)
        for part in self.settings.parts:
            shown.working_on(f"{case.title}: {part}")
            yield {part: self.paper.measures[part](A, case, self.settings)}


def free_memory(device: str) -> None:
    """Release the blocks of CuPy's memory pools: the next matrix may need all memory."""
    if device == "cuda":
        import cupy

        cupy.get_default_memory_pool().free_all_blocks()
        cupy.get_default_pinned_memory_pool().free_all_blocks()


def _line(record: JsonObject) -> str:
    words = {"done": f"done in {record['seconds']:.1f} s", "missing": "not available", "failed": "failed"}
    # The command prints at its end why matrices are not available.
    reason = "" if record["error"] is None or record["status"] == "missing" else f": {record['error']}"
    return f"{record['title']}: {words[record['status']]}{reason}"


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
