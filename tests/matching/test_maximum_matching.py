"""Largest matchings of rows and columns, beside SciPy's."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.sparse.csgraph import maximum_bipartite_matching

import linforest_precond as lf
from linforest_precond.matrix.checked import checked


def matched(A):
    """The columns that are matched to rows, after a check that each is an entry's and matched once."""
    A = sp.csr_array(A)
    columns = checked(A).matched_columns
    rows = np.flatnonzero(columns >= 0)
    assert (A.toarray()[rows, columns[rows]] != 0).all()
    assert np.unique(columns[rows]).size == rows.size
    return columns


@pytest.mark.parametrize("seed", range(60))
def test_as_many_as_scipy(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 40))
    A = sp.random_array((n, n), density=min(1.0, 5 * rng.random() / n), rng=rng, format="csr")
    A.data[rng.random(A.nnz) < 0.1] = 0  # entries that are stored zeros match nothing
    nonzero = A.copy()
    nonzero.eliminate_zeros()
    expected = (maximum_bipartite_matching(nonzero, perm_type="column") >= 0).sum()
    assert (matched(A) >= 0).sum() == expected


def test_diagonal_entries_are_kept():
    A = lf.matrices.poisson((5, 5))
    assert matched(A).tolist() == list(range(25))


def test_rows_in_any_order():
    """SciPy's maximum_bipartite_matching does not end within 98 seconds here."""
    A = lf.matrices.poisson((100, 100))
    order = np.random.default_rng(0).permutation(10_000)
    columns = checked(sp.csr_array(A[order])).matched_columns
    assert np.array_equal(np.sort(columns), np.arange(10_000))


def test_rows_that_are_left_over():
    A = np.zeros((4, 4))
    A[:3, 0] = A[3, 1] = 1  # three rows share a column
    columns = matched(A)
    assert (columns >= 0).sum() == 2
    assert columns[3] == 1
