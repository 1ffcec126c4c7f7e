"""The study of the batch Cuthill-McKee order: its published table, measurements, tables and figures."""

import csv
import json
from importlib import resources
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import strategies as graphs

from linforest_precond import matrices
from linforest_precond.study import run_paper
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
    monkeypatch.setattr(measures, "MOST_ROWS_ON_HOST", 8)
    A, settings = matrices.poisson((3, 3), device="cuda"), Settings(device="cuda")
    found = measures.times(A, None, settings)
    assert found["cpu"] is None and found["scipy"] > 0 and found["cuda"]["batch"] > 0
    assert measures.threads(A, None, settings)["runs"] == []


def test_the_report_says_why_the_host_was_not_measured(monkeypatch):
    monkeypatch.setattr(measures, "MOST_ROWS_ON_HOST", 8)
    on_gpu = SimpleNamespace(device="cuda")
    assert measures._no_host_methods(np.eye(8), on_gpu) is None
    assert measures._no_host_methods(np.eye(9), Settings()) is None
    reason = measures._no_host_methods(np.eye(9), on_gpu)
    assert measures.threads(np.eye(9), None, on_gpu) == {"serial": None, "runs": [], "reason": reason}
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
        "a: the host's methods were not run on more than 8 rows in a study on the GPU."
    ]
    (row,) = found["time_rows"]
    assert set(row) == {"Matrix", "SciPy", "batch, GPU"}
    assert len(RCM.figures(study)) == 5 and findings.findings(study)[-1].sentence.startswith("On the GPU")


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
