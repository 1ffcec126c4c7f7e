"""The report of a study: the self-contained `report.html`, and its tables as CSV files."""

from __future__ import annotations

import os
from importlib import resources
from pathlib import Path

from linforest_precond.atomic_files import write_text
from linforest_precond.study.json_types import JsonObject
from linforest_precond.study.report.blocks import Section
from linforest_precond.study.report.convergence import convergence
from linforest_precond.study.report.coverage import coverages, matrices
from linforest_precond.study.report.header import header, page_title
from linforest_precond.study.report.markup import Html, join, tag
from linforest_precond.study.report.method import method
from linforest_precond.study.report.performance import performance
from linforest_precond.study.report.problems import problems
from linforest_precond.study.tables import write_tables


def write_report(study: JsonObject, folder: str | os.PathLike[str]) -> Path:
    """
    Write the report of a study as an HTML page, and its tables as CSV files.

    Parameters
    ----------
    study : dict
        The contents of ``study.json``. Parts and values that were not computed may be None.
    folder : path
        Where to write; created if necessary.

    Returns
    -------
    Path
        Of ``report.html``, which needs neither the network nor any other file.

    Raises
    ------
    ImportError
        Matplotlib is missing. The CSV files are written all the same.

    Examples
    --------
    >>> import tempfile
    >>> from linforest_precond.study.report import write_report
    >>> case = {"name": "aniso1:10", "status": "done", "rows": 100, "nnz": 784}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     page = write_report({"title": "A study", "cases": [case]}, folder)
    ...     print(page.name, "aniso1:10" in page.read_text(encoding="utf-8"))
    report.html True
    """
    files = [file.name for file in write_tables(study, Path(folder))]
    if (Path(folder) / "study.json").exists():
        files.append("study.json")
    return write_text(Path(folder) / "report.html", page(study, files))


def page(study: JsonObject, files: list[str]) -> Html:
    """The whole page; `files` are the names of the files that it links to."""
    parts = sections(study, files)
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("title", page_title(study)),
        tag("style", Html(style())),
    )
    body = tag("body", header(study, parts), tag("main", [part.html for part in parts]))
    return join(Html("<!doctype html>\n"), tag("html", head, "\n", body, lang="en"), "\n")


def sections(study: JsonObject, files: list[str]) -> list[Section]:
    """The six sections in their order."""
    made = (
        ("matrices", "Matrices", matrices(study)),
        ("coverage", "Weight coverage", coverages(study)),
        ("convergence", "Convergence", convergence(study)),
        ("performance", "Performance", performance(study)),
        ("problems", "Failures and missing matrices", problems(study)),
        ("method", "How it was measured", method(study, files)),
    )
    return [_section(number, *part) for number, part in enumerate(made, 1)]


def _section(number: int, anchor: str, heading: str, content: Html) -> Section:
    top = tag("h2", tag("span", f"{number}", class_="number"), heading)
    return Section(anchor, heading, tag("section", top, content, id=anchor))


def style() -> str:
    """The style sheet."""
    return resources.files(__package__).joinpath("report.css").read_text(encoding="utf-8")
