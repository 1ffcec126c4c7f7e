"""Every paper's study keeps the rules of the framework, whatever it measures."""

import json

import pytest

from linforest_precond.study import run_paper
from linforest_precond.study.papers import PAPERS, paper_named
from linforest_precond.study.report import write_document, write_report

pytest.importorskip("matplotlib")


@pytest.fixture(params=PAPERS.values(), ids=lambda paper: paper.name)
def paper(request):
    return request.param


def empty_study(paper, *cases):
    return {"study": paper.name, "title": paper.title, "settings": {"parts": paper.parts}, "cases": [*cases]}


def unfinished(paper, status):
    record = paper.select(None, False)[0].record()
    return record | {"status": status, "error": "out of luck"} | dict.fromkeys(paper.parts)


def test_cases_have_unique_names(paper):
    for full in (False, True):
        names = [case.name for case in paper.select(None, full)]
        assert names and len(names) == len(set(names))
    assert len(paper.select(["poisson2d:9", "poisson2d:9"], False)) == 1


def test_a_report_without_results(paper, tmp_path):
    """As after a signal during the first case, and where every case failed."""
    for cases in ([], [unfinished(paper, "failed"), unfinished(paper, "missing")]):
        study = empty_study(paper, *cases)
        text = write_report(paper, study, tmp_path).read_text(encoding="utf-8")
        assert paper.reference.title in text and text.count("out of luck") == len(cases)
        assert (tmp_path / f"{paper.tables(study)[0].name}.csv").exists()
        page = write_document(paper, study, tmp_path / "docs").read_text(encoding="utf-8")
        assert page.startswith(f"# {paper.title}") and "Files of this study" not in page


def test_tables_have_descriptions(paper):
    assert all(table.description for table in paper.tables(empty_study(paper)))


def test_unknown_parts_and_options_are_named(paper, tmp_path):
    with pytest.raises(ValueError, match=paper.parts[0]):
        run_paper(paper.name, [], out=tmp_path / "out", parts=["luck"])
    with pytest.raises(TypeError, match="luck is no option"):
        run_paper(paper.name, [], out=tmp_path / "out", luck=1)
    assert not (tmp_path / "out").exists()


def test_a_failure_ends_its_case_only(paper, tmp_path, monkeypatch):
    def fail(A, case, settings):
        raise RuntimeError("out of luck")

    for part in paper.parts:
        monkeypatch.setitem(paper.measures, part, fail)
    monkeypatch.setattr("linforest_precond.study.run.Session._prepare", lambda *_: None)
    run_paper(paper.name, ["poisson2d:4", "./nonesuch.mtx"], out=tmp_path, progress=False)
    study = json.loads((tmp_path / "study.json").read_text(encoding="utf-8"))
    assert [case["status"] for case in study["cases"]] == ["failed", "missing"]
    assert study["cases"][0]["error"] == "RuntimeError: out of luck" and study["cases"][0]["rows"] == 16


def test_an_unknown_paper():
    with pytest.raises(ValueError, match='"rcm", "matching", "graphs", "orderings", "traffic"'):
        paper_named("luck")
