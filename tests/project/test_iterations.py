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


def test_iterations_are_counted_with_their_halves(program, monkeypatch):
    A = lf.matrices.aniso(2, 20)
    b, seen = program.right_side(A), []
    cg(A, b, rtol=program.RTOL, callback=seen.append)
    assert program.iterations(cg, A, b, None, products=1) == len(seen)
    # The first half iteration of BiCGStab solves this system; the callback is never called.
    assert (
        program.iterations(bicgstab, sp.csr_array(2.0 * sp.eye_array(5)), np.ones(5), None, products=2) == 1
    )
    # A solver that reports convergence without a solution, and one that stops early.
    assert program.iterations(lambda *_, **__: (np.zeros_like(b), 0), A, b, None, products=1) == math.inf
    monkeypatch.setattr(program, "MOST_ITERATIONS", 3)
    assert program.iterations(cg, A, b, None, products=1) == math.inf


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
    """This one needs its rows matched, too."""
    A = sp.csr_array(np.roll(lf.matrices.poisson((5,)).toarray() + 3 * np.eye(5), 1, axis=0))
    line = short_program.measured("holes", A=A)
    assert line.solver == "BiCGStab" and line.iterations["Jacobi, matched"] <= 5


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
