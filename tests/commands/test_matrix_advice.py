"""Properties and advice of ``linforest info``."""

import numpy as np
import pytest
import scipy.sparse as sp

import linforest_precond as lf
from linforest_precond.app.commands.advice import advice
from linforest_precond.app.commands.properties import properties


class TestProperties:
    def test_of_a_hand_made_matrix(self):
        A = np.array([[4.0, -1, 0, 0], [-1, 0.5, 0, 0], [0, 0, 2, 0], [0, 0, 0, 0]])
        found = properties(sp.csr_array(A))
        assert found.symmetric and found.hermitian and found.pattern_symmetric
        assert not found.positive_diagonal and not found.fits_cg
        assert (found.entries, found.zero_diagonal, found.empty_rows, found.dominant_rows) == (5, 1, 1, 3)
        assert (found.smallest, found.largest, found.fewest, found.most) == (0.5, 4.0, 0, 2)
        assert found.components == 3

    def test_symmetries(self):
        hermitian = np.array([[2, 1j], [-1j, 2]])
        assert properties(sp.csr_array(hermitian)).hermitian
        assert not properties(sp.csr_array(hermitian)).symmetric
        assert properties(sp.csr_array(np.array([[2, 1j], [1j, 2]]))).symmetric
        rounded = properties(sp.csr_array(np.array([[2.0, 1], [1 + 2.0**-51, 2]])))
        assert rounded.to_rounding and rounded.fits_cg and not rounded.symmetric
        values = properties(sp.csr_array(np.array([[1.0, 2], [3, 1]])))
        assert values.pattern_symmetric and not values.symmetric
        assert not properties(sp.csr_array(np.array([[1.0, 2], [0, 1]]))).pattern_symmetric

    def test_explicit_zeros_do_not_count_as_entries(self):
        A = sp.csr_array((np.array([1.0, 0.0, 1.0]), np.array([0, 1, 1]), np.array([0, 2, 3])), shape=(2, 2))
        found = properties(A)
        assert (found.entries, found.explicit_zeros, found.symmetric) == (2, 1, True)
        assert A.nnz == 3

    def test_dominance_tolerates_rounding(self):
        assert properties(lf.matrices.aniso(2, 10)).dominant_rows == 100


class TestAdvice:
    @pytest.mark.parametrize(
        ("original", "forest", "block", "words"),
        [
            (0.70, 0.71, 0.72, "original order already covers 70% of the weight, about as much as a linear"),
            (0.10, 0.71, 0.72, "The linear forest covers 71% of the weight, the original order 10%. "),
            (0.10, 0.71, 0.85, "the original order 10%, and 2 x 2 blocks cover 85%."),
            (0.70, 0.71, 0.85, "as a linear forest, and 2 x 2 blocks cover 85%."),
            (0.01, 0.10, 0.20, "coverage of a linear forest is small"),
            (1.00, 1.00, 1.00, "use tridiagonal_original"),
        ],
    )
    def test_follows_the_coverages(self, original, forest, block, words):
        coverages = {
            "tridiagonal_original": original,
            "tridiagonal": forest,
            "block_tridiagonal": block,
        }
        measured = {name: {"coverage": value} for name, value in coverages.items()}
        found = properties(lf.matrices.aniso(1, 5))
        (first, _) = advice(found, measured, "B.mtx")
        assert words in first and "linforest info B.mtx --try" in first

    def test_trials_decide_whatever_the_coverage_is(self):
        rows = {
            "jacobi": row(coverage=0.0, iterations=60, milliseconds=6.0),
            "tridiagonal": row(coverage=0.9, iterations=1100, milliseconds=220.0),
            "multilevel": row(coverage=1.0, iterations=9, milliseconds=4.0, setup=50.0),
            "ilu": row(coverage=1.0, iterations=500, milliseconds=1.0, converged=False),
        }
        (first, _) = advice(properties(lf.matrices.aniso(1, 5)), rows)
        assert first.startswith("Trial solves: jacobi with cg wins, 60 iterations and 8 ms with setup.")
        assert "multilevel has the fewest iterations, 9" in first
        rows["jacobi"]["trial"]["solve_milliseconds"] = 48.5
        first = advice(properties(lf.matrices.aniso(1, 5)), rows)[0]
        assert "jacobi with cg ties with multilevel, up to noise, 60 iterations and 50.5 ms" in first
        for each in rows.values():
            each["trial"]["converged"] = False
        rows["ilu"]["trial"]["residual"] = 1e-6
        assert "ilu came closest, to 1.0e-06" in advice(properties(lf.matrices.aniso(1, 5)), rows)[0]


def row(coverage, iterations, milliseconds, setup=2.0, converged=True):
    found = {"solver": "cg", "iterations": iterations, "residual": 1e-3, "converged": converged}
    found["solve_milliseconds"] = milliseconds
    return {"coverage": coverage, "setup_milliseconds": setup, "trial": found}
