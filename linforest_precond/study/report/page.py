"""The report of a study: the self-contained `report.html`, and its tables as CSV files."""

from __future__ import annotations

import os
from importlib import resources
from pathlib import Path

from linforest_precond.matrices.readers.atomic_files import write_text
from linforest_precond.study.csv_tables import write_tables
from linforest_precond.study.dark_theme import swatch_style
from linforest_precond.study.drawing import as_svg
from linforest_precond.study.json_types import JsonObject
from linforest_precond.study.paper import Paper
from linforest_precond.study.report.blocks import Section
from linforest_precond.study.report.header import header, page_title
from linforest_precond.study.report.markup import Html, join, tag
from linforest_precond.study.report.method import method
from linforest_precond.study.report.problems import problems


def write_report(paper: Paper, study: JsonObject, folder: str | os.PathLike[str]) -> Path:
    """
    Write the report of a study as an HTML page, and its tables as CSV files.

    Parameters
    ----------
    paper : Paper
        Whose study it is.
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
    >>> from linforest_precond.study.papers import PAPERS
    >>> from linforest_precond.study.report.page import write_report
    >>> case = {"name": "aniso1:10", "status": "done", "rows": 100, "nnz": 784}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     page = write_report(PAPERS["forests"], {"title": "A study", "cases": [case]}, folder)
    ...     print(page.name, "aniso1:10" in page.read_text(encoding="utf-8"))
    report.html True
    """
    tables = paper.tables(study)
    write_tables(tables, Path(folder))
    files = {table.file: table.description for table in tables}
    if (Path(folder) / "study.json").exists():
        files["study.json"] = "everything, as the study recorded it"
    return write_text(Path(folder) / "report.html", page(paper, study, files))


def write_pictures(paper: Paper, study: JsonObject, folder: Path) -> list[Path]:
    """Write the figures of a study as SVG files."""
    folder.mkdir(parents=True, exist_ok=True)
    figures = paper.figures(study)
    return [write_text(folder / f"{name}.svg", as_svg(figure)) for name, figure in figures.items()]


def page(paper: Paper, study: JsonObject, files: dict[str, str]) -> Html:
    """The whole page; `files` are the files that it links to, with their descriptions."""
    parts = sections(paper, study, files)
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("title", page_title(study)),
        tag("style", Html(style())),
    )
    top = header(study, paper.findings(study), parts)
    body = tag("body", top, tag("main", [part.html for part in parts]))
    return join(Html("<!doctype html>\n"), tag("html", head, "\n", body, lang="en"), "\n")


def sections(paper: Paper, study: JsonObject, files: dict[str, str]) -> list[Section]:
    """The sections of the paper, then those that every report has, numbered."""
    made = (
        *paper.sections(study),
        Section("problems", "Failures and missing matrices", problems(study, paper.problems(study))),
        Section("method", "How it was measured", method(paper.method(study), paper.reference, files)),
    )
    return [_numbered(number, section) for number, section in enumerate(made, 1)]


def _numbered(number: int, section: Section) -> Section:
    top = tag("h2", tag("span", f"{number}", class_="number"), section.heading)
    return section._replace(html=tag("section", top, section.html, id=section.anchor))


def style() -> str:
    """The style sheet, with the colours of swatches in the dark theme."""
    sheet = resources.files(__package__).joinpath("report.css").read_text(encoding="utf-8")
    return sheet + swatch_style()
