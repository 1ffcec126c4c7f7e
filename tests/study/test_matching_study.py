"""The study of greedy matching: its measurements against oracles, and its report."""

import json
import math
import re
from pathlib import Path
from xml.etree import ElementTree

import numba
import numpy as np
import pytest
import strategies as graphs
from matching_oracles import edges_of, one_after_the_other, weight_of

import linforest_precond as lf
from linforest_precond.matrix.checked import checked
from linforest_precond.study import run_paper, timing
from linforest_precond.study.matching import algorithms, measures, plots
from linforest_precond.study.matching.measures import MatchingSettings
from linforest_precond.study.papers import PAPERS
from linforest_precond.study.published import keyed_numbers

TRANSCRIPTION = Path(__file__).parent / "published" / "matching.txt"
FEW = MatchingSettings(permutations=2)


@pytest.fixture(autouse=True)
def one_thread():
    with timing.numba_threads(1):
        yield


def printed(text):
    """A number as the paper prints it: 115%, 10^5 or 0.53406."""
    if found := re.search(r"(\d+)\^(\d+)", text):
        return float(found[1]) ** int(found[2])
    number = float(re.search(r"[\d.]+", text)[0])
    return number / 100 if "%" in text else number


def test_published_numbers_are_those_of_a_second_transcription():
    lines = TRANSCRIPTION.read_text(encoding="utf-8").splitlines()
    cells = [line.split("|") for line in lines if not line.startswith("#")]
    second = {key.strip(): printed(number) for key, number, _ in cells}
    assert keyed_numbers("matching") == pytest.approx(second)


@pytest.mark.parametrize("weighted", [False, True])
def test_the_serial_algorithm(weighted):
    A = graphs.random_graph(200, "ties", 2, symmetric=False)
    edges, order = edges_of(A), np.random.default_rng(1).permutation(200)
    wanted = one_after_the_other(edges, order.tolist(), weighted)
    with timing.numba_threads(min(2, numba.config.NUMBA_NUM_THREADS)):
        ((_, (size, weight), _),) = algorithms.serial_matchings(checked(A).graph, (weighted,), range(3))
    assert size == sum(w > v for v, w in enumerate(wanted))
    assert weight == pytest.approx(weight_of(edges, wanted))


def test_rounds_are_those_of_one_run(backend):
    A = lf.matrices.poisson((20, 20), device=backend.name)
    found = measures.rounds(A, None, FEW)["weighted"]
    whole = lf.graph.matching(A, "weighted")
    assert len(found["matched"]) == found["rounds"] == whole.iterations
    assert found["matched"] == sorted(found["matched"]) and found["matched"][-1] == measures.matched(whole)


def test_the_best_probability_is_the_maximum_of_equation_2():
    grid = np.linspace(0.01, 0.99, 9801)
    best = grid[np.argmax([measures.first_round(p) for p in grid])]
    assert best == pytest.approx(measures.best_probability(), abs=1e-4)
    assert round(measures.best_probability(), 5) == keyed_numbers("matching")["best_probability"]


def test_each_blue_vertex_chooses_its_least_draw():
    graph = checked(graphs.random_graph(60, "ties", 2, symmetric=False)).graph
    random = np.random.default_rng(0)
    blue = random.random(60) < 0.4
    rows = np.repeat(np.arange(60), np.diff(graph.indptr))
    proposes = blue[rows] & ~blue[graph.indices] & (graph.values != 0)
    rows, targets = rows[proposes], graph.indices[proposes]
    order = np.lexsort((random.random(rows.size), rows))
    chosen = {row: target for row, target in zip(rows[order][::-1].tolist(), targets[order][::-1].tolist())}
    assert measures.independent_round(graph, 0.4) == 2 * len(set(chosen.values())) / 60


def test_independent_choices_on_a_random_graph_follow_equation_2():
    graph = checked(graphs.random_graph(4000, "unit", mean_degree=60)).graph
    for p in (0.2, 0.53, 0.8):
        assert measures.independent_round(graph, p) == pytest.approx(measures.first_round(p), abs=0.04)


def test_quality_of_equal_weights_is_that_of_sizes(backend):
    A = lf.matrices.poisson((30, 30), device=backend.name)
    found = measures.quality(A, None, FEW)
    assert 0.95 < found["gain"] < 1.05
    assert found["gain"] * found["serial"] == pytest.approx(found["greedy"])
    assert set(found["dominant"].values()) == {1.0}


def test_the_gain_comes_from_factors_of_the_vertices():
    """Independent weights give no gain; scales that differ between vertices do."""
    found = measures.arrangement(lf.matrices.poisson((60, 60)), None, None)
    assert found["own"]["gain"] == pytest.approx(found["shuffled"]["gain"], abs=0.02)
    assert 0.95 < found["scaled"]["gain"][0] < 1.02 and found["scaled"]["gain"][-1] > 1.15


def test_a_graph_without_edges_has_ratios():
    found = measures.quality(lf.matrices.poisson((1, 1)), None, FEW)
    assert (found["size"], found["gain"], found["edges"]) == (1.0, 1.0, 0)


@pytest.mark.slow
def test_the_whole_study(tmp_path):
    pytest.importorskip("matplotlib")
    names, options = ["aniso2:12", "poisson2d:9"], {"progress": False, "permutations": 1}
    report = run_paper("matching", names, out=tmp_path, markdown=tmp_path / "docs", **options)
    study = json.loads((tmp_path / "study.json").read_text(encoding="utf-8"))
    assert [case["status"] for case in study["cases"]] == ["done", "done"]
    assert study["settings"]["permutations"] == 1 and study["study"] == "matching"
    text = report.read_text(encoding="utf-8")
    assert "10.1007/978-3-642-30397-5_10" in text and "Why the weighted ratio differs" in text
    files = {path.name for path in tmp_path.glob("*.csv")}
    assert files == {f"{table.name}.csv" for table in PAPERS["matching"].tables({"cases": []})}
    assert all(math.isfinite(value) for value in study["cases"][0]["times"]["speedups"].values())
    page = (tmp_path / "docs" / "matching.md").read_text(encoding="utf-8")
    pictures = re.findall(r"!\[[^\]]+\]\((matching/\d+\.svg)\)", page)
    assert len(pictures) == text.count("<img") and "base64" not in page and "<h2>" not in page
    for name in pictures:
        assert ElementTree.parse(tmp_path / "docs" / name).getroot().tag.endswith("svg")


def test_curves_are_of_a_few_cases_of_all_sizes():
    cases = [{"name": str(n), "status": "done", "nnz": n, "rounds": {"random": {}}} for n in range(40, 0, -1)]
    few, shown = ({"cases": some} for some in (cases[:8], cases))
    assert plots.with_curves(few, "rounds") == cases[:8]
    assert [case["nnz"] for case in plots.with_curves(shown, "rounds")] == [1, 6, 12, 17, 23, 28, 34, 40]


def test_a_full_study_has_fifty_graphs_and_the_orders_of_the_paper():
    assert len(PAPERS["matching"].select(full=True)) >= 50
    assert (MatchingSettings(full=True).orders, MatchingSettings(full=True, permutations=3).orders) == (32, 3)


def test_large_graphs_have_few_orders():
    quick, full, given = MatchingSettings(), MatchingSettings(full=True), MatchingSettings(permutations=20)
    assert [each.orders_of(measures.LARGE_ENTRIES) for each in (quick, full, given)] == [8, 32, 20]
    assert [each.orders_of(measures.LARGE_ENTRIES + 1) for each in (quick, full, given)] == [8, 8, 20]


def test_sequential_times_follow_a_call_that_compiles_on_no_vertex(monkeypatch):
    """The first call of a type compiles; on the largest graphs one of the graph itself takes ten seconds."""
    calls = []
    match_in_order = measures.match_in_order
    monkeypatch.setattr(
        measures, "match_in_order", lambda *given: calls.append(given[3].size) or match_in_order(*given)
    )
    found = measures.times(lf.matrices.poisson((12, 12)), None, FEW)
    assert calls == 2 * [0, *[144] * measures.SEQUENTIAL_REPEATS]
    assert all(seconds > 0 for seconds in found["seconds"].values())


def test_edges_are_counted_without_the_diagonal_and_zeros():
    A = graphs.random_graph(50, "ties", 2)
    A.data[A.indices == 7] = 0
    A = (A.T + A).tocsr()
    graph = checked(A).graph
    counts = algorithms.count_degrees(graph.indptr, graph.indices, graph.values)
    assert counts.tolist() == ((A.toarray() != 0) & ~np.eye(50, dtype=bool)).sum(axis=1).tolist()
    A = lf.matrices.poisson((10, 10))
    assert (A.diagonal() != 0).all()
    found = measures.times(A, None, MatchingSettings())
    assert (found["edges"], found["degree_ratio"]) == (180, 2.0)
