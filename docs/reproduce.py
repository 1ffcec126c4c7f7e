"""Turn finished runs of ``linforest study`` into a page of the documentation.

    linforest study --full --device cuda --offline --only coverage,performance --out run1
    linforest study aniso1 aniso2 --full --device cuda --offline --only convergence --out run2
    python docs/reproduce.py run1 run2 --keep forests-nvidia-h200

writes docs/papers/forests.md, the page of ``--markdown`` with the parts of all runs, and its pictures. Runs
are folders, or their study.json alone. ``--keep`` stores them as one in benchmarks/results/studies, with the
name of the ``page`` (``--page``, by default the study's); ``python docs/reproduce.py --stored`` writes these
pages again.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
STORED = ROOT / "benchmarks" / "results" / "studies"
sys.path.insert(0, str(ROOT))

from linforest_precond.study.papers import paper_named  # noqa: E402
from linforest_precond.study.report import write_document  # noqa: E402
from linforest_precond.study.store import write_json  # noqa: E402

# Points of a curve in the pictures, which are part of the repository.
MOST_POINTS = 150


def main(arguments: list[str] | None = None) -> list[Path]:
    """Write the page, or those of the stored runs; returns their paths."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("study", type=Path, nargs="*", help="folders of finished runs, or their study.json")
    parser.add_argument("--stored", action="store_true", help="write the pages of the stored runs")
    parser.add_argument("--keep", metavar="NAME", help="store the runs as one in benchmarks/results/studies")
    parser.add_argument("--page", help="name of the page, by default the study's")
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "papers", help="folder for the page")
    options = parser.parse_args(arguments)
    if options.stored:
        return [write([file], options.out) for file in stored()]
    if not options.study:
        parser.error("name the runs, or --stored")
    files = [run / "study.json" if run.is_dir() else run for run in options.study]
    if options.keep:
        files = [kept(files, STORED / f"{options.keep}.json", options.page)]
    return [write(files, options.out, options.page)]


def stored() -> list[Path]:
    """The stored runs that have a page."""
    return [file for file in sorted(STORED.glob("*.json")) if '"page"' in file.read_text(encoding="utf-8")]


def read(files: list[Path]) -> dict[str, Any]:
    """One study of some runs' files."""
    return merged([json.loads(file.read_text(encoding="utf-8")) for file in files])


def kept(files: list[Path], path: Path, page: str | None) -> Path:
    """Store some runs as one; returns its path."""
    study = read(files)
    return write_json(path, study | {"page": page or study["study"]})


def write(files: list[Path], folder: Path, page: str | None = None) -> Path:
    """Write the page of some runs; returns its path."""
    study = read(files)
    return write_document(paper_named(study["study"]), study, folder, page or study.get("page"))


def merged(runs: list[dict[str, Any]]) -> dict[str, Any]:
    """One study of several runs: a case has the parts that any of them has measured."""
    cases: dict[str, dict[str, Any]] = {}
    parts: dict[str, None] = {}
    for run in runs:
        parts |= dict.fromkeys((run.get("settings") or {}).get("parts") or [])
        for case in run["cases"]:
            found = cases.setdefault(case["name"], case)
            found |= {key: thinned(value) for key, value in case.items() if value is not None}
    machine = runs[0].get("machine") or {}
    commits = dict.fromkeys((run.get("machine") or {}).get("commit") for run in runs)
    if any(commits):
        machine |= {"commit": ", ".join(commit or "unknown" for commit in commits)}
    settings = (runs[0].get("settings") or {}) | {"parts": [*parts] if len(runs) == 1 else []}
    return runs[0] | {
        "finished": runs[-1].get("finished"),
        "machine": machine,
        "settings": settings,
        "cases": list(cases.values()),
    }


def thinned(value: Any) -> Any:
    """The value with at most `MOST_POINTS` points in every history, the last one included."""
    if not isinstance(value, dict) or "runs" not in value:
        return value
    return value | {"runs": [run | {"history": _few(run.get("history") or {})} for run in value["runs"]]}


def _few(history: dict[str, list[Any]]) -> dict[str, list[Any]]:
    step = -(-max(map(len, history.values()), default=1) // MOST_POINTS)
    return {name: [*map(_short, values[:-1:step]), *values[-1:]] for name, values in history.items()}


def _short(value: float | None) -> float | None:
    """Five digits, more than a curve shows."""
    return value and float(f"{value:.5g}")


if __name__ == "__main__":
    print(*main(), sep="\n")
