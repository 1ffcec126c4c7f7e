"""Hostile names of matrices in a study: one file for each case, valid JSON, CSV, HTML and SVG; full disks."""

import base64
import csv
import importlib
import json
import os
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest
from study_cases import case, not_done, study

from linforest_precond.study import cases, drawing, run_study
from linforest_precond.study.forests import FORESTS, coverage, plots
from linforest_precond.study.store import Store, case_file, write_json
from linforest_precond.study.templating import environment, shell_word

run = importlib.import_module("linforest_precond.study.run")

NAMES = [
    os.fsdecode(name)
    for name in (
        b"\xff\xfe.mtx", b"$\\frac{1}$.mtx", b"$a.mtx", b"$$.mtx", b"\x1b[31m\x01.mtx", b"a\nb.mtx",
        b"a b.mtx", b"a-b.mtx", b"A-B.mtx", b"-A.mtx", b"]]>&--<!-- .mtx", b"x" * 251 + b".mtx",
        "\u202exe.mtx".encode(), "\u5927.mtx".encode(), "\ufffe\u0085.mtx".encode(), "e\u0301.mtx".encode(),
        "\u00e9.mtx".encode(), b" .mtx", b"...mtx",
    )
]  # fmt: skip
DRAWN = 5  # panels are slow to draw
TEXT = "%%MatrixMarket matrix coordinate real symmetric\n3 3 5\n1 1 2\n2 1 -1\n2 2 2\n3 2 -1\n3 3 2\n"


def svgs(page):
    for data in re.findall(r"data:image/svg\+xml;base64,([^\"]*)", page):
        yield base64.b64decode(data).decode("utf-8")


def assert_clean(text):
    assert all(char.isprintable() or char in "\n\t\u00a0\u3000" for char in text)


@pytest.fixture
def start(tmp_path, monkeypatch):
    """Runs the coverages of files with these names; returns the exit of the study."""
    pytest.importorskip("matplotlib")
    monkeypatch.setattr(run.Session, "_prepare", lambda *_: None)
    monkeypatch.chdir(tmp_path)

    def start(names, **options):
        for name in names:
            Path(name).write_text(TEXT)
        return run_study(names, out="out", parts=("coverage",), **options)

    return start


def test_every_name_gets_a_file_of_its_own():
    files = [case_file(name) for name in [*NAMES, "a:b", "a/b", "a", "", "x" * 1000, "\ud800"]]
    assert len({file.lower() for file in files}) == len(files)
    assert all(file.isascii() and len(file) < 100 and not file.startswith((".", "-")) for file in files)


def test_names_that_look_alike_are_both_kept(tmp_path):
    store = Store(tmp_path, {}, resume=True)
    records = {}
    for name in NAMES:
        made = cases.case_of(name, full=False)
        records[name] = {**made.record(), "status": "done", "rows": len(records)}
        store.keep(made, records[name])
    for name in NAMES:
        assert store.kept(cases.case_of(name, full=False)) == records[name]


def test_a_study_of_hostile_names(start, capsys):
    names = [f"./{name}" for name in NAMES]
    report = start(names, progress=True)
    found = json.loads((report.parent / "study.json").read_text(encoding="utf-8"))
    assert [one["status"] for one in found["cases"]] == ["done"] * len(names)
    assert len(os.listdir("out/cases")) == len(names)
    assert_clean(capsys.readouterr().err)
    assert_clean(report.read_text(encoding="utf-8"))
    with open("out/coverage_table3.csv", newline="", encoding="utf-8") as file:
        assert len(list(csv.reader(file))) == len(names) + 1
    again = start(names, progress=False, resume=True)
    kept = json.loads((again.parent / "study.json").read_text(encoding="utf-8"))
    assert kept["cases"] == found["cases"]


def test_failures_with_hostile_names(start, capsys, monkeypatch):
    def fail(A, **options):
        raise RuntimeError("\x1b[2J\udcff\nout of luck")

    monkeypatch.setattr(coverage, "coverages", fail)
    report = start([NAMES[1]], progress=True)
    (one,) = json.loads((report.parent / "study.json").read_text(encoding="utf-8"))["cases"]
    assert one["error"] == "RuntimeError: \x1b[2J\\xff\nout of luck"
    assert_clean(report.read_text(encoding="utf-8"))
    assert r"failed: RuntimeError: \x1b[2J\xff out of luck" in capsys.readouterr().err


def test_reports_with_hostile_names(tmp_path):
    """Every picture is valid XML, and no name is taken for a formula."""
    pytest.importorskip("matplotlib")
    from linforest_precond.study.report import write_report

    solved = [case(name, title=name, note=name) for name in NAMES[:9]]
    for one in solved[DRAWN:]:
        one["convergence"] = None
    path = write_report(FORESTS, study([*solved, not_done(NAMES[0], "failed", NAMES[0])]), tmp_path)
    text = path.read_bytes().decode("utf-8")
    assert_clean(text)
    pictures = list(svgs(text))
    assert len(pictures) == DRAWN + 6
    for svg in pictures:
        ElementTree.fromstring(svg)


@pytest.mark.parametrize("name", NAMES[:DRAWN])
def test_titles_of_panels(name):
    pytest.importorskip("matplotlib")
    ax = plots.convergence_panel(case(name, title=name), legend=False)
    ElementTree.fromstring(drawing.as_svg(ax.figure))
    assert len(ax.get_title()) < 90


def test_a_users_settings_of_matplotlib_do_not_matter():
    matplotlib = pytest.importorskip("matplotlib")
    from matplotlib.figure import Figure

    with matplotlib.rc_context({"text.usetex": True, "text.parse_math": True}):
        figures = [plots.convergence_panel(case("$x_", title="$x_ %&"), legend=False).figure]
    axes = Figure().add_subplot()
    figures.append(plots.convergence_panel(case("$x_", title="$\\frac{1}$"), axes, legend=False).figure)
    for figure in figures:
        ElementTree.fromstring(drawing.as_svg(figure))


def test_markup_escapes_what_html_forbids():
    template = environment().from_string('<p title="{{ text }}">{{ text }}</p>')
    shown = "a\\x00\\x1b\\u202e\\xff\n&lt;b&gt;&#34;"
    assert template.render(text='a\x00\x1b\u202e\udcff\n<b>"') == f'<p title="{shown}">{shown}</p>'


def test_advised_commands_are_quoted():
    assert shell_word({"name": "a b'.mtx"}) == "'a b'\"'\"'.mtx'"
    assert shell_word({"name": "-rf.mtx"}) == "./-rf.mtx"


def test_a_full_disk_leaves_no_partial_files(tmp_path, small_files):
    pytest.importorskip("matplotlib")
    from linforest_precond.study.listings import write_tables
    from linforest_precond.study.report import write_report

    write_tables(FORESTS.tables(study()), tmp_path)
    before = sorted(os.listdir(tmp_path))
    with small_files(20_000), pytest.raises(OSError, match="report.html"):
        write_report(FORESTS, study([case(convergence=None)]), tmp_path)
    assert sorted(os.listdir(tmp_path)) == before
    with small_files(100), pytest.raises(OSError, match="coverage_table3.csv"):
        write_tables(FORESTS.tables(study()), tmp_path)
    with small_files(10), pytest.raises(OSError, match="a.json"):
        write_json(tmp_path / "a.json", {"a": "long" * 10})
    assert sorted(os.listdir(tmp_path)) == before


@pytest.mark.parametrize("unwritable", ["out", "out/cases"])
def test_an_unwritable_folder_is_found_before_the_work(start, monkeypatch, unwritable):
    from linforest_precond.study import store

    def check(folder):
        if folder == Path(unwritable):
            raise PermissionError(13, "cannot write to the folder", str(folder))

    Path(unwritable).mkdir(parents=True)
    monkeypatch.setattr(store, "check_writable", check)
    monkeypatch.setattr(cases, "load", lambda *_, **__: pytest.fail("worked before the check"))
    with pytest.raises(PermissionError, match=unwritable):
        start(["A.mtx"], progress=False)


def test_titles_are_those_of_the_files():
    assert cases.case_of("./größe.mtx", full=False).title == "größe.mtx"


def test_files_of_one_name_are_told_apart():
    """Their folders are not in reports, except where nothing else tells them apart."""
    names = ["/home/ada/one/A.mtx", "/home/ada/two/A.mtx", "/tmp/two/A.mtx", "/tmp/B.mtx"]
    assert [case.title for case in cases.named_cases(names)] == [
        "one/A.mtx",
        "ada/two/A.mtx",
        "tmp/two/A.mtx",
        "B.mtx",
    ]
    assert [case.title for case in cases.named_cases(["/A.mtx", "./A.mtx"])] == ["/A.mtx", "A.mtx"]
