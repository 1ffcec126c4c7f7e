"""Matrices that are broken in any format are refused at every door, by exceptions of this package."""

import numpy as np
import pytest
import scipy.sparse as sp
from broken_matrices import BREAKERS, DOORS, assert_own_error, broken_matrix

import linforest_precond as lf
from linforest_precond.matrix.checked import checked
from linforest_precond.matrix.doors import as_pattern, as_stored

N = 48


def matrix():
    return sp.csr_array(lf.matrices.poisson((6, 8)))


@pytest.mark.parametrize("form", BREAKERS)
def test_refused_or_harmless(form):
    for seed in range(150):
        rng = np.random.default_rng(seed)
        A, what = broken_matrix(matrix(), form, rng)
        for door in (checked, as_pattern, as_stored):
            try:
                door(A)
            except (ValueError, TypeError) as error:
                assert_own_error(error)
                assert "A" in str(error), what


@pytest.mark.parametrize("door", DOORS)
def test_a_broken_matrix_at_every_door(door):
    A = sp.bsr_array(matrix(), blocksize=(2, 2))
    A.indices = A.indices.copy()
    A.indices[3] = 10**8
    B = matrix()
    B.indices[5] = 10**9
    C = matrix()
    C.indptr[3] = 10**8
    for broken in (A, B, C):
        with pytest.raises(ValueError, match=r"^[AM]\.(indices|indptr) must") as caught:
            DOORS[door](broken)
        assert_own_error(caught.value)


@pytest.mark.parametrize(
    ("form", "field", "spoil", "message"),
    [
        ("csr", "data", lambda a: a[:, None], r"A\.data must be 1-D, got shape \(212, 1\)"),
        ("csr", "indices", lambda a: a[None], r"A\.indices must be 1-D, got shape \(1, 212\)"),
        ("csc", "indices", lambda a: a.astype(float), r"A\.indices must hold integers, got float64"),
        ("csr", "indptr", lambda a: a.astype(float), r"A\.indptr must hold integers, got float64"),
        ("csr", "indptr", lambda a: a[:-1], r"A\.indptr must have 49 entries, got 48"),
        ("csr", "data", lambda a: a.astype(object), r"A must hold float32, .* got object"),
        ("csr", "data", lambda a: a.tolist(), r"A\.data must be an array, got a list"),
        ("coo", "row", lambda a: a.astype(float), r"A\.row must hold integers, got float64"),
        ("coo", "col", lambda a: a + 48, r"A\.col must lie in \[0, 48\), got 48 to 95"),
        ("dia", "offsets", lambda a: a[:-1], r"A\.offsets must have one entry for each row of A\.data \(5\)"),
        ("dia", "data", lambda a: a[0], r"A\.data must be 2-D"),
        ("bsr", "data", lambda a: a.reshape(-1, 4, 1), r"A\.indptr must have 13 entries"),
        ("bsr", "data", lambda a: np.repeat(a, 5, axis=1), r"sides divide 48, got 10 x 2 blocks"),
        ("bsr", "indices", lambda a: a[:-1], r"A\.indices must have one entry for each of \d+ blocks"),
        ("lil", "rows", lambda a: a[:-1], r"A\.rows must hold one list for each of 48 rows"),
        (
            "lil",
            "rows",
            lambda a: np.array([[0.5], *a[1:]], object),
            r"A\.rows and A\.data must hold lists of",
        ),
    ],
)
def test_words(form, field, spoil, message):
    A = sp.bsr_array(matrix(), blocksize=(2, 2)) if form == "bsr" else matrix().asformat(form)
    array = spoil(getattr(A, field))
    if field in ("row", "col") and hasattr(A, "coords"):
        A.coords = (array, A.col) if field == "row" else (A.row, array)
    else:
        setattr(A, field, array)
    for door in (checked, lf.tridiagonal, lf.graph.connected_components):
        if "float32" in message and door is lf.graph.connected_components:
            continue  # values are not read
        with pytest.raises((ValueError, TypeError), match=message) as caught:
            door(A)
        assert_own_error(caught.value)


@pytest.mark.parametrize("key", [(48, 0), (0, -1), (2**70, 0), (0.5, 1), ("a", 1), (1,), 3])
def test_keys_of_a_dictionary(key):
    A = sp.dok_array(matrix())
    A._dict[key] = 1.0
    with pytest.raises((ValueError, TypeError), match="the keys of A") as caught:
        checked(A)
    assert_own_error(caught.value)


@pytest.mark.parametrize("form", ["bsr", "dia", "lil", "dok", "coo"])
def test_conversions_are_those_of_scipy(form):
    rng = np.random.default_rng(1)
    A = sp.random_array((30, 30), density=0.2, rng=rng) + sp.eye_array(30)
    B = sp.bsr_array(A, blocksize=(3, 5)) if form == "bsr" else A.asformat(form)
    wanted, csr = B.tocsr(), checked(B)
    wanted.sum_duplicates()
    found = sp.csr_array((csr.data, csr.indices, csr.indptr), shape=(30, 30))
    assert csr.indices.dtype == csr.indptr.dtype == np.int32
    np.testing.assert_array_equal(found.toarray(), wanted.toarray())
    order = rng.permutation(30)
    np.testing.assert_array_equal(lf.permute(B, order).toarray(), A.toarray()[order][:, order])


def test_subclasses():
    class Own(sp.csr_array):
        pass

    A = Own(matrix())
    assert (lf.tridiagonal(A) @ np.ones(N) == lf.tridiagonal(matrix()) @ np.ones(N)).all()
    A.indices[3] = -7
    with pytest.raises(ValueError, match=r"A\.indices must lie in \[0, 48\), got -7"):
        lf.tridiagonal(A)


def test_a_sparse_preconditioner_of_any_format():
    A = matrix()
    inverse = sp.diags_array(1 / A.diagonal())
    wanted, info = lf.solvers.cg(A, np.ones(N), M=sp.csr_array(inverse))
    assert info == 0
    for form in ("csc", "coo", "dia", "lil", "dok", "bsr"):
        x, info = lf.solvers.cg(A, np.ones(N), M=inverse.asformat(form))
        assert info == 0
        np.testing.assert_allclose(x, wanted, rtol=1e-10)


@pytest.mark.gpu
@pytest.mark.parametrize("field", ["indices", "indptr"])
def test_broken_arrays_on_the_gpu(cuda, field):
    A = cuda.csr(matrix())
    getattr(A, field)[3] = 10**9
    for door in (lf.tridiagonal, lf.jacobi, lf.multilevel, lf.linear_forest, lf.graph.connected_components):
        with pytest.raises(ValueError, match=rf"A\.{field} must"):
            door(A)
    with pytest.raises(ValueError, match=rf"M\.{field} must"):
        lf.solvers.cg(cuda.csr(matrix()), cuda.array(np.ones(N)), M=A)
    A = cuda.csr(matrix())
    setattr(A, field, getattr(A, field).astype(float))
    with pytest.raises(TypeError, match=rf"A\.{field} must hold integers"):
        lf.tridiagonal(A)
