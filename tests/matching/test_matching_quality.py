"""Quality of matchings: against optimal ones, and against the serial algorithms on real matrices."""

import re
from pathlib import Path

import networkx
import numpy as np
import pytest
import strategies as graphs
from conftest import load_real, manifest
from hypothesis import given
from hypothesis import strategies as st
from matching_oracles import edges_of, largest_weight, one_after_the_other, weight_of

import linforest_precond as lf
from linforest_precond.matrix.checked import checked

ROOT = Path(__file__).resolve().parents[2]
DOCUMENT = ROOT / "docs" / "matchings.md"
GOOD = ("locally_dominant", "suitor")
MAXIMAL = (*GOOD, "random", "weighted", "factor")


def is_at_least(weight, bound):
    return weight >= bound * (1 - 1e-12)


class TestBounds:
    @given(A=graphs.matrices(max_size=24), seed=st.integers(0, 100))
    def test_half_of_the_largest_weight(self, backend, A, seed):
        best = largest_weight(edges_of(A))
        for method in GOOD:
            assert is_at_least(lf.graph.matching(backend.csr(A), method, seed=seed).weight, best / 2)

    @given(A=graphs.matrices(max_size=24), seed=st.integers(0, 100))
    def test_half_of_the_largest_size(self, backend, A, seed):
        graph = networkx.Graph(list(edges_of(A)))
        most = len(networkx.max_weight_matching(graph, maxcardinality=True))
        for method in MAXIMAL:
            assert 2 * lf.graph.matching(backend.csr(A), method, seed=seed).size >= most

    @given(A=graphs.matrices(max_size=24), epsilon=st.sampled_from([1e-6, 0.1, 1.0, 5.0]))
    def test_one_pass(self, A, epsilon):
        best = largest_weight(edges_of(A))
        weight = lf.graph.matching(A, "paz_schwartzman", epsilon=epsilon).weight
        assert is_at_least(weight, best / (2 + epsilon))

    @pytest.mark.parametrize("kind", ["ties", "unique"])
    def test_much_better_than_the_bound_on_random_graphs(self, backend, kind):
        A = graphs.random_graph(300, kind, 3)
        best = largest_weight(edges_of(A))
        for method in GOOD:
            assert lf.graph.matching(backend.csr(A), method).weight > 0.8 * best
        assert lf.graph.matching(A, "paz_schwartzman").weight > 0.8 * best

    def test_the_bound_is_reached(self, backend):
        """The middle edge of three is a little heavier than each of its neighbours."""
        A = graphs.path_graph(4, [1.0, 1.0 + 1e-9, 1.0])
        assert lf.graph.matching(backend.csr(A)).weight == pytest.approx(largest_weight(edges_of(A)) / 2)

    def test_one_pass_has_its_own_worst_case(self):
        """An edge is discarded that does not exceed 1 + epsilon / 2 times the potentials."""
        A = graphs.path_graph(3, [1.0, 1.05])
        assert lf.graph.matching(A, "paz_schwartzman", epsilon=0.2).weight == 1.0
        assert lf.graph.matching(A, "paz_schwartzman", epsilon=0.01).weight == pytest.approx(1.05)

    def test_rounds_on_large_uniform_grids(self, backend):
        """Ties broken by hash need few rounds, whatever the size."""
        for shape in ((300, 300), (45, 45, 45)):
            A = backend.csr(graphs.grid_graph(*shape))
            r = lf.graph.matching(A)
            assert r.iterations <= 10
            assert 2 * r.size > 0.85 * A.shape[0]


@pytest.fixture
def program(bench):
    return bench("pages.matchings")


def rows_of(text):
    """{first cell: all cells} of the table in a text."""
    rows = [[cell.strip() for cell in line.split("|")] for line in re.findall(r"^\| (.*) \|$", text, re.M)]
    return {row[0]: row for row in rows}


class TestTheProgram:
    @pytest.mark.parametrize("weighted", [False, True])
    @pytest.mark.parametrize("kind", ["unit", "ties", "unique"])
    def test_the_serial_algorithm(self, program, kind, weighted):
        A = graphs.random_graph(400, kind, 2, symmetric=False)
        edges = edges_of(A)
        (found,) = program.serial_matchings(checked(A).graph, (weighted,), range(3))
        for seed, (size, weight) in enumerate(found):
            order = np.random.default_rng(seed).permutation(400)
            wanted = one_after_the_other(edges, order.tolist(), weighted)
            assert size == sum(w > v for v, w in enumerate(wanted))
            assert weight == pytest.approx(weight_of(edges, wanted))

    def test_a_line(self, program, monkeypatch):
        monkeypatch.setattr(program, "SEEDS", 2)
        A = graphs.random_graph(2000, "unique", 4)
        line = program.measured("random", A)
        assert (line.rows, line.edges, line.alike) == (2000, len(edges_of(A)), False)
        assert 0.95 < line.size < 1.05 and 0.9 < line.gain < 1.3
        assert line.weights["random"] < line.weights["weighted"] < 1.0 < 2 * line.weights["paz_schwartzman"]
        text = program.markdown([line, program.measured("grid", graphs.grid_graph(9, 9))])
        assert "| random | 2,000 |" in text and "average of the 1 with different weights" in text

    def test_no_edges(self, program, monkeypatch):
        monkeypatch.setattr(program, "SEEDS", 1)
        line = program.measured("diagonal", graphs.path_graph(1))
        assert (line.edges, line.size, line.gain) == (0, 1.0, 1.0)


@pytest.mark.skipif(not DOCUMENT.exists(), reason="tests run outside a source tree")
class TestTheDocument:
    def test_has_all_matrices(self):
        if not manifest():
            pytest.skip("LINFOREST_MATRICES names no folder with a MANIFEST.tsv")
        assert set(manifest()) <= set(rows_of(DOCUMENT.read_text(encoding="utf-8")))

    def test_keeps_its_promises(self):
        """The paper's ratios: random at least 0.99 of the serial size, weighted 0.85 of the greedy weight."""
        rows = rows_of(DOCUMENT.read_text(encoding="utf-8"))
        head, average = rows["matrix"], rows["average of all 50"]
        number = {name: float(cell) for name, cell in zip(head[3:], average[3:], strict=True)}
        assert number["size"] >= 0.99
        assert number["gain"] > 1.0
        assert number["weighted"] >= 0.85 and number["factor"] >= 0.95
        assert number["LD rounds"] < 10

    @pytest.mark.parametrize("name", ["494_bus", "bcsstk14", "nos7"])
    def test_is_reproduced(self, program, name):
        if name not in manifest():
            pytest.skip("the matrix is not at hand")
        A = load_real(name)
        row = rows_of(DOCUMENT.read_text(encoding="utf-8"))[name]
        line = program.measured(name, A)
        assert [line.name, f"{line.rows:,}", f"{line.edges:,}", *program.numbers(line)] == row
