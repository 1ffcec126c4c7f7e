"""Names of matrices, and titles and authors in their files, through everything that shows or stores them.

Promises: distinct names get distinct case files. All that is printed is one line of printable characters, all
that is written is valid UTF-8, JSON reads back, HTML has no forbidden characters, and pictures are valid XML.
"""

from __future__ import annotations

import contextlib
import csv
import io
import json
import os
import shlex
import tempfile
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import numpy as np

from linforest_precond import matrices
from linforest_precond.app import cli
from linforest_precond.app.commands.inputs import plain_name
from linforest_precond.records.printing import one_line, printable
from linforest_precond.study import cases, drawing
from linforest_precond.study.forests import FORESTS, plots
from linforest_precond.study.listings import write_tables
from linforest_precond.study.store import Store, case_file, write_json
from linforest_precond.study.templating import environment, shell_word

CLASSES = {"names and texts of authors": (40, 5000)}
LIMIT_SECONDS = 120.0
# A template with a text and an attribute.
PARAGRAPH = '<p title="{{ text }}">{{ text }}</p>'
# Every case draws some names; a picture takes a third of a second.
NAMES, PICTURES = 6, 0.02
PIECES = (
    "a", "b", "A", "-", " ", ".", "_", "/", ":", "\\", "..", "$", "$\\frac{1}$", "$x_{", "%", "&", "<b>",
    "=", "+", "@",
    "]]>", "--", "'", '"', "`", "\n", "\r", "\t", "\x00", "\x1b[31m", "\x1b]0;t\x07", "\x08", "\x7f",
    "\x85", "\x9b2J", "\xa0", "é", "e\u0301", "\u200b", "\u200d", "\u202e", "\u2066", "\u2028", "\u3000",
    "\u5927", "\u05d0", "\ufeff", "\ufffe", "\ud800", "\udc80", "\udcff", "\U0001f600", "\U000e0001",
    "\U0010ffff", "x" * 100, "\u5927" * 80,
)  # fmt: skip
RECORD = {"status": "done", "paper": None, "performance": {"spmv_seconds": 1.0, "propositions": {"1": 2.0}}}


def prepare(folder: Path) -> None:
    """No network, and no other folder."""
    os.environ.update(LINFOREST_OFFLINE="1", LINFOREST_CACHE=str(folder / "no-cache"))
    os.environ.pop("LINFOREST_MATRICES", None)


def run_case(prepared: None, name: str, rng: np.random.Generator, folder: Path) -> str:
    """Some names at once, since they must not collide."""
    texts = [draw(rng) for _ in range(NAMES)]
    texts.append(texts[0].replace(" ", "-"))
    drawn = bool(rng.random() < PICTURES)
    check(list(dict.fromkeys(texts)), folder, drawn)
    return "drawn" if drawn else "held"


def run_file(path: Path) -> str:
    """A list of names in JSON."""
    names = json.loads(path.read_text(encoding="utf-8"))
    drawn = any("$" in name or not name.isprintable() for name in names)
    with tempfile.TemporaryDirectory() as folder:
        prepare(Path(folder))
        check(names, Path(folder), drawn)
    return "held"


def draw(rng: np.random.Generator) -> str:
    pieces = [PIECES[int(place)] for place in rng.integers(len(PIECES), size=rng.integers(0, 6))]
    return "".join(pieces)


def check(names: list[str], folder: Path, drawn: bool) -> None:
    """All promises for these names."""
    files = {case_file(name).lower() for name in names}
    assert len(files) == len(names), "two names share a file"
    check_store(names, folder)
    for text in names:
        assert_line(one_line(text))
        assert_line(printable(text))
        assert_file_name(case_file(text))
        assert_file_name(f"{plain_name(text.replace(chr(0), ''))}.x.npy")
        check_markup(text)
        check_author(text, folder)
    check_command(names, folder)
    check_tables(names, folder)
    if drawn:
        check_picture(names)


def assert_line(text: str) -> None:
    text.encode("utf-8")
    assert all(char.isprintable() or char in "\u00a0\u3000" for char in text), repr(text)


def assert_file_name(name: str) -> None:
    assert 0 < len(os.fsencode(name)) < 200 and "/" not in name and "\x00" not in name
    assert name.isprintable() and not name.startswith("-"), repr(name)


def check_store(names: list[str], folder: Path) -> None:
    """Every case is found again, and `study.json` is valid."""
    store = Store(folder, {}, resume=True)
    records = {}
    for number, name in enumerate(names):
        case = cases.Case(name, title=printable(name), origin="file")
        records[name] = {**case.record(), **RECORD, "rows": number, "error": None}
        store.keep(case, records[name])
    for name in names:
        assert store.kept(cases.Case(name, title=printable(name), origin="file")) == records[name]
    path = write_json(folder / "study.json", {"cases": list(records.values()), "error": names})
    assert len(json.loads(path.read_bytes().decode("utf-8"))["cases"]) == len(names)


def check_markup(text: str) -> None:
    """The text and the attribute come out of a parser as they are printed."""
    element = environment().from_string(PARAGRAPH).render(text=text)
    element.encode("utf-8")
    found: list[str] = []
    parser = HTMLParser(convert_charrefs=True)
    parser.handle_data = found.append  # type: ignore[method-assign]
    parser.handle_starttag = lambda tag, attributes: found.append(str(attributes[0][1]))  # type: ignore[method-assign]
    parser.feed(element)
    parser.close()
    shown = printable(text, keep="\n\t")
    assert found[0] == shown and "".join(found[1:]) == shown, repr(element)


def check_author(text: str, folder: Path) -> None:
    """A title and an author in a file are printed without control characters."""
    comments = "".join(f"% {key}: {text}\n" for key in ("title", "author", "name", "date"))
    clean = "".join(f"%{line}\n" for line in comments.split("\n"))
    content = f"%%MatrixMarket matrix coordinate real general\n{clean}1 1 1\n1 1 1.0\n"
    path = folder / "author.mtx"
    path.write_bytes(content.encode("utf-8", "surrogatepass"))
    for line in str(matrices.describe(path)).split("\n"):
        assert_line(line)


def check_command(names: list[str], folder: Path) -> None:
    """An error of the command is one line."""
    for word in (f"{folder}/{names[0]}.mtx", names[-1]):
        errors = io.StringIO()
        with contextlib.redirect_stderr(errors):
            code = cli.main(["solve", "--no-out", "--offline", "--", word])
        assert code in (2, 3) and errors.getvalue().endswith("\n")
        assert_line(errors.getvalue()[:-1])
    for name in names:
        assert shlex.split(shell_word({"name": name})) == ([f"./{name}"] if name.startswith("-") else [name])


def check_tables(names: list[str], folder: Path) -> None:
    found = FORESTS.tables({"cases": [{"name": name, **RECORD} for name in names]})
    for path in write_tables(found, folder):
        text = path.read_bytes().decode("utf-8")
        fields = [field for row in csv.reader(io.StringIO(text, newline="")) for field in row]
        assert not [field for field in fields if field.startswith(("=", "+", "-", "@", "\t", "\r"))], (
            "a formula"
        )


def check_picture(names: list[str]) -> None:
    """A panel and rows of bars with these names are valid XML."""
    records = [{"name": name, "title": name, **RECORD} for name in names]
    figure = plots.propositions({"cases": records})
    plots.convergence_panel(records[0], figure.add_subplot(), legend=False)
    ElementTree.fromstring(drawing.as_svg(figure))
