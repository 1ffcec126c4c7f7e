"""The study of matching at scale: exact matchings against an oracle, generated graphs, and its report."""

import json
import re
from pathlib import Path

import networkx
import numpy as np
import pytest
import scipy.sparse as sp
import strategies as graphs
from hypothesis import given
from hypothesis import strategies as st
from matching_oracles import edges_of, largest_weight

import linforest_precond as lf
from linforest_precond.study import run_paper, timing
from linforest_precond.study.cases import Case, Source
from linforest_precond.study.published import named_rows
from linforest_precond.study.scale import batches, findings, optimum
from linforest_precond.study.scale.graphs import fetch, mycielskian, own_case, uniform_graph, weighted
from linforest_precond.study.settings import Settings

TRANSCRIPTION = Path(__file__).parent / "published" / "scale.txt"
# The columns of published.csv in the tables, beside the graph's name.
TABLES = {
    "4.1": (
        "vertices", "edges", "largest_degree", "mean_degree", "sr_omp", "sr_gpu", "ld_gpu", "lemon",
        "over_sr_omp", "over_sr_gpu",
    ),
    "4.2": ("ld_gap", "sr_gap"),
    "4.3": ("a100_speedup",),
    "4.4": ("ld_mmeps", "sr_mmeps"),
}  # fmt: skip
UNITS = {"": 1, "K": 1e3, "M": 1e6, "B": 1e9, "x": 1}


@pytest.fixture(autouse=True)
def one_thread():
    with timing.numba_threads(1):
        yield


def transcribed():
    """{graph: {column: number}} of the second transcription."""
    found, table = {}, None
    for line in TRANSCRIPTION.read_text(encoding="utf-8").splitlines():
        if heading := re.match(r"# Table (4\.\d)", line):
            table = heading[1]
        elif line and not line.startswith("#"):
            graph, *cells = (cell.strip() for cell in line.split("|"))
            row = found.setdefault(graph, {})
            for column, cell in zip(TABLES[table], cells, strict=True):
                row |= numbers(column, cell)
    return found


def numbers(column, cell):
    """The number in a cell with its unit; the number of GPUs is in parentheses."""
    if cell in ("-", "N/A"):
        return {}
    number, unit, gpus = re.fullmatch(r"([\d.]+) ?([KMBx]?)(?:\((\d+)\))?", cell).groups()
    return {column: float(number) * UNITS[unit], **({"gpus": float(gpus)} if gpus else {})}


def test_published_tables_are_those_of_a_second_transcription():
    second = transcribed()
    assert named_rows("scale").keys() == second.keys()
    for graph, row in named_rows("scale").items():
        assert row == pytest.approx(second[graph]), graph


@given(A=graphs.matrices(max_size=14))
def test_the_general_optimum(A):
    W, _ = weighted(A)
    assert optimum.general_weight(W) == pytest.approx(largest_weight(edges_of(W)))


@given(rows=st.integers(1, 8), columns=st.integers(1, 8), seed=st.integers(0, 1000))
def test_the_bipartite_optimum(rows, columns, seed):
    random = np.random.default_rng(seed)
    B = random.random((rows, columns)) * (random.random((rows, columns)) < 0.4)
    W = sp.csr_array(np.block([[np.zeros((rows, rows)), B], [B.T, np.zeros((columns, columns))]]))
    side = optimum.sides(W)
    assert side is not None
    assert optimum.bipartite_weight(W) == pytest.approx(optimum.general_weight(W))


def test_odd_cycles_are_not_bipartite():
    ring = networkx.to_scipy_sparse_array(networkx.cycle_graph(5), dtype=float)
    ring = graphs.with_types(ring, index_dtype=np.int32)
    assert optimum.sides(ring) is None
    found = optimum.optimum(ring, None, Settings())
    assert found["solver"] == "networkx" and found["gaps"]["greedy"] == pytest.approx(0)


@pytest.mark.parametrize("k", [3, 5, 7])
def test_mycielski_graphs(k):
    A = mycielskian(k)
    wanted = networkx.mycielski_graph(k)
    assert (A.shape[0], A.nnz // 2) == (wanted.number_of_nodes(), wanted.number_of_edges())
    assert (abs(A - A.T)).nnz == 0 and (A @ A).multiply(A).nnz == 0  # no triangles
    if k == 7:
        assert networkx.could_be_isomorphic(networkx.from_scipy_sparse_array(A), wanted)


def test_a_uniform_graph():
    A = uniform_graph(8)
    assert A.shape == (256, 256) and (A.diagonal() == 0).all() and 28 < A.nnz / 256 <= 32
    assert weighted(A)[0].indices.dtype == np.int32  # one type of indices is compiled


def test_graphs_without_weights_get_random_ones():
    case, W = fetch(Source("cpu"), own_case("mycielskian:5"))
    assert "uniform random weights" in case.note and np.unique(W.data).size == W.nnz // 2
    assert ((W - W.T).nnz, W.data.min() > 0, W.data.max() <= 1) == (0, True, True)
    own = lf.matrices.aniso(2, 6)
    assert not weighted(own)[1] and own_case("poisson2d:9") is None


def test_batches_are_the_same_matching(backend):
    W, _ = weighted(lf.matrices.poisson((20, 20)))
    found = batches.batches(W, None, Settings(device=backend.name))
    assert list(found["batched"]) == ["1", "2", "4", "8"]
    assert all(row["same"] and row["mmeps"] > 0 for row in found["batched"].values())
    sizes = [row["largest_batch"] for row in found["batched"].values()]
    assert sizes == sorted(sizes, reverse=True) and sizes[0] == batches.entry_bytes(W)


def test_memory_stays_within_what_is_given(backend):
    W, _ = weighted(lf.matrices.poisson((120, 120)))
    found = batches.memory(W, None, Settings(device=backend.name))
    assert found["same"] and found["given"] < found["graph"] and found["batches"] >= 8
    assert found["peak"] < 1.5 * found["given"]


def test_the_whole_study(tmp_path):
    pytest.importorskip("matplotlib")
    report = run_paper("scale", ["mycielskian:5", "poisson2d:9"], out=tmp_path, progress=False)
    study = json.loads((tmp_path / "study.json").read_text(encoding="utf-8"))
    assert [case["status"] for case in study["cases"]] == ["done", "done"]
    assert [case["optimum"]["solver"] for case in study["cases"]] == ["networkx", "scipy"]
    text = report.read_text(encoding="utf-8")
    assert "Quality against the optimum" in text and "6.38" in text


def test_a_missing_graph_is_missing(tmp_path):
    case = Case("./nonesuch.mtx", "nonesuch", "file")
    with pytest.raises(Exception, match="nonesuch"):
        fetch(Source("cpu", offline=True), case)


def test_findings_say_of_which_graphs_they_are():
    def case(name, nnz, rate):
        times = {"seconds": 1.0, "mmeps": rate, "same": True}
        memory = {"peak": 2 if nnz < findings.MANY_ENTRIES else 1, "graph": 10, "given": 1}
        found = {"whole": times, "batched": {"8": times}}
        return {"name": name, "status": "done", "nnz": nnz, "batches": found, "memory": memory}

    study = {"cases": [case("small", 10, 0.1), case("large", 10**6, 5.0), case("larger", 10**7, 9.0)]}
    said = {finding.topic: finding.sentence for finding in findings.findings(study)}
    which = "on 2 of 3 graphs, those with at least 100,000 entries"
    assert f"5.00 to 9.00 million matched edges per second {which}" in said["Rate"]
    assert f"Peaks of 10 to 10 % of the graph's size {which}; 2 of 2 stay" in said["Memory"]
    few = {"cases": study["cases"][:1]}
    assert "on all 1 graphs; 0 of 1 stay" in {f.topic: f.sentence for f in findings.findings(few)}["Memory"]
