"""The study of vertex orderings: its measurements, and tables against numbers by hand."""

import json

import numpy as np
import pytest
import scipy.sparse as sp

import linforest_precond as lf
from linforest_precond.matrices.arrays import on_device
from linforest_precond.study import run_paper, timing
from linforest_precond.study.cases import Source
from linforest_precond.study.orderings import ORDERINGS, measures, tables
from linforest_precond.study.orderings.findings import findings
from linforest_precond.study.orderings.measures import fetch, shifted_laplacian
from linforest_precond.study.paper import Settings


@pytest.fixture(autouse=True)
def one_thread():
    with timing.numba_threads(1):
        yield


def case(name, **orderings):
    """Ordering: its log gap and the seconds of a product, of which PageRank takes the tenfold."""
    others = {"bfs": 4.0, "cg": 4.0, "components": 1.0, "louvain": None}
    found = {
        ordering: {"seconds": 1.0, "linear_gap": 8, "log_gap": gap, "misses": 0.5}
        | {"times": {"spmv": spmv, "pagerank": 10 * spmv, **others}}
        for ordering, (gap, spmv) in orderings.items()
    }
    return {"name": name, "title": name, "status": "done", "rows": 10, "nnz": 20, "orderings": found}


STUDY = {
    "cases": [
        case("a", natural=(40.0, 4.0), rcm=(10.0, 2.0)),
        case("b", natural=(40.0, 4.0), rcm=(40.0, 4.0)),
    ]
}


def test_means_are_geometric_and_relative_to_the_natural_order():
    natural, rcm = tables.means(STUDY)
    assert natural["spmv"] == natural["log_gap"] == 1.0 and natural["louvain"] is None
    assert rcm["spmv"] == pytest.approx(2**0.5) and rcm["log_gap"] == pytest.approx(2.0)
    assert rcm["time"] == pytest.approx(2 ** (1 / 4))  # PageRank and components on two graphs


def test_the_best_ordering_and_the_correlation():
    first, _ = tables.best(STUDY)
    assert (first["best_spmv"], first["gain_spmv"], first["log_gap_per_entry"]) == ("rcm", 2.0, 2.0)
    assert "best_louvain" not in first
    assert tables.correlated(STUDY, "log_gap", "spmv") == pytest.approx(1.0)
    assert tables.correlated(STUDY, "log_gap", "bfs") is None  # constant
    assert {row["quantity"] for row in tables.correlations(STUDY)} == {"SpMV", "PageRank"}


def test_findings_follow_the_tables():
    said = {finding.topic: finding.sentence for finding in findings(STUDY)}
    assert (
        "rcm is the best: products are 1.41 times as fast" in said["Products"]
        and "2 graphs" in said["Products"]
    )
    assert "a correlation of 1.00" in said["Correlation"] and "0.88" in said["Correlation"]
    assert "as much as 0.250 products" in said["Cost"] and "Refinement" not in said
    assert findings({"cases": []}) == []


def test_algorithms_that_were_timed_on_few_graphs_are_said_so():
    few = case("c", natural=(40.0, 4.0), matching=(10.0, 2.0))
    for found in few["orderings"].values():
        found["times"]["louvain"] = 3.0
    others = [case(name, natural=(40.0, 4.0), matching=(10.0, 2.0)) for name in "ab"]
    said = {finding.topic: finding.sentence for finding in findings({"cases": [few, *others]})}
    text = "PageRank, components and Louvain (NetworkX) (on 1 of 3 graphs, of at most 10 vertices)"
    assert f"matching is the best for {text}" in said["Algorithms"]


def test_what_runs_on_one_thread_is_left_out_of_large_graphs(monkeypatch):
    monkeypatch.setattr(measures, "MOST_ON_HOST", 99)
    monkeypatch.setattr(measures, "METHODS", ("natural", "minimum_degree", "matching"))
    for name, is_large in (("poisson2d:9", False), ("poisson2d:10", True)):
        found, A = fetch(Source("cpu"), *ORDERINGS.select([name]))
        made = measures.orderings(A, found, Settings())
        assert ("minimum_degree" in made) != is_large and (made["natural"]["misses"] is None) == is_large
        rows = {"name": name, "title": name, "status": "done", "rows": A.shape[0], "nnz": A.nnz}
        study = {"cases": [rows | {"orderings": made}]}
        assert tables.means(study)[0]["spmv"] == 1.0 and tables.best(study)[0]["best_spmv"]


def test_shuffled_graphs_are_the_same_graph():
    plain, shuffled = (
        fetch(Source("cpu"), one) for one in ORDERINGS.select(["poisson2d:6", "shuffled:poisson2d:6"])
    )
    assert shuffled[0].title == "shuffled poisson2d 6" and shuffled[0].name == "shuffled:poisson2d:6"
    assert (plain[1] - shuffled[1]).nnz and plain[1].nnz == shuffled[1].nnz
    eigenvalues = [np.linalg.eigvalsh(A.toarray()) for _, A in (plain, shuffled)]
    assert eigenvalues[0] == pytest.approx(eigenvalues[1]) and eigenvalues[0][0] > 0


def test_a_laplacian_of_a_directed_graph_with_loops():
    A = sp.csr_array(np.array([[5.0, 2.0, 0.0], [0.0, 0.0, -1.0], [0.0, 0.0, 0.0]]))
    assert shifted_laplacian(A).toarray().tolist() == [[2, -1, 0], [-1, 3, -1], [0, -1, 2]]


def test_measures(backend, monkeypatch):
    monkeypatch.setattr(measures, "METHODS", ("natural", "rcm", "matching"))
    monkeypatch.setattr(measures, "FRACTIONS", (0.01, 1.0))
    A = shifted_laplacian(lf.matrices.poisson((7, 8)))
    settings = Settings(device=backend.name)
    found = measures.orderings(on_device(A, backend.name), None, settings)
    refined = [title.format(start) for start in measures.REFINED for title in measures.TITLES.values()]
    assert list(found) == ["natural", "rcm", "matching", *refined]
    for each in found.values():
        assert set(each["times"]) == set(measures.TIMED)
        untimed = {name for name, seconds in each["times"].items() if not seconds}
        assert untimed <= ({measures.LOUVAIN} if backend.name == "cuda" else set())
        assert 0 < each["misses"] <= 1
    assert found["natural"]["log_gap"] == lf.graph.log_gap(A) > found["natural, refined"]["log_gap"] - 1e-9
    swept = measures.refinement(A, None, Settings())
    assert [row["fraction"] for row in swept["log_gap"]] == [0.01, 1.0]
    assert all(row["after"] <= row["before"] for rows in swept.values() for row in rows)


def test_the_whole_study(tmp_path, monkeypatch):
    pytest.importorskip("matplotlib")
    monkeypatch.setattr(measures, "METHODS", ("natural", "rcm", "matching"))
    report = run_paper("orderings", ["shuffled:poisson2d:8", "poisson2d:8"], out=tmp_path, progress=False)
    study = json.loads((tmp_path / "study.json").read_text(encoding="utf-8"))
    assert [one["status"] for one in study["cases"]] == ["done", "done"]
    text = report.read_text(encoding="utf-8")
    assert "shuffled poisson2d 8" in text and "1.933" not in text and "1.93" in text
    assert "rcm" in (tmp_path / "orderings.csv").read_text(encoding="utf-8")
