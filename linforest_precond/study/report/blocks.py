"""HTML elements that the sections share: names with badges, tables, pictures, compared values."""

from __future__ import annotations

import base64
from collections.abc import Iterable
from typing import Any, NamedTuple

from linforest_precond.study import formats
from linforest_precond.study.dark_theme import in_both_themes
from linforest_precond.study.json_types import JsonObject
from linforest_precond.study.report.markup import Html, join, tag

# The meaning of badges.
STANDIN_MEANS = "generated to resemble the paper’s matrix"
REDUCED_MEANS = "smaller than the paper’s matrix"


class Section(NamedTuple):
    """A section of the report, with its anchor for the table of contents."""

    anchor: str
    heading: str
    html: Html


class Head(NamedTuple):
    """A heading over one or more columns of a table."""

    text: Any
    columns: int = 1
    rows: int = 1
    explained: str | None = None  # tooltip


def matrix_list(study: JsonObject) -> Html:
    """The matrices of a study with their sizes and what became of them."""
    rows = [(full_name(case), (_status(case), *_size(case))) for case in study["cases"]]
    names = ("Matrix", "Status", "N", "Entries", "Mean degree")
    return plain_table("The matrices.", names, rows, "matrices")


def _status(case: JsonObject) -> Html:
    words = {"done": "done", "failed": "failed", "missing": "not available"}
    status = str(case.get("status"))
    kind = {"done": "ok"}.get(status, status)
    note = tag("small", case["note"]) if case.get("note") else None
    return tag("td", badge(words.get(status, status), kind), note, class_="text")


def _size(case: JsonObject) -> list[Html]:
    counts = [formats.count(case.get(key)) for key in ("rows", "nnz")]
    return [cell(text) for text in (*counts, formats.fixed(case.get("mean_degree"), 2))]


def case_name(case: JsonObject) -> Html:
    """The title of a case, with badges for stand-ins and reduced sizes."""
    marks = [[" ", mark] for mark in badges(case)]
    return tag("span", tag("span", formats.title(case)), marks, class_="case")


def full_name(case: JsonObject) -> Html:
    """The title, and below it the name for the command line; files have no folders."""
    same = formats.name_without_folder(case) == formats.title(case) or case.get("origin") == "file"
    return join(case_name(case), None if same else tag("small", code(case["name"])))


def badges(case: JsonObject) -> list[Html]:
    note = case.get("note")
    found = []
    if formats.is_standin(case):
        found.append(badge("stand-in", "standin", note or STANDIN_MEANS))
    if formats.is_reduced(case):
        found.append(badge("reduced", "reduced", note or REDUCED_MEANS))
    return found


def badge(text: str, kind: str, explained: str | None = None) -> Html:
    return tag("span", text, class_=f"badge {kind}", title=explained)


def table(caption: Any, heads: list[list[Head]], bodies: Iterable[list[Html]], kind: str = "") -> Html:
    """A table that scrolls inside its own box on narrow pages."""
    top = tag("thead", [tag("tr", [_head(head) for head in row]) for row in heads])
    body = [tag("tbody", rows) for rows in bodies]
    whole = tag("table", tag("caption", tag("span", caption)), top, body, class_=kind or None)
    box = tag("div", whole, class_="scroll", tabindex="0", role="region", aria_label=_plain(caption))
    return join(box, _column_notes([head for row in heads for head in row]))


def _column_notes(heads: list[Head]) -> Html | None:
    """What the columns mean, below the table: tooltips cannot be read on touch screens and on paper."""
    notes = {str(head.text): head for head in heads if head.explained}
    lines = [[tag("b", head.text), ": ", head.explained, ". "] for head in notes.values()]
    return tag("p", lines, class_="columns") if lines else None


def _head(head: Head) -> Html:
    several = head.columns > 1
    spans = {"colspan": head.columns if several else None, "rowspan": head.rows if head.rows > 1 else None}
    scope, kind = ("colgroup", "group") if several else ("col", None)
    return tag("th", head.text, scope=scope, title=head.explained, class_=kind, **spans)


def _plain(caption: Any) -> str:
    """A caption for screen readers: the text before the first full stop."""
    texts = caption if isinstance(caption, list | tuple) else [caption]
    return next(str(text) for text in texts if not isinstance(text, Html)).partition(".")[0]


def plain_table(
    caption: Any, names: Iterable[str], rows: Iterable[tuple[Any, Iterable[Html]]], kind: str = ""
) -> Html:
    """A table with one line of headings; a row is its name and its cells."""
    return table(
        caption, [[Head(name) for name in names]], [[row(name, cells) for name, cells in rows]], kind
    )


def coverage_list(rows: Iterable[tuple[str, str, str]]) -> Html:
    """What the paper has, whether it is reproduced here, and the remark that belongs to it."""
    caption = "In the paper, and here. Nothing of the paper is left out of this list."
    cells = ((name, (text_cell(here), text_cell(remark))) for name, here, remark in rows)
    return plain_table(caption, ("In the paper", "Here", "Remark"), cells, "words")


def row(name: Any, cells: Iterable[Html]) -> Html:
    return tag("tr", tag("th", name, scope="row"), list(cells))


def cell(text: str, *, best: bool = False, kind: str | None = None) -> Html:
    return tag("td", tag("strong", text) if best else text, class_=kind)


def text_cell(content: Any) -> Html:
    return tag("td", content)


def compared(ours: str, published: str | None, change: str | None = None, departs: bool = False) -> Html:
    """A cell with our value, and below it in small print the paper's with the difference."""
    if published is None:
        return tag("td", ours)
    text = [tag("span", "paper ", class_="word"), published]
    if change is None:
        return tag("td", ours, tag("small", text))
    marked = tag("span", f"({change})", class_="departs") if departs else f"({change})"
    return tag("td", ours, tag("small", text, " ", marked))


def picture(svg: str, alt: str) -> Html:
    """
    An SVG as an image inside the page.

    Unlike inline SVG it has its own namespace of identifiers, an alternative text, and can be saved. It is
    not loaded lazily, since browsers print pages without the pictures that were never scrolled to.
    """
    data = base64.b64encode(in_both_themes(svg).encode()).decode("ascii")
    return tag("img", src=f"data:image/svg+xml;base64,{data}", alt=alt)


def figure(image: Html, *caption: Any) -> Html:
    return tag("figure", image, tag("figcaption", *caption))


def code(text: str) -> Html:
    return tag("code", text)


def paragraph(*children: Any, kind: str | None = None) -> Html:
    return tag("p", *children, class_=kind)


def not_run() -> Html:
    """The text of a section without any results."""
    return paragraph("No results: this part was not selected, or no case reached it.", kind="note")
