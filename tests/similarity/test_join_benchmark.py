"""benchmarks/pages/joins.py measures, and its page has every table."""

import numba
import pytest


@pytest.fixture
def threads():
    """The program takes one thread; afterwards all are used again."""
    before = numba.get_num_threads()
    yield
    numba.set_num_threads(before)


@pytest.mark.slow
def test_measures_and_writes(tmp_path, monkeypatch, threads, bench):
    pytest.importorskip("matplotlib", reason="the page has a picture")
    joins, page = bench("pages.joins"), bench("pages.joins_page")
    monkeypatch.setattr(joins.set_join, "clock", joins.set_join.clock)  # restored afterwards
    out = tmp_path / "joins.jsonl"
    assert joins.main(["--sets", "40", "--only", "KOSARAK", "--out", str(out)]) == 0
    monkeypatch.setattr(page, "DOCUMENT", tmp_path / "joins.md")
    monkeypatch.setattr(page, "PICTURE", tmp_path / "joins" / "scaling.svg")
    assert page.write(joins.stored(out)) == 0
    text = (tmp_path / "joins.md").read_text(encoding="utf-8")
    assert text.count("| KOSARAK |") == 4 + 4 and "(0.9999)" in text
    assert (tmp_path / "joins" / "scaling.svg").exists()
