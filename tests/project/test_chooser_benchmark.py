"""benchmarks/pages/chooser.py measures and sums up correctly."""

import math

import numpy as np
import pytest
import scipy.sparse as sp

import linforest_precond as lf


@pytest.fixture
def program(bench):
    return bench("pages.chooser")


def line(program, auto, jacobi, other, part="odd"):
    return program.Line(part, "A", 10, {"jacobi": jacobi, "tridiagonal": other}, auto, "jacobi")


def test_an_easy_system(program):
    found = program.measured("generated", "grid", lf.matrices.poisson((8, 8)))
    assert found.chosen in found.work and found.to_jacobi <= 1.1 and found.to_best >= 1.0
    assert set(found.work) >= {"jacobi", "tridiagonal", "multilevel"} and math.isfinite(found.best)


def test_the_summary_counts_the_bars(program):
    lines = [
        line(program, 100, 100, 90),
        line(program, 120, 100, 200),
        line(program, 50, math.inf, 10),
        line(program, math.inf, math.inf, 10),
        line(program, math.inf, math.inf, math.inf),
    ]
    text = program.summary(lines)
    assert "5 systems, 4 of them solved by some candidate, 3 by `lf.solve`" in text
    assert "2 (50%) with at most 1.25 x" in text and "1 with more than 1.1 x that of Jacobi" in text
    assert "at worst 1.20 x" in text


def test_the_share_of_what_others_solve(program):
    solved, lost = (
        program.Line("odd", "A", 10, {"jacobi": 5.0}, auto, "jacobi", True) for auto in (5.0, math.inf)
    )
    assert "`lf.solve` solves 1 of the 2 (50%)" in program.summary([solved, lost])


def test_what_others_solve(program):
    A = sp.csr_array(lf.matrices.poisson((8, 8)))
    singular = sp.csr_array(np.ones((2, 2)))
    assert program.is_reachable(A, np.ones(64)) and not program.is_reachable(singular, np.array([1.0, 0.0]))


def test_the_document_has_all_groups(program):
    text = program.markdown([line(program, 5, 5, 6), line(program, 5, 5, math.inf, "generated")])
    assert "## Real systems, odd lines" in text and "## Generated" in text and "| – |" in text


def test_systems_have_unique_names(program, monkeypatch, tmp_path):
    (tmp_path / "MANIFEST.tsv").write_text("name\tfile\tnumerically_symmetric\tall_ones\n")
    monkeypatch.setenv("LINFOREST_MATRICES", str(tmp_path))
    names = [name for _, name, _ in program.chooser_systems.systems()]
    assert len(names) == len(set(names)) > 40
