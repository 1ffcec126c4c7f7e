"""The study of fuzzy joins: ambiguous sets, recall and precision, tables."""

import json

import pytest
import scipy.sparse as sp

from linforest_precond.similarity import ambiguous_sets, fuzzy_join, join_quality
from linforest_precond.study import run_paper, timing
from linforest_precond.study.cases import Missing, Source
from linforest_precond.study.joins import JOINS, measures, tables
from linforest_precond.study.joins.findings import findings
from linforest_precond.study.joins.measures import data_set, fetch
from linforest_precond.study.paper import Settings


def sets_of(name):
    return fetch(Source("cpu", offline=True), JOINS.select([name])[0])[1]


@pytest.mark.parametrize("matching", ["greedy", "locally_dominant", "paz_schwartzman"])
def test_ambiguous_sets_make_approximate_matchings_miss_pairs(matching):
    """The bounds hold all the same: no pair too many by the matching, none too few by the upper bound."""
    sets = ambiguous_sets(1000, seed=1)
    exact = fuzzy_join(sets, matching="exact")
    default = join_quality(fuzzy_join(sets, matching=matching), exact)
    upper = join_quality(fuzzy_join(sets, matching=matching, bound="upper"), exact)
    assert 0.9 < default.recall < 1 and default.missed > 5 and default.precision == 1
    assert upper.recall == 1 and upper.added > 0 and upper.precision > 0.9


def test_ambiguous_sets():
    sets = ambiguous_sets(50, size=9, seed=3)
    assert sets == ambiguous_sets(50, size=9, seed=3) != ambiguous_sets(50, size=9, seed=4)
    assert len(sets) == 50 and all(sets) and 5 < sum(map(len, sets)) / 50 < 14
    unchanged = ambiguous_sets(8, noise=0.0, copies=4)
    assert len(set(unchanged)) == 2
    assert ambiguous_sets(0) == [] and all(ambiguous_sets(40, size=1, noise=1.0, variants=8))
    for wrong in ({"noise": 2.0}, {"variants": 1}, {"variants": 9}, {"chains": 0}, {"size": 0}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            ambiguous_sets(5, **wrong)


def test_names_of_data():
    assert data_set("KOSARAK@50") == ("KOSARAK", 50) and data_set("KOSARAK@x") is data_set("mine") is None
    assert [case.name for case in JOINS.select()][:2] == ["LIVEJ@400", "AOL@400"]
    assert "KOSARAK@100000" in [case.name for case in JOINS.select(full=True)]
    case = JOINS.select(["ENRON@20"])[0]
    assert (case.paper, case.origin) == ("ENRON", "stand-in")
    assert len(sets_of("ENRON@20")) == 20


def test_files_and_matrices_are_sets(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tags.txt").write_text("a b\nc\n", encoding="utf-8")
    assert sets_of("tags.txt") == [{"a", "b"}, {"c"}]
    sp.save_npz(tmp_path / "A.npz", sp.csr_array([[1.0, 0, 2], [0, 0, 0], [0, 3, 0]]))
    assert sets_of(str(tmp_path / "A.npz")) == [{"0", "2"}, {"1"}]
    with pytest.raises(Missing, match="nonesuch"):
        sets_of("./nonesuch.txt")


def test_many_sets_are_joined_once_by_the_default(monkeypatch):
    monkeypatch.setattr(measures, "MANY", 50)
    monkeypatch.setitem(measures.SAMPLE, "quick", 40)
    sets = ambiguous_sets(60, size=5)
    found = measures.times(sets, None, Settings())
    assert list(found["methods"]) == ["greedy"] and found["methods"]["greedy"]["peak"] is None
    assert found["threads"] == timing.threads() and measures.shares(sets, None, Settings()) == {"methods": {}}
    assert measures.quality(sets, None, Settings())["sets"] == 40


def test_the_whole_study(tmp_path, backend):
    pytest.importorskip("matplotlib")
    options = {"device": backend.name, "out": tmp_path, "progress": False}
    report = run_paper("joins", ["FLICKR@40", "ENRON@12"], **options)
    study = json.loads((tmp_path / "study.json").read_text(encoding="utf-8"))
    assert [case["status"] for case in study["cases"]] == ["done", "done"]
    first, second = tables.quality(study)
    assert (first["paper_gd_recall"], second["paper_ps_precision"]) == (0.9994, 0.9879)
    assert all(row[f"{short}_proven"] for row in (first, second) for short in ("gd", "ld", "ps"))
    rows = tables.times(study)
    assert all(row["GD_gain"] > 0 and row["PS_whole"] > 0 for row in rows)
    said = {finding.topic: finding.sentence for finding in findings(study)}
    assert "In 6 of 6 cases" in said["Bounds"] and "0.9293 to 1.0000" in said["Recall"]
    assert "FLICKR, 40 sets" in report.read_text(encoding="utf-8")
