"""The study of the batch Cuthill-McKee order: its published table, measurements, tables and figures."""

import csv
import json
from importlib import resources
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp
import strategies as graphs

from linforest_precond import matrices
from linforest_precond.study import run_paper, timing
from linforest_precond.study.paper import Settings
from linforest_precond.study.published import named_rows
from linforest_precond.study.rcm import RCM, findings, measures, plots, tables

PRINTED = Path(__file__).parent / "published" / "rcm_table1.txt"
# Misprints of the table: the matrices' names in the collection.
SPELLING = {"ncvxpq3": "ncvxqp3", "CurlyCurl_3": "CurlCurl_3"}
UNITS = {"k": 1e3, "M": 1e6}


def printed_number(text):
    if text == "-":
        return None
    return float(text[:-1]) * UNITS[text[-1]] if text[-1] in UNITS else float(text)


def printed_rows():
    """The table as printed, by the names in the collection."""
    lines = [line.split() for line in PRINTED.read_text().splitlines() if not line.startswith("#")]
    return {SPELLING.get(name, name): [printed_number(word) for word in words] for name, *words in lines}


def test_the_published_table_is_that_of_the_paper():
    expected = printed_rows()
    found = {
        name: [number for key, number in row.items() if key != "group"]
        for name, row in named_rows("rcm").items()
    }
    assert list(found) == list(expected)
    for name, numbers in expected.items():
        assert found[name] == pytest.approx([number for number in numbers if number is not None]), name


def test_columns_of_the_published_table():
    text = resources.files("linforest_precond.study.rcm").joinpath("published.csv").read_text()
    columns = next(csv.reader(text.splitlines()))
    used = {column for _, column in tables.APPROACHES.values() if column} | set(tables.ORDERS) | {"hsl"}
    assert used <= set(columns)


def test_selection():
    assert [case.paper for case in RCM.select(["mcrae/ECOLOGY1", "poisson2d:9"])] == ["ecology1", None]
    assert all(case.at_paper_size for case in RCM.select(full=True))
    assert [case.name for case in RCM.select(["ecology1", "ecology1"])] == ["standin:ecology1"]
    assert RCM.select(["ecology1"], full=True)[0].fallback.name == "standin:ecology1"
    assert RCM.select(["mycielskian18"], full=True)[0].fallback.name == "mycielskian:18"


@pytest.mark.slow
def test_start_and_fronts_are_those_of_the_largest_component():
    A = graphs.from_edges(9, [0, 2, 3, 4, 5], [1, 3, 4, 5, 6], 1.0)
    found = measures.orders(A, None, Settings())
    assert found["start"] in (2, 6) and found["levels"] == 5 and found["identical"]
    assert found["mean_front"] == found["front"] == 1.0


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    """A study of two small matrices."""
    folder = tmp_path_factory.mktemp("rcm")
    page = run_paper("rcm", ["bcspwr10", "poisson2d:30"], out=folder, offline=True, progress=False)
    return json.loads((page.parent / "study.json").read_text()), page


@pytest.mark.slow
class TestStudy:
    def test_files(self, study):
        found, page = study
        assert {case["status"] for case in found["cases"]} <= {"done", "missing"}
        for name in ("orders", "times", "threads", "batches"):
            rows = list(csv.DictReader((page.parent / f"{name}.csv").read_text().splitlines()))
            assert rows and set(rows[0]) == set(next(t.columns for t in RCM.tables(found) if t.name == name))

    def test_orders(self, study):
        (grid,) = [case for case in study[0]["cases"] if case["name"] == "poisson2d:30"]
        orders = grid["orders"]
        assert orders["identical"] and orders["bandwidth"] == orders["reordered_bandwidth"] == 30
        assert orders["levels"] == 59 and round(orders["front"]) == 20

    def test_threads_and_batches(self, study):
        for case in study[0]["cases"]:
            if case["status"] == "done":
                assert [run["threads"] for run in case["threads"]["runs"]][0] == 1
                for found in case["batches"].values():
                    assert found["executed"] <= found["dequeued"] <= found["generated"]

    def test_figures_and_report(self, study):
        found, page = study
        assert list(RCM.figures(found)) == ["speedups", "batches", "breakdown", "threads", "stages"]
        assert "Figure 6" in page.read_text() and findings.findings(found)


@pytest.mark.gpu
def test_large_matrices_are_not_measured_on_the_host(cuda, monkeypatch):
    monkeypatch.setattr(measures, "MOST_ENTRIES_ON_HOST", 8)
    A, settings = matrices.poisson((3, 3), device="cuda"), Settings(device="cuda")
    found = measures.times(A, None, settings)
    assert found["cpu"] is None and found["scipy"] > 0 and found["cuda"]["batch"] > 0
    assert measures.threads(A, None, settings)["runs"] == []


def test_the_report_says_why_the_host_was_not_measured(monkeypatch):
    monkeypatch.setattr(measures, "MOST_ENTRIES_ON_HOST", 8)
    on_gpu = SimpleNamespace(device="cuda")
    assert measures._no_host_methods(sp.eye_array(8), on_gpu) is None
    assert measures._no_host_methods(sp.eye_array(9), Settings()) is None
    reason = measures._no_host_methods(sp.eye_array(9), on_gpu)
    assert measures.threads(sp.eye_array(9), None, on_gpu) == {"serial": None, "runs": [], "reason": reason}
    times = {"threads": 1, "reason": reason, "scipy": 2.0, "cpu": None, "cuda": {"batch": 1.0, "auto": 1.0}}
    case = {
        "name": "a",
        "title": "a",
        "status": "done",
        "times": times,
        "threads": {"runs": [], "serial": None},
    }
    study = {"device": "cuda", "cases": [case]}
    found = tables.variables(study)
    assert found["not_run"] == [
        "a: the host's methods were not run on more than 8 entries in a study on the GPU."
    ]
    (row,) = found["time_rows"]
    assert set(row) == {"Matrix", "SciPy", "batch, GPU"}
    said = {each.topic: each.sentence for each in findings.findings(study)}
    assert len(RCM.figures(study)) == 5 and said["Fastest"].startswith("On the GPU: batch on 1 of 1")
    assert said["The default"] == (
        "It is within 10 % of the fastest method on 1 of 1 matrices on the GPU (at worst 0 % behind, on a)."
    )


def timed(name, **seconds):
    times = {"threads": 16, "reason": None, "scipy": 1.0, "cpu": None, "cuda": seconds}
    return {"name": name, "title": name, "status": "done", "times": times}


def test_batches_beside_the_authors_code_on_the_same_gpu():
    cases = [
        timed("delaunay:1048576", auto=1.0, leveled=5e-3, batch=30e-3),
        timed("poisson2d:9", auto=2.2, leveled=2.0, batch=1.0),
    ]
    study = {"device": "cuda", "machine": {"gpu": "NVIDIA H200"}, "cases": cases}
    said = {each.topic: each.sentence for each in findings.findings(study)}
    assert said["Batches on the GPU"] == (
        "Our batches take 0.500 to 6.00 times as long as our leveled method; as the authors' batch code: "
        "2.00 on delaunay:1048576 times."
    )
    assert "at worst 19900 % behind, on delaunay:1048576" in said["The default"]
    rows = tables.variables(study)["time_rows"]
    assert [row["Authors' batch code, H200"] for row in rows] == ["15.0 ms", "–"]
    other = tables.variables(study | {"machine": {"gpu": "NVIDIA A100"}})
    assert not other["rebuilt"] and "Authors' batch code, H200" not in other["time_rows"][0]


def test_early_termination_is_claimed_for_graphs_that_have_it():
    def counted(name, dequeued):
        batches = {measures.COUNTED: {"generated": 200, "dequeued": dequeued}}
        return {"name": name, "title": name, "status": "done", "batches": batches}

    (said,) = findings.findings({"device": "cpu", "cases": [counted("a", 200), counted("b", 3)]})
    assert said.sentence == "Dequeued of the batches generated: 1.50 % on b; at least 100 % on 1 matrices."
    (said,) = findings.findings({"device": "cpu", "cases": [counted("a", 199)]})
    assert said.sentence == "No search ends early; at least 100 % on 1 matrices."


@pytest.mark.parametrize("name", ["mycielskian:9", "dense_rows:2000"])
def test_searches_of_graphs_with_dense_rows_end_early(name):
    A = matrices.load(name)
    for found in measures.batches(A, None, Settings()).values():
        assert found["dequeued"] < 0.5 * found["generated"] and found["children"] == A.shape[0] - 1


def test_calls_that_take_turns(monkeypatch):
    clock = {"a": 0.03, "b": 0.01}
    called = []
    monkeypatch.setattr(timing, "time_of", lambda call, device: (clock[call()], None))
    calls = {name: lambda name=name: called.append(name) or name for name in clock}
    assert timing.medians_in_turn(calls, 3, "cpu") == pytest.approx(clock)
    rounds = ["".join(pair) for pair in zip(called[::2], called[1::2])]
    assert len(rounds) == 1 + 5 and set(rounds) == {"ab", "ba"}
    clock["a"] = 5.0
    called.clear()
    timing.medians_in_turn(calls, 3, "cpu")
    assert called[:2] == ["a", "b"] and sorted(called[2:]) == ["a", "b"]


def test_an_interrupted_study_has_figures():
    empty = {"device": "cpu", "cases": [{"name": "a", "title": "a", "status": "failed", "orders": None}]}
    for table in RCM.tables(empty):
        assert table.rows == []
    assert len(RCM.figures(empty)) == 5 and findings.findings(empty) == []


def test_shares_of_the_stages():
    stages = dict.fromkeys(measures.STAGES, 1)
    run = {"threads": 2, "seconds": 0.5, "stages": stages}
    case = {"name": "a", "status": "done", "nnz": 5, "threads": {"serial": 1.0, "runs": [run]}}
    study = {"device": "cpu", "cases": [case]}
    np.testing.assert_allclose(sum(plots.mean_stage_shares(study)[2].values()), 1.0)
    (threads,) = [table for table in RCM.tables(study) if table.name == "threads"]
    assert threads.rows[0]["speedup"] == 2.0
