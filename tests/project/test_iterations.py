"""benchmarks/pages/iterations.py counts correctly, and docs/iterations.md is complete."""

import math
import re
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from conftest import load_real, manifest
from scipy.sparse.linalg import bicgstab, cg

import linforest_precond as lf

ROOT = Path(__file__).resolve().parents[2]
DOCUMENT = ROOT / "docs" / "iterations.md"

EXPECTED = ("ANISO1 300²", "ANISO2 300²", "bcsstk13", "bcsstk14")

pytestmark = pytest.mark.skipif(not DOCUMENT.exists(), reason="tests run outside a source tree")


@pytest.fixture
def program(bench):
    return bench("pages.iterations")


@pytest.fixture
def short_program(program, monkeypatch):
    """The program with few of the kinds that are not forests."""
    monkeypatch.setattr(program, "OTHERS", {"ILU(0)": program.OTHERS["ILU(0)"]})
    monkeypatch.setattr(program, "DEFINITE", {})
    monkeypatch.setattr(program, "MATCHED", dict(list(program.MATCHED.items())[:1]))
    return program


def rows_of(text):
    """{first cell: all cells} of the tables in a text, the first line of each name."""
    lines = re.findall(r"^\| (.*) \|$", text, re.MULTILINE)
    rows = [[cell.strip() for cell in line.split("|")] for line in lines]
    return {row[0]: row for row in reversed(rows)}


def test_iterations_of_cg_equal_the_calls_of_its_callback(program):
    A = lf.matrices.aniso(2, 20)
    b = program.right_side(A)
    seen = []
    cg(A, b, rtol=program.RTOL, callback=seen.append)
    assert program.iterations(cg, A, b, None, products=1) == len(seen)


def test_half_iterations_of_bicgstab_count(program):
    # The first half iteration solves this system; the callback is never called.
    A = sp.csr_array(2.0 * sp.eye_array(5))
    assert program.iterations(bicgstab, A, np.ones(5), None, products=2) == 1


def test_unsolved_systems_have_no_count(program, monkeypatch):
    A = lf.matrices.aniso(2, 20)
    b = program.right_side(A)
    monkeypatch.setattr(program, "MOST_ITERATIONS", 3)
    assert program.iterations(cg, A, b, None, products=1) == math.inf
    # A solver that reports convergence without a solution.
    assert program.iterations(lambda *_, **__: (np.zeros_like(b), 0), A, b, None, products=1) == math.inf


def test_positive_definite_matrices_are_recognized(program):
    A = lf.matrices.poisson((6, 6))
    assert program.is_positive_definite(A)
    assert not program.is_positive_definite(-A)
    assert not program.is_positive_definite(sp.csr_array(sp.triu(A)))
    assert not program.is_positive_definite(sp.csr_array(np.ones((4, 4))))
    # The 2 x 2 minors are positive here, the eigenvalue 1 - 2 * 0.9 is not.
    C = np.full((3, 3), -0.9) + 1.9 * np.eye(3)
    assert not program.is_positive_definite(sp.csr_array(C))
    assert not program.is_positive_definite(sp.csr_array(np.ones((4, 4))), known=True)


def test_a_definite_matrix_is_solved_by_cg(short_program, bench):
    line = short_program.measured("grid", A=lf.matrices.aniso(2, 30))
    assert line.solver == "CG" and line.rows == 900 and line.reachable
    assert line.iterations["AlgTriScal"] < 0.7 * line.iterations["Jacobi"]
    assert line.iterations["ILU(0)"] < line.iterations["3 forests"] < line.iterations["AlgTriScal"]
    assert line.coverages[0] < 0.2 and line.coverages[1] > 0.6
    assert math.isfinite(line.solve) and line.chosen == "direct"
    tables = bench("pages.iteration_tables")
    assert "| grid | 900 | 7,744 | CG | 0.14 |" in tables.table([line])
    assert "| grid | CG | " in tables.others_table([line])


def test_another_matrix_is_solved_by_bicgstab(short_program):
    A = lf.matrices.stencil((12, 12), [[0, -1, 0], [-1.5, 4.5, -0.5], [0, -1, 0]])
    line = short_program.measured("flow", A=A)
    assert line.solver == "BiCGStab" and all(map(math.isfinite, line.iterations.values()))
    assert line.iterations["TriScal"] < line.iterations["Jacobi"]


def test_triscal_uses_the_original_ordering_of_a_permuted_matrix(program):
    A = lf.matrices.aniso(1, 12)
    order = np.random.default_rng(0).permutation(A.shape[0])
    permuted = sp.csr_array(A[order][:, order])
    r = np.random.default_rng(1).standard_normal(A.shape[0])
    one = program.FORESTS["TriScal"](A, "original") @ r
    other = program.FORESTS["TriScal"](permuted, np.argsort(order)) @ r[order]
    np.testing.assert_allclose(other, one[order])


def test_a_permuted_operator_acts_on_the_permuted_system(program):
    A = lf.matrices.aniso(1, 6)
    order = np.random.default_rng(0).permutation(A.shape[0])
    r = np.random.default_rng(1).standard_normal(A.shape[0])
    M = lf.ilu(A, ordering="natural")
    np.testing.assert_array_equal(program.permuted_operator(M, order) @ r[order], (M @ r)[order])


def test_zeros_on_the_diagonal_are_matched(short_program):
    A = sp.csr_array(np.roll(lf.matrices.poisson((5,)).toarray() + 3 * np.eye(5), 1, axis=0))
    line = short_program.measured("holes", A=A)
    assert line.iterations["Jacobi, matched"] <= 5
    assert not short_program.matched(lf.matrices.poisson((5,)))


def test_half_of_the_systems_must_be_solved(program, monkeypatch):
    counts = iter([3, math.inf, 5, math.inf, math.inf, 7, 9])
    monkeypatch.setattr(program, "iterations", lambda *_, **__: next(counts))
    systems = [(None, None, None)] * 3
    assert program.median(systems, lambda P, order: None) == 5
    assert program.median(systems, lambda P, order: None) == math.inf
    assert list(counts) == [7, 9]


def test_finished_lines_are_read_again(program, tmp_path):
    path = tmp_path / "lines.jsonl"
    counts = {"Jacobi": 3, "TriScal": math.inf}
    line = program.Line("A", 4, 9, "CG", (0.0, 0.5, 1.0), counts, 7, "ilu, cg", ("Jacobi: none",))
    assert program.read_lines(path) == {}
    program.add_line(path, ("real", "A", True, None), line)
    assert program.read_lines(path) == {("real", "A", True, None): line}
    program.add_line(None, (), line)


def test_an_unsolved_system_may_be_solved_directly(program):
    assert program.is_solved_directly(lf.matrices.poisson((5,)))
    assert not program.is_solved_directly(sp.csr_array(np.diag([1.0, 0.0])))


def test_the_document_has_all_matrices():
    if not manifest():
        pytest.skip("LINFOREST_MATRICES names no folder with a MANIFEST.tsv")
    text = DOCUMENT.read_text(encoding="utf-8")
    names = {name.removesuffix(", Laplacian") for name in rows_of(text)}
    left_out = re.search("Left out, a directed graph: (.*)\\.", text)[1].split(", ")
    assert set(manifest()) == {name for name in names if name in manifest()} | set(left_out)
    assert not names & set(left_out)


def test_the_document_shows_the_expected_counts():
    """On the paper's grids, and on the structural problems that need repairs."""
    text = DOCUMENT.read_text(encoding="utf-8")
    rows = rows_of(text)
    counts = {name: [int(cell.replace(",", "")) for cell in rows[name][7:11]] for name in EXPECTED}
    assert counts["ANISO1 300²"][:3] == pytest.approx((564, 337, 337), rel=0.03)
    assert counts["ANISO2 300²"][:3] == pytest.approx((511, 512, 282), rel=0.03)
    for name in ("ANISO1 300²", "ANISO2 300²"):
        assert counts[name][3] < counts[name][2]
    for name in ("bcsstk13", "bcsstk14"):
        assert max(counts[name][2:]) < counts[name][0]
    bicgstab_row = re.search(r"^\| ANISO2 300² .* BiCGStab .*$", text, re.MULTILINE)[0]
    jacobi, _, algtriscal, *_ = map(int, re.findall(r"\| (\d+)(?= \|)", bicgstab_row)[-5:])
    assert algtriscal < 0.65 * jacobi


def test_readme_quotes_the_document():
    """Lines of README with a matrix, its solver and the iterations, where there are any."""
    document, readme = (path.read_text(encoding="utf-8") for path in (DOCUMENT, ROOT / "README.md"))
    rows = rows_of(document)
    for name, cells in rows_of(readme).items():
        if name in rows and cells[1:2] in (["CG"], ["BiCGStab"]):
            assert cells == [rows[name][0], rows[name][3], *rows[name][7:11]], name


@pytest.mark.slow
@pytest.mark.parametrize("name", ["494_bus", "bcsstk14", "nos7"])
def test_the_document_is_reproducible(program, name):
    if name not in manifest():
        pytest.skip("the matrix is not available")
    row = rows_of(DOCUMENT.read_text(encoding="utf-8"))[name]
    line = program.measured(name, A=load_real(name))
    assert [line.name, f"{line.rows:,}", f"{line.entries:,}", line.solver] == row[:4]
    for count, cell in zip(line.iterations.values(), row[7:]):
        assert count == pytest.approx(int(cell.replace(",", "")), rel=0.05)
