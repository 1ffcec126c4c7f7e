"""The facts of a matrix, against their definitions on dense arrays."""

import math

import numpy as np
import pytest
import scipy.sparse as sp

import linforest_precond as lf
from linforest_precond.chooser.facts import facts_of
from linforest_precond.chooser.report import facts_in_words
from linforest_precond.matrix.checked import checked


def facts(backend, A):
    return facts_of(checked(backend.csr(sp.csr_array(A))))


def heavy_share(A):
    d = abs(A.diagonal())
    weights = 2 * abs(A) / np.add.outer(d, d)
    np.fill_diagonal(weights, 0)
    totals = weights.sum(axis=1)
    return np.minimum(2 * weights.max(axis=1), totals).sum() / totals.sum()


def test_a_grid(backend):
    A = lf.matrices.poisson((12, 10))
    found = facts(backend, A)
    assert found.may_be_definite and found.is_elliptic and not found.needs_matching and not found.centered
    assert (found.rows, found.entries, found.dominant_share, found.m_matrix_share) == (120, A.nnz, 1.0, 1.0)
    assert found.row_ratio == 1.0 and found.heavy_share == pytest.approx(heavy_share(A.toarray()))


def test_explicit_zeros_are_left_as_they_are(backend):
    A = sp.csr_array(np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 0.0], [6.0, 0.0, 7.0]]))
    A.data[[0, 3]] = 0.0
    csr = checked(backend.csr(A))
    assert facts_of(csr).structural_rank == 3
    for array, given in ((csr.indices, A.indices), (csr.indptr, A.indptr), (csr.data, A.data)):
        np.testing.assert_array_equal(backend.host(array), given)


def test_structural_rank(backend):
    A = np.array([[1.0, 2.0, 0.0], [3.0, 0.0, 0.0], [4.0, 0.0, 0.0]])
    found = facts(backend, A)
    assert found.structural_rank == 2 and len(found.dependent_rows) == 1 and found.is_singular
    assert facts(backend, A[::-1] + np.eye(3)).structural_rank == 3
    assert facts(backend, sp.csr_array((3, 3))).structural_rank == 0


def test_a_laplacian_is_centered(backend):
    W = abs(lf.matrices.poisson((9, 9)))
    W.setdiag(0)
    found = facts(backend, sp.diags_array(W.sum(axis=1)) - W)
    assert found.centered and found.is_elliptic and found.may_be_definite


def test_finite_elements_keep_constants_with_couplings_of_both_signs(backend):
    A = lf.matrices.anisotropic_diffusion(12, np.pi / 6)
    found = facts(backend, A)
    rows = abs(A.toarray().sum(axis=1)) <= 1e-6 * abs(A.toarray()).sum(axis=1)
    assert found.constant_share == rows.mean() and 0.5 < rows.mean() < 1
    assert found.is_scalar_stiffness and not found.is_elliptic
    assert not facts(backend, A + sp.eye_array(A.shape[0])).is_scalar_stiffness


def test_rows_without_entries_do_not_count(backend):
    A = sp.block_diag([lf.matrices.poisson(5), sp.csr_array((3, 3))], format="csr")
    found = facts(backend, A)
    assert found.positive_diagonal and not found.needs_matching and found.row_ratio == 1.0


def test_zero_and_tiny_diagonals(backend):
    A = np.array([[0.0, 1.0, 0.0], [1.0, 1e-12, 2.0], [0.0, 2.0, 3.0]])
    found = facts(backend, A)
    assert (found.zero_diagonal, found.tiny_diagonal) == (1, 1)
    assert found.needs_matching and not found.positive_diagonal and found.row_ratio == math.inf


def test_signs_of_couplings(backend):
    A = np.array([[2.0, -1.0, 0.5], [-1.0, 2.0, 0.0], [0.5, 0.0, 2.0]])
    found = facts(backend, A)
    assert found.m_matrix_share == pytest.approx(1 / 3) and found.row_ratio == 0.75
    assert facts(backend, -lf.matrices.poisson(6)).m_matrix_share == 1.0


def test_nonsymmetric_and_negative(backend):
    A = lf.matrices.convection_diffusion((6, 6), 1.0)
    assert not facts(backend, A).hermitian and facts(backend, A).is_elliptic
    assert not facts(backend, -lf.matrices.poisson(6)).may_be_definite


@pytest.mark.slow
@pytest.mark.parametrize("dtype", [np.float32, np.complex64, np.complex128])
def test_other_types(backend, dtype):
    A = lf.matrices.poisson((8, 8)).astype(dtype)
    if A.dtype.kind == "c":
        A = sp.csr_array(A + sp.triu(A, 1) * 0.25j - sp.tril(A, -1) * 0.25j)
    found = facts(backend, A)
    assert found.may_be_definite and found.heavy_share == pytest.approx(heavy_share(A.toarray()), rel=1e-5)


def test_no_rows(backend):
    assert facts(backend, sp.csr_array((0, 0))).rows == 0


def test_printed():
    text = dict(facts_in_words(facts_of(checked(lf.matrices.poisson((5, 5))))))
    assert text["symmetry"] == "Hermitian" and text["dominant rows"] == "100%"
