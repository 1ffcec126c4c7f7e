"""The report of a study: a self-contained HTML page with CSV files, or a Markdown page with pictures."""

from __future__ import annotations

import base64
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from linforest_precond.matrices.readers.atomic_files import write_text
from linforest_precond.study.drawing import Figure, as_svg, in_both_themes
from linforest_precond.study.listings import Html, write_tables
from linforest_precond.study.paper import Paper
from linforest_precond.study.results import JsonObject, done
from linforest_precond.study.templating import environment

NOT_RUN = Html('<p class="note">No results: this part was not selected, or no case reached it.</p>')


class Section(NamedTuple):
    """A section of the report, with its anchor for the table of contents."""

    anchor: str
    heading: str
    body: str


def write_report(paper: Paper, study: JsonObject, folder: str | os.PathLike[str]) -> Path:
    """Write a study as the page ``report.html``, which needs no other file, and its tables as CSV files."""
    tables = paper.tables(study)
    write_tables(tables, Path(folder))
    files = {table.file: table.description for table in tables}
    if (Path(folder) / "study.json").exists():
        files["study.json"] = "everything, as the study recorded it"
    page = _rendered("page.html", paper, study, _embedded, files=files, markdown=False)
    return write_text(Path(folder) / "report.html", page)


def write_document(paper: Paper, study: JsonObject, folder: Path, name: str | None = None) -> Path:
    """
    Write ``<folder>/<name>.md``, by default the paper's, and its pictures, ``<folder>/<name>/1.svg`` ...

    Tables and paragraphs are HTML, which Markdown takes as it is; files of the study are not linked.
    """
    name = name or paper.name
    pictures = folder / name
    folder.mkdir(parents=True, exist_ok=True)
    written: list[Path] = []

    def linked(figure: Figure) -> str:
        pictures.mkdir(exist_ok=True)
        written.append(write_text(pictures / f"{len(written) + 1}.svg", as_svg(figure)))
        return f"{name}/{written[-1].name}"

    page = _rendered("page.md", paper, study, linked, files={}, markdown=True)
    return write_text(folder / f"{name}.md", re.sub(r"\n{3,}", "\n\n", page).strip() + "\n")


def write_pictures(paper: Paper, study: JsonObject, folder: Path) -> list[Path]:
    """Write the figures of a study as SVG files."""
    folder.mkdir(parents=True, exist_ok=True)
    figures = paper.figures(study)
    return [write_text(folder / f"{name}.svg", as_svg(figure)) for name, figure in figures.items()]


def _embedded(figure: Figure) -> str:
    """The address of a picture inside the page.

    Unlike inline SVG it has its own namespace of identifiers, an alternative text, and can be saved. It is
    not loaded lazily, since browsers print pages without the pictures that were never scrolled to.
    """
    data = base64.b64encode(in_both_themes(as_svg(figure)).encode()).decode("ascii")
    return f"data:image/svg+xml;base64,{data}"


def _rendered(
    template: str, paper: Paper, study: JsonObject, picture: Callable[[Figure], str], **context: Any
) -> str:
    """A page of all sections, which the paper's own template gives."""
    sections: list[Section] = []

    def section(anchor: str, heading: str, part: str | None = None, *, caller: Callable[[], str]) -> str:
        """Called by templates: a section with the caller's text.

        Where no case has results of the part, a report says so, and a document leaves the section out.
        """
        has_results = not part or bool(done(study, part))
        if has_results or not context["markdown"]:
            sections.append(Section(anchor, heading, caller() if has_results else NOT_RUN))
        return ""

    context |= {"paper": paper, "study": study}
    own = environment().get_template(f"{paper.name}.html")
    own.render(context | paper.report(study) | {"section": section, "picture": picture})
    title, findings = study.get("title") or "A study", paper.findings(study)
    page = environment().get_template(template)
    return page.render(context, title=title, findings=findings, sections=sections)
