"""The study of components, independent sets and spanning forests: its published table, graphs and report."""

import csv
import json
from pathlib import Path

import numpy as np
import pytest

import linforest_precond as lf
from linforest_precond.study import run_paper, timing
from linforest_precond.study.cases import Source
from linforest_precond.study.graphs import GRAPHS, measures, plots
from linforest_precond.study.graphs import graphs as study_graphs
from linforest_precond.study.graphs.findings import findings
from linforest_precond.study.graphs.graphs import REAL, graph_times, random_digraph, sweep_of, weighted
from linforest_precond.study.graphs.measures import FAMILIES, measured
from linforest_precond.study.graphs.tables import rows_of, variables
from linforest_precond.study.paper import Settings

RATIOS = Path(__file__).parent / "published" / "graphs.csv"


@pytest.fixture(autouse=True)
def one_thread():
    with timing.numba_threads(1):
        yield


class TestPublished:
    """The thesis prints times and their quotients; the quotients were transcribed apart from the times."""

    def lines(self):
        return list(csv.DictReader(RATIOS.read_text(encoding="utf-8").splitlines()))

    def test_every_time_agrees_with_the_printed_quotients(self):
        lines = self.lines()
        assert len(lines) == len(graph_times()) == 270
        for line in lines:
            times = graph_times()[line["algorithm"], float(line["density"]), int(line["size"])]
            quotients = {
                "host_over_cpu": times.cpu / times.host,
                "gpu_over_cpu": times.cpu / times.gpu,
                "gpu_over_host": times.host / times.gpu,
                "thread_efficiency": times.cpu / (16 * times.host),
            }
            for name, quotient in quotients.items():
                # Three digits of each time, four after the point of the efficiency.
                assert quotient == pytest.approx(float(line[name]), rel=0.012, abs=6e-5), (line, name)

    def test_every_algorithm_has_all_graphs(self):
        names = {key.algorithm for key in graph_times()}
        assert names == {"CC_base", "CC_opt2", "SCC", "MIS_base", "MIS_lex3", "MIS_opt3"}
        assert all(len([key for key in graph_times() if key.algorithm == name]) == 45 for name in names)
        ours = {a.thesis for family in FAMILIES.values() for a in family.algorithms if a.thesis}
        assert ours == names == set(plots.IN_THESIS)


class TestGraphs:
    @pytest.mark.parametrize("density", [0.0, 0.1, 0.65, 1.0])
    def test_random_graphs(self, density):
        A = random_digraph(300, density)
        assert A.nnz == pytest.approx(density * 300 * 299, rel=0.05) and A.diagonal().sum() == 0
        assert A.has_canonical_format and (A != random_digraph(300, density)).nnz == 0

    @pytest.mark.parametrize("size", [1, 301, 512])
    def test_threads_draw_the_numbers_of_one_generator(self, size, monkeypatch):
        monkeypatch.setattr(study_graphs, "BLOCK", 3 * size)
        draws = np.random.default_rng([0, size, 300000]).random((size, size), dtype=np.float32)
        assert np.array_equal(random_digraph(size, 0.3).toarray(), (draws < 0.3) & ~np.eye(size, dtype=bool))

    def test_weights_are_unique(self):
        B = weighted(random_digraph(60, 0.2))
        assert sorted(B.data.tolist()) == list(range(1, B.nnz + 1)) and (B.tocoo().row < B.tocoo().col).all()

    def test_selections(self):
        full = GRAPHS.select(full=True)
        assert len(GRAPHS.select()) == 6 and sum(case.at_paper_size for case in full) == 45
        assert [case.name for case in full if not case.at_paper_size] == list(REAL)
        named = GRAPHS.select(["50@0.3", "1000@0.45", "poisson2d:20"])
        assert [case.paper for case in named] == [None, "1000@0.45", None]
        assert sweep_of("1000@1.5") is None and sweep_of("1000@") is None


def run(tmp_path, names, **options):
    report = run_paper("graphs", names, out=tmp_path / "out", progress=False, **options)
    return report, json.loads((report.parent / "study.json").read_text(encoding="utf-8"))


class TestRun:
    def test_a_part_of_the_study(self, tmp_path, backend):
        report, study = run(tmp_path, ["60@0.2", "50@0.02"], parts=["components"], device=backend.name)
        assert [case["status"] for case in study["cases"]] == ["done", "done"]
        for row in rows_of(study):
            assert row.found["valid"] and row.found["same"] and row.seconds("cpu") > 0
            assert (row.seconds("gpu") is not None) == (backend.name == "cuda")
        labels = lf.graph.connected_components(random_digraph(50, 0.02))
        assert rows_of(study, key="fastsv")[1].found["size"] == labels[0]
        page = report.read_text(encoding="utf-8")
        assert "CC_opt2" in page and "CC_base" in page and "2 of 2 cases" in page
        assert (report.parent / "published_times.csv").read_text(encoding="utf-8").count("\n") == 271

    @pytest.mark.slow
    def test_the_whole_study(self, tmp_path, backend):
        names = ["1000@0.1", "300@0.45", "poisson2d:20"]
        report, study = run(tmp_path, names, device=backend.name, pictures=True)
        rows = rows_of(study)
        assert len(rows) == 3 * 12 and all(row.found["valid"] and row.found["same"] for row in rows)
        assert {row.part for row in rows} == set(FAMILIES)
        assert {finding.topic for finding in findings(study)} >= {"Validity", "Spanning forests"}
        for name in GRAPHS.figures(study):
            assert (report.parent / "figures" / f"{name}.svg").stat().st_size > 1000
        weights = {row.found["size"] for row in rows_of(study, "spanning_forests") if row.size == 1000}
        assert len(weights) == 1

    def test_published_times_are_beside_those_of_the_same_graph_alone(self):
        found = {"threads": 4, "algorithms": {"luby": {"cpu": 2.0, "host": 1.0, "gpu": 0.5}}}
        cases = [
            {"name": name, "status": "done", "rows": 1000, "nnz": 10, "independent_sets": found}
            for name in ("1000@0.45", "1000@0.2", "some.mtx")
        ]
        rows = rows_of({"cases": cases})
        assert [row.paper_seconds("gpu") for row in rows] == [0.00372, None, None]
        assert rows[0].speedup("gpu", "host") == 2.0 and rows[0].thread_efficiency == 0.5
        (said,) = [each.sentence for each in findings({"cases": cases}) if each.topic == "Against the thesis"]
        assert "Longer here in the median: Luby on CPU (56.2 times), Luby on HOST" in said

    def test_loops_over_vertices_are_compared_on_every_device(self):
        """Figure 7.13, on the graphs that have both times; runs of older versions have none over vertices."""
        timed = {"cpu": 1.0, "host": 2.0, "gpu": 0.5}
        slow = {"cpu": 3.0, "host": 2.0, "gpu": 10.0}
        both = {"threads": 4, "algorithms": {"fastsv": timed, "fastsv_vertices": slow}}
        cases = [
            {"name": name, "status": "done", "rows": 1000, "nnz": 10, "components": found}
            for name, found in (
                ("1000@0.1", both),
                ("1000@0.45", both | {"algorithms": {"fastsv": timed}}),
            )
        ]
        said = {each.topic: each.sentence for each in findings({"cases": cases})}
        assert said["Loops over vertices"].endswith(
            "multiplied by 20.0 on the GPU, 1.00 on all threads and 3.00 on one thread (medians); CC_base "
            "over CC_opt2 in the thesis: 9.21 on the GPU, 1.68 on all threads and 0.896 on one thread."
        )
        assert "Loops over vertices" not in {each.topic for each in findings({"cases": cases[1:]})}

    def test_efficiency_and_comparisons_are_beside_those_of_the_thesis(self):
        times = {"cpu": 2.0, "host": 1.0, "gpu": 0.5, "size": 1, "valid": True, "same": True}
        case = {"name": "1000@0.1", "status": "done", "rows": 1000, "nnz": 10}
        case["components"] = {"threads": 4, "algorithms": {"fastsv": times}}
        (row,) = variables({"cases": [case]})["compared"]["components"]
        shown = [(each.text, each.published) for each in [*row.values()][2:]]
        assert shown == [("2.00", "0.847"), ("4.00", "29.4"), ("2.00", "34.7"), ("0.500", "0.0530")]

    def test_equal_answers_are_checked_once(self, monkeypatch):
        forests, checked = FAMILIES["spanning_forests"], []
        noted = forests._replace(
            is_valid=lambda A, answer: checked.append(answer) or forests.is_valid(A, answer)
        )
        monkeypatch.setitem(FAMILIES, "spanning_forests", noted)
        found = measured("spanning_forests", random_digraph(60, 0.3), None, Settings())["algorithms"]
        assert len(checked) == 1 and all(each["valid"] and each["same"] for each in found.values())
        assert found["kruskal"]["host"] is None

    def test_large_graphs_have_the_serial_reference_alone_on_the_host(self, backend, monkeypatch):
        monkeypatch.setattr(measures, "MOST_EDGES_ON_HOST", 100)
        case, A = study_graphs.fetch(Source(backend.name), study_graphs.own_case("60@0.3", False))
        found = measured("spanning_forests", A, case, Settings(device=backend.name))
        assert all(each["valid"] and each["same"] for each in found["algorithms"].values())
        for key, each in found["algorithms"].items():
            assert (each["cpu"] is None) == (backend.name == "cuda" and key != "kruskal")
        assert bool(found["reason"]) == (backend.name == "cuda")
        assert measured("components", A, case, Settings(device=backend.name))["reason"] is None

    def test_a_reference_takes_the_place_of_the_hosts_answer(self):
        forests = FAMILIES["spanning_forests"]
        graph = forests.check(weighted(random_digraph(40, 0.3)))
        reference = forests.call(graph, "kruskal")
        times, answers = measures._timed(forests, forests.algorithms[1], {"cpu": graph}, 1, reference)
        assert times == {"cpu": None, "host": None, "gpu": None} and answers == {"cpu": reference}
        assert measures.same_bits(reference, forests.call(graph, "boruvka"))

    def test_without_any_case(self):
        assert rows_of({"cases": []}) == [] and findings({"cases": []}) == []
        assert [len(table.rows) for table in GRAPHS.tables({"cases": []})] == [0, 270]
