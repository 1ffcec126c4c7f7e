"""How it was measured, the reference to the paper, and the list of files."""

from __future__ import annotations

from linforest_precond.study.paper import Reference
from linforest_precond.study.report.blocks import code, paragraph
from linforest_precond.study.report.markup import Html, join, tag


def method(text: Html, reference: Reference, files: dict[str, str]) -> Html:
    """The paper's own text, its citation, and the files with their descriptions, if any."""
    paper = join(tag("h3", "The paper"), _citation(reference))
    if not files:
        return join(text, paper)
    listed = tag("ul", [_file(name, description) for name, description in files.items()])
    return join(text, paper, tag("h3", "Files of this study"), listed)


def _citation(reference: Reference) -> Html:
    doi = reference.doi and tag("a", f"doi:{reference.doi}", href=f"https://doi.org/{reference.doi}")
    return paragraph(
        f"{reference.authors}. ", tag("cite", f"{reference.title}."), f" {reference.published}. ", doi
    )


def _file(name: str, description: str) -> Html:
    return tag("li", tag("a", code(name), href=name), ": ", description)
