"""Properties and advice of ``linforest info``."""

import numpy as np
import pytest
import scipy.sparse as sp

import linforest_precond as lf
from linforest_precond.commands.advice import advice
from linforest_precond.commands.properties import properties


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
            (0.70, 0.71, 0.72, "use original."),
            (0.10, 0.71, 0.72, "use tridiagonal."),
            (0.10, 0.71, 0.85, "use tridiagonal, or block"),
            (0.70, 0.71, 0.85, "use original, or block"),
            (0.01, 0.10, 0.20, "coverage of a linear forest is small"),
            (1.00, 1.00, 1.00, "use original"),
        ],
    )
    def test_follows_the_coverages(self, original, forest, block, words):
        coverages = {"original": original, "tridiagonal": forest, "block": block}
        measured = {name: {"coverage": value} for name, value in coverages.items()}
        found = properties(lf.matrices.aniso(1, 5))
        assert words in advice(found, measured)[0]
