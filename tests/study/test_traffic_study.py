"""The study of traffic matrices: SciPy agrees, windows and files have the statistics of the whole."""

import json

import numpy as np
import pytest

import linforest_precond as lf
from linforest_precond.study import run_paper
from linforest_precond.study.cases import Missing, Source
from linforest_precond.study.paper import Settings
from linforest_precond.study.traffic import TRAFFIC, measures, packets, tables
from linforest_precond.study.traffic.findings import findings
from linforest_precond.study.traffic.packets import Traffic, fetch, properties


def traffic(name, device="cpu"):
    return fetch(Source(device, offline=True), TRAFFIC.select([name])[0])[1]


def test_analysis_agrees_with_scipy(backend):
    found = measures.analysis(traffic("packets:9", backend.name), None, Settings(device=backend.name))
    assert found["same"] is True and found["statistics"]["valid_packets"] == 512
    assert set(found["seconds"]) == {"analysis", "end_to_end", "scipy_analysis", "scipy_end_to_end"}


def test_a_wrong_answer_is_seen(monkeypatch):
    monkeypatch.setattr(measures, "scipy_statistics", lambda A: (0,) * 9)
    found = measures.analysis(traffic("packets:6"), None, Settings())
    assert found["same"] is False
    case = {"name": "packets:6", "title": "few", "status": "done", "rows": 1, "nnz": 1, "analysis": found}
    said = {finding.topic: finding.sentence for finding in findings({"cases": [case]})}
    assert "0 of 1 cases have the same statistics" in said["Against SciPy"]


def test_windows_are_all_packets_once(monkeypatch):
    A = Traffic((np.arange(5000, dtype=np.uint32) % 7, np.arange(5000, dtype=np.uint32) % 11, None))
    found = measures.windows(A, None, Settings())
    assert [(row["packets"], row["windows"]) for row in found["sizes"]] == [(512, 10), (2048, 3)]
    assert found["same"] and found["sizes"][0]["unique_sources"] == 7.0
    windows = list(A.windows(4096))
    assert [window[0].size for window in windows] == [4096, 904] and windows[0][2] is None
    monkeypatch.setattr(measures, "FEW_WINDOWS", 4)
    assert [row["packets"] for row in measures.windows(A, None, Settings())["sizes"]] == [2048]


def test_the_rate_of_the_thesis_packets_stands_beside_the_thesis():
    def case(scale, seconds):
        seconds = {"analysis": None, "end_to_end": seconds}
        found = {
            "statistics": dict.fromkeys(tables.PROPERTIES, 1) | {"valid_packets": 2**scale},
            "same": None,
        }
        name = f"2^{scale} packets"
        return {
            "name": name,
            "title": name,
            "status": "done",
            "analysis": found | {"seconds": seconds, "bytes": 1},
        }

    said = {each.topic: each.sentence for each in findings({"cases": [case(24, 0.004), case(30, 1.7)]})}
    assert "At most 4,194 million packets a second end to end (2^24 packets)" in said["Rate"]
    assert (
        "632 million of the thesis' 1,073,741,824 packets, with their generation; the thesis has 24.1"
        in said["Rate"]
    )
    (rate,) = [each.sentence for each in findings({"cases": [case(24, 0.004)]}) if each.topic == "Rate"]
    assert "of the thesis'" not in rate


def test_the_windows_of_the_challenge_are_measured():
    lengths = [measures.SHORTEST_WINDOW * measures.WINDOW_FACTOR**k for k in range(10)]
    assert {2**17, 2**19, 2**21, 2**23, 2**25, 2**27} <= set(lengths)
    assert max(lengths) == measures.LONGEST_WINDOW and 2**30 <= measures.MOST_WINDOWS * 2**17


def test_many_packets_are_streamed(tmp_path, monkeypatch):
    """The same statistics without the packets as a whole."""
    whole = measures.analysis(traffic("packets:12"), None, Settings())["statistics"]
    monkeypatch.setattr(packets, "MOST_AT_ONCE", 11)
    monkeypatch.setattr(packets, "MOST_IN_WINDOW", 10)
    monkeypatch.setattr(measures, "MOST_IN_FILES", {"quick": 2**11})
    A = traffic("packets:12")
    assert A.is_streamed and A.count == 4096
    assert properties(A)["nnz"] == whole["unique_links"] and properties(A)["rows"] == whole["unique_sources"]
    assert [window[0].size for window in A.windows(2048)] == [2048, 2048]

    def links(A):
        assert not A.is_streamed, "the packets as a whole"
        return A._generated(0, A.count)

    monkeypatch.setattr(Traffic, "links", property(links))
    report = run_paper("traffic", ["packets:12"], out=tmp_path, progress=False)
    study = json.loads((report.parent / "study.json").read_text(encoding="utf-8"))
    (case,) = study["cases"]
    assert case["status"] == "done" and case["analysis"]["statistics"] == whole
    assert [row["packets"] for row in case["windows"]["sizes"]] == [512, 2048]
    assert tables.batch_rows(study) == [] and tables.times(study)[0]["gb_per_s"] is None
    assert {finding.topic for finding in findings(study)} == {"Rate", "Windows"}


def test_files_batches_and_properties(backend):
    A, settings = traffic("packets:8", backend.name), Settings(device=backend.name)
    found = measures.files(A, None, settings)
    assert found["same"] and found["bytes"] > 10 * A.matrix.nnz and found["write"] > 0 < found["read"]
    assert set(measures.batches(A, None, settings)) == {"1", "5", "10"}
    assert properties(A)["nnz"] == A.matrix.nnz


def test_files_and_matrices_are_cases(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "packets.csv").write_text("1,2\n1,2\n", encoding="utf-8")
    assert traffic("packets.csv").matrix.packets.tolist() == [2]
    path = tmp_path / "window.mtx"
    lf.graph.write_traffic(path, lf.graph.traffic_matrix([1, 1], [2**31, 5], [3, 4]))
    assert traffic(str(path)).matrix.packets.tolist() == [4, 3]
    assert traffic("poisson2d:3").matrix.packets.tolist() == abs(lf.matrices.poisson((3, 3))).data.tolist()
    with pytest.raises(Missing, match="nonesuch"):
        traffic("./nonesuch.csv")


def test_the_whole_study(tmp_path):
    pytest.importorskip("matplotlib")
    report = run_paper("traffic", ["packets:9", "packets:10"], out=tmp_path, progress=False)
    study = json.loads((tmp_path / "study.json").read_text(encoding="utf-8"))
    assert [case["status"] for case in study["cases"]] == ["done", "done"]
    rows = tables.batch_rows(study)
    assert [row["batches"] for row in rows] == [1, 5, 10] * 2 and rows[0]["paper_rate"] == 24_061_441
    said = {finding.topic: finding.sentence for finding in findings(study)}
    assert "2 of 2 cases have the same" in said["Against SciPy"] and "2 of 2 streams" in said["Windows"]
    assert "2 of 2 Matrix Market files" in said["Files"]
    assert "24,061,441" in report.read_text(encoding="utf-8")
