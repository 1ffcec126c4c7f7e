"""Turn finished runs of ``linforest study`` into a page of the documentation.

    linforest study --full --device cuda --offline --only coverage,performance --out run1
    linforest study aniso1 aniso2 --full --device cuda --offline --only convergence --out run2
    python docs/reproduce.py run1 run2 --keep forests-nvidia-h200

writes docs/papers/forests.md, the page of ``--markdown`` with the parts of all runs, and its pictures. Runs
are folders, or their study.json alone. ``--keep`` stores them as one in benchmarks/results/studies, with the
name of the ``page`` (``--page``, by default the study's); ``python docs/reproduce.py --stored`` writes these
pages again, and the lines of docs/papers.md that `QUOTES` takes from stored runs.
"""

from __future__ import annotations

import argparse
import json
import re
import statistics
import sys
import textwrap
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
STORED = ROOT / "benchmarks" / "results" / "studies"
OVERVIEW = ROOT / "docs" / "papers.md"
sys.path.insert(0, str(ROOT))

from linforest_precond.study.graphs.findings import factors_over_thesis  # noqa: E402
from linforest_precond.study.graphs.measures import FAMILIES  # noqa: E402
from linforest_precond.study.graphs.tables import rows_of  # noqa: E402
from linforest_precond.study.number_formats import count, digits3, listed, spread  # noqa: E402
from linforest_precond.study.papers import paper_named  # noqa: E402
from linforest_precond.study.rcm.tables import REBUILT  # noqa: E402
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
        overview = options.out.parent / OVERVIEW.name
        overview.write_text(quoted(OVERVIEW.read_text(encoding="utf-8")), encoding="utf-8")
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
        "started": min(filter(None, (run.get("started") for run in runs)), default=None),
        "finished": max(filter(None, (run.get("finished") for run in runs)), default=None),
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


# Cases of the study `rcm` in words; the authors' code was run on the first three.
RCM_CASES = {
    "standin:ecology1": "5-point 1000²",
    "poisson3d:100": "7-point 100³",
    "delaunay:1048576": "Delaunay triangulation of 2²⁰ points",
    "rmat:20": "R-MAT graph of 2²⁰ vertices",
}


def rcm_lines(study: dict[str, Any]) -> list[str]:
    """What a run says about batches."""
    times = {case["name"]: case["times"] for case in study["cases"] if case["times"]}
    known = {name: text for name, text in RCM_CASES.items() if name in times}
    beside = {name: text for name, text in known.items() if name in REBUILT}

    def milliseconds(method: str) -> list[str]:
        return [digits3(1e3 * times[name]["cuda"][method]) for name in beside]

    defaults = [f"{ours} ms ({text})" for ours, text in zip(milliseconds("auto"), beside.values())]
    authors = [f"{1e3 * REBUILT[name]:g}" for name in beside]
    over_leveled = [each["cuda"]["batch"] / each["cuda"]["leveled"] for each in times.values()]
    over_serial = {
        name: each["cpu"]["batch"] / each["cpu"]["serial"] for name, each in times.items() if each["cpu"]
    }
    named = [f"{digits3(over_serial[name])} ({text})" for name, text in known.items() if name in over_serial]
    others = [case for case in study["cases"] if case["name"] in over_serial.keys() - known.keys()]
    rows = spread([case["rows"] for case in others], count)
    batches = [case["batches"] for case in study["cases"] if case["batches"]]
    fastest = [min(found, key=lambda name: found[name]["seconds"]) for found in batches]
    return [
        "On an NVIDIA H200 with the start vertex given, the default, which is the leveled method, takes "
        f"{listed(defaults)}, our batches {listed(milliseconds('batch'))} ms. The authors' batch code, "
        f"rebuilt on an H200, took {listed(authors)} ms (the cube with shuffled vertices); that run was not "
        "recorded in this repository.",
        f"On the H200, our batches take {spread(over_leveled)} times as long as our leveled method, with a "
        f"median of {digits3(statistics.median(over_leveled))} over {len(over_leveled)} matrices.",
        '`"batch"` pays on large graphs and with many threads of a CPU only: with '
        f"{max(each['threads'] for each in times.values())} threads it took these multiples of the time of "
        f'`"serial"`: {listed(named)}; on {len(others)} other graphs, of {rows} vertices, '
        f"{spread([over_serial[case['name']] for case in others])}.",
        "Of the parts of the batch method, early signals alone are the fastest on the H200 on "
        f"{fastest.count('early signals')} of {len(fastest)} matrices.",
    ]


def graph_lines(study: dict[str, Any]) -> list[str]:
    """How many graphs a run has of each problem, and its times beside the published ones."""
    parts = []
    for part, family in FAMILIES.items():
        rows = rows_of(study, part)
        graphs = len({row.case["name"] for row in rows if row.case.get("paper")})
        factors = factors_over_thesis(rows)
        parts.append(f"{family.title.lower()} ({graphs} graphs{', ' if factors else ''}{listed(factors)})")
    return [
        "Times of other machines cannot be compared. The published ones are longer by these factors, medians "
        "over the algorithms and the graphs of the thesis that a problem was run on, with one thread (CPU), "
        f"all threads (HOST) and a GPU: {'; '.join(parts)}. The thesis times no spanning forests."
    ]


# The lines of docs/papers.md that a stored run gives.
QUOTES = {"rcm-nvidia-h200": rcm_lines, "graphs-nvidia-h200": graph_lines}


def quoted(page: str) -> str:
    """The page with the lines of the stored runs between their comments."""
    for name, lines in QUOTES.items():
        study = json.loads((STORED / f"{name}.json").read_text(encoding="utf-8"))
        items = [textwrap.fill(f"- {line}", 120, subsequent_indent="  ") for line in lines(study)]
        text = "\n".join([f"<!-- {name} -->", "", *items, "", f"<!-- end of {name} -->"])
        page, found = re.subn(f"<!-- {name} -->.*<!-- end of {name} -->", text, page, flags=re.DOTALL)
        if found != 1:
            raise ValueError(f"{OVERVIEW.name} must have the comments of {name} once, found {found}")
    return page


if __name__ == "__main__":
    print(*main(), sep="\n")
