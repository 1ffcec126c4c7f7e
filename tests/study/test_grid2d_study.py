"""The study of graphs on R x C ranks: what is counted, and its tables."""

import json
import math

import numpy as np
import pytest
from conftest import skip_or_fail

import linforest_precond as lf
from linforest_precond.backends import backend_named
from linforest_precond.distributed import grid2d, simulate
from linforest_precond.study import run_paper, timing
from linforest_precond.study.cases import Source
from linforest_precond.study.grid2d import GRID2D, measures, ranks, tables
from linforest_precond.study.grid2d.findings import findings
from linforest_precond.study.grid2d.graphs import DrawnGraph, hub_of, hub_on, properties
from linforest_precond.study.grid2d.measures import ALGORITHMS, VARIANTS
from linforest_precond.study.paper import Settings

COUNTED = ("rounds", "scaling", "variants", "shapes", "balance")


@pytest.fixture(autouse=True)
def one_thread():
    with timing.numba_threads(1):
        yield


def test_a_round_is_three_calls_of_each_rank():
    A = lf.matrices.rmat(6)
    for p in (1, 4):
        found = measures._round(A, p)
        assert found["calls"] == 3 * p
        # 16 bytes of a column vertex and 8 of a row vertex, and a few of all ranks.
        assert 0 <= found["bytes"] - 24 * 64 / math.sqrt(p) < 100
    assert found["row_messages"] == 12


def test_variants_do_the_same_rounds_with_fewer_edges():
    found = measures.variants(lf.matrices.rmat(6), None, Settings())["variants"]
    base, *_, push = (found[name] for name in VARIANTS)
    assert base["dense"] == base["rounds"] and push["edges"] < base["edges"]


def test_balance():
    A = lf.matrices.poisson((16, 16))
    found = measures.balance(A, None, Settings())
    assert set(found) == {"striped", "blocks", "random"}
    assert found["random"] < found["striped"] and all(1 <= value <= 64 for value in found.values())


def test_uniform_graphs_are_cases():
    (case,) = GRID2D.select(["urand:5"])
    assert case.title == "urand 5" and GRID2D.select(["poisson2d:3"])[0].origin == "generated"


@pytest.mark.parametrize("name", ["rmat:7:4", "urand:7:4"])
def test_ranks_draw_the_blocks_of_one_graph(name):
    (case,) = GRID2D.select([name])
    (_, A), (_, drawn) = (GRID2D.fetch(Source(device, offline=True), case) for device in ("cpu", "cuda"))
    assert drawn == DrawnGraph.named(name) and properties(drawn)["nnz"] == 1024
    assert (A != A.T).nnz == 0 and A.diagonal().sum() == 0 and 512 < A.nnz <= 1024

    def found(comm):
        graph = drawn.on_grid(grid2d.Grid(comm, (2, 3)), backend_named("cpu"))
        assert graph.n_edges == A.nnz and graph.symmetric and hub_on(graph) == hub_of(A)
        return grid2d.bfs(graph, 5)[0]

    assert np.array_equal(np.concatenate(simulate(6, found)), lf.graph.bfs_levels(A, 5))


@pytest.mark.gpu
@pytest.mark.parametrize("name", ["rmat:7:4", "urand:7:4"])
def test_grid2d_draws_the_same_graph_on_the_gpu(cuda, name):
    drawn = DrawnGraph.named(name)
    for found, expected in zip(drawn.edges(cuda.xp), drawn.edges(np)):
        assert all(np.array_equal(cuda.host(own), end) for own, end in zip(found, expected))


@pytest.mark.gpu
def test_grid2d_has_times_alone_on_the_gpu(cuda):
    assert GRID2D.configured("cuda", False, None).parts == ("times",)
    with pytest.raises(ValueError, match="times"):
        GRID2D.configured("cuda", False, ["scaling"])


def test_small_graphs_are_not_timed():
    found = ranks.times(lf.matrices.rmat(5), GRID2D.select(["rmat:5"])[0], Settings())
    assert found == {"ranks": [], "reason": "fewer than 2,048 vertices"}


def test_blocks_that_are_too_large_are_left_out(monkeypatch):
    monkeypatch.setattr(ranks, "_mpiexec", lambda: "mpiexec")
    monkeypatch.setattr(ranks.importlib.util, "find_spec", lambda name: name)
    monkeypatch.setattr(ranks, "_started", lambda mpiexec, p, name, device: {"seconds": {}})
    drawn, (case,) = DrawnGraph.named("rmat:26:16"), GRID2D.select(["rmat:26:16"])
    found = ranks.times(drawn, case, Settings())
    assert [row["p"] for row in found["ranks"]] == [4] and "536,870,912 entries" in found["reason"]
    whole = ranks.times(DrawnGraph.named("rmat:24:16"), case, Settings())
    assert [row["p"] for row in whole["ranks"]] == [1, 2, 4] and whole["reason"] is None


@pytest.mark.slow
def test_times_of_ranks_of_mpi(monkeypatch):
    try:
        __import__("mpi4py")
    except ImportError as error:
        skip_or_fail("mpi", f"mpi4py does not import ({error})")
    monkeypatch.setattr(ranks, "RANKS", (1, 2))
    monkeypatch.setattr(ranks, "LEAST_VERTICES", 1)
    found = ranks.times(lf.matrices.rmat(6), GRID2D.select(["rmat:6"])[0], Settings())["ranks"]
    assert [row["p"] for row in found] == [1, 2]
    for row in found:
        assert set(row["seconds"]) == set(ALGORITHMS)
        for whole, inside, sent, calls in row["seconds"].values():
            assert 0 <= inside <= whole and sent and calls
        assert row["latency"] > 0 and row["bandwidth"] > 0
        # The change and the mass of dangling vertices are sums over all ranks.
        assert 0 <= row["round"] - row["bound"] < 100
    study = {"cases": [{"status": "done", "times": {"ranks": found}, "name": "rmat:6", "rows": 64}]}
    assert [row["shape"] for row in tables.timed_rounds(study)] == ["1 × 1", "1 × 2"]
    assert len(tables.times(study)) == 2 * len(ALGORITHMS)


def times_of(p, seconds, inside):
    seconds = {"PR": [seconds, inside, 4_000_000, 10], "PJ": [2 * seconds, inside, 1_000_000, 20]}
    return {"p": p, "seconds": seconds, "grid": [1, p], "latency": 1e-3, "bandwidth": 1e9}


def test_the_model_of_calls_and_bytes():
    ranks = [times_of(1, 0.2, 0.0), times_of(4, 0.5, 0.028)]
    case = {"name": "rmat:20", "title": "rmat 20", "status": "done", "rows": 2**20, "times": {"ranks": ranks}}
    study = {"cases": [case]}
    first, second = tables.modelled(study)  # without the one rank
    assert first["modelled"] == pytest.approx(0.014) and first["ratio"] == pytest.approx(2.0)
    assert second["modelled"] == pytest.approx(0.021) and second["ratio"] == pytest.approx(4 / 3)
    said = {finding.topic: finding.sentence for finding in findings(study)}
    assert "1.33 to 2.00 times the modelled time on 4 ranks (1.00 ms and 1.00 GB/s)" in said["Model"]
    assert "4 ranks take 2.50 (PR), 2.50 (PJ) times as long as one" in said["More ranks on one machine"]
    assert "of 1,048,576 vertices, PR takes 500 ms, PJ takes 1.00 s on 4 ranks" in said["Times"]
    assert "2.80 to 5.60 % of it" in said["Times"]
    for row in ranks:
        del row["latency"]
    assert "Model" not in {finding.topic for finding in findings(study)}


@pytest.mark.gpu
def test_grid2d_times_of_ranks_that_share_a_gpu(cuda, monkeypatch):
    pytest.importorskip("mpi4py")
    for variable in ("OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"):
        monkeypatch.setenv(variable, "1")
    monkeypatch.setattr(ranks, "RANKS", (2,))
    monkeypatch.setattr(ranks, "LEAST_VERTICES", 1)
    settings = GRID2D.configured("cuda", False, None)
    (row,) = ranks.times(DrawnGraph.named("rmat:10:8"), GRID2D.select(["rmat:10:8"])[0], settings)["ranks"]
    assert list(row["seconds"]) == [*ALGORITHMS] and 0 <= row["round"] - row["bound"] < 100


def test_the_whole_study(tmp_path, monkeypatch):
    pytest.importorskip("matplotlib")
    monkeypatch.setitem(measures.SIDES, "quick", (1, 4))
    monkeypatch.setitem(measures.SQUARES, "quick", (1, 4))
    monkeypatch.setattr(measures, "VARIANT_RANKS", 4)
    report = run_paper("grid2d", ["rmat:4", "rmat:6"], out=tmp_path, parts=COUNTED, progress=False)
    study = json.loads((tmp_path / "study.json").read_text(encoding="utf-8"))
    assert [case["status"] for case in study["cases"]] == ["done", "done"]
    grown = [row for row in tables.weak(study) if row["key"] == "PR"]
    assert [(row["case"]["rows"], row["p"]) for row in grown] == [(16, 1), (64, 4)]
    assert [row["grid"] for row in tables.shapes(study)] == ["1 × 4", "2 × 2", "4 × 1"] * 2
    least = [row["over_least"] for row in tables.shapes(study)]
    assert np.isclose(min(least), 1.0)
    said = {finding.topic: finding.sentence for finding in findings(study)}
    assert "on 4 ranks" in said["A round"].lower() and "3 calls of each rank" in said["A round"]
    assert "From 1 to 4 ranks" in said["Strong scaling"] and "on 2 graphs" in said["Optimizations"]
    assert "Figure 6.7" in report.read_text(encoding="utf-8")
