"""The benchmark of traffic statistics runs, compares itself with SciPy, and writes its figure."""

import json

import pytest


@pytest.fixture
def traffic(bench):
    return bench("pages.traffic")


def test_small_scales(traffic, tmp_path, capsys):
    pytest.importorskip("matplotlib", reason="the benchmark draws")
    assert traffic.main(["--scales", "6", "8", "--scipy", "7", "--write", str(tmp_path)]) == 0
    lines = json.loads((tmp_path / "traffic.json").read_text())["lines"]
    assert [line["valid_packets"] for line in lines] == [64, 128, 256]
    assert ["SciPy, analysis" in line["seconds"] for line in lines] == [True, True, False]
    assert "<svg" in (tmp_path / "traffic.svg").read_text()
    assert "| 2^8 |" in capsys.readouterr().out


def test_a_wrong_answer_ends_the_benchmark(traffic, monkeypatch):
    monkeypatch.setattr(traffic, "scipy_statistics", lambda A: (0,) * 9)
    with pytest.raises(AssertionError, match="SciPy finds"):
        traffic.measure(5, "cpu", True)


def test_speedups(traffic):
    seconds = {"analysis": 2.0, "end to end": 3.0, "SciPy, analysis": 40.0, "SciPy, end to end": 9.0}
    assert traffic.speedups(seconds) == ["20.0", "3.0"] and traffic.speedups({"analysis": 1}) == ["", ""]
