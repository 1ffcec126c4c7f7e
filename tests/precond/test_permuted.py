"""`M.permuted`: the same operator on vectors in its own order of the rows, bit for bit."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
import strategies as graphs
from operator_cases import KINDS, SIZE, dominant, other_values, state, vectors

import linforest_precond as lf

ORDERED = ("forest", "rcm", "forest given", "permutation", "original")


def order_of(backend, M):
    """The row of A that each row of M.permuted is."""
    return backend.xp.arange(M.shape[0]) if M.ordering is None else M.ordering.order


def assert_permuted(backend, P, M):
    order = order_of(backend, M)
    for shape in ((M.shape[0],), (M.shape[0], 3)):
        r = backend.array(vectors(M.dtype, *shape))
        for one, other in ((P, M), (P.T, M.T), (P.H, M.H)):
            np.testing.assert_array_equal(backend.host(one @ r[order]), backend.host((other @ r)[order]))


@pytest.mark.parametrize("kind, types", graphs.crossed(ORDERED, graphs.TYPES))
def test_same_bits_in_the_order_of_the_rows(backend, kind, types):
    dtype, index = types
    M = KINDS[kind](backend.csr(dominant(dtype=dtype, index_dtype=index)))
    P = M.permuted
    assert_permuted(backend, P, M)
    assert isinstance(P, lf.Preconditioner) and P.shape == M.shape and P.dtype == M.dtype
    assert P.kind == M.kind and P.nbytes == M.nbytes and P.positive_definite == M.positive_definite


def test_nothing_is_copied(backend):
    M = lf.tridiagonal(backend.csr(dominant()))
    assert M.permuted._part.bands is M._part.bands and M.permuted._part.solver is M._part.solver


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_systems_with_pivoting_and_narrow_numbers(backend):
    path = sp.diags_array([np.full(59, 2.0), np.full(60, 0.1), np.full(59, -3.0)], offsets=[-1, 0, 1])
    A = backend.csr(graphs.shuffled(path))
    for options in ({}, {"dtype": np.float32}, {"repair": "none"}):
        M = lf.tridiagonal(A, **options)
        assert_permuted(backend, M.permuted, M)
    assert "with pivoting" in str(M)


@pytest.mark.parametrize("kind", ["forest", "permutation", "original"])
def test_updates(backend, kind):
    A = dominant()
    M, others = KINDS[kind](backend.csr(A)), [other_values(A, seed) for seed in (9, 10)]
    P = M.permuted
    before = state(backend, P)
    for B in others:  # the second one reads the slots that the first one found
        M.update(backend.csr(B))
        assert state(backend, P) == before
    for B in others:
        P.update(backend.csr(B))
    assert_permuted(backend, P, M)
    assert_permuted(backend, M.permuted, M)


def test_stored_and_restored(backend, tmp_path):
    P = lf.tridiagonal(backend.csr(dominant())).permuted
    lf.save_preconditioner(P, tmp_path / "P.npz")
    for restored in (pickle.loads(pickle.dumps(P)), lf.load_preconditioner(tmp_path / "P.npz")):
        assert state(backend, restored) == state(backend, P)


def test_it_says_so():
    M = lf.tridiagonal(dominant())
    assert "in the order of the system" in str(M.permuted) and "vectors" not in str(M)


def test_at_the_edge_of_the_number_range(backend):
    A = dominant()
    M = lf.tridiagonal(backend.csr(graphs.with_types(A * 2.0**900)))
    assert_permuted(backend, M.permuted, M)


@pytest.mark.parametrize(
    "make, seen",
    [
        (lf.jacobi, "'jacobi'"),
        (lf.block_tridiagonal, "'block_tridiagonal'"),
        (lf.ilu, "'ilu'"),
        (lambda A: lf.tridiagonal(A, scaling="jacobi"), "'tridiagonal' of a scaled matrix"),
        (lambda A: lf.tridiagonal(A).permuted, "'tridiagonal', permuted already"),
        graphs.slow(lambda A: lf.tridiagonal(A, forests=2), "'several_forests'"),
        graphs.slow(lambda A: lf.multilevel(A).aspreconditioner(), "'multilevel'"),
    ],
)
def test_other_kinds_are_refused(make, seen):
    with pytest.raises(TypeError, match=f"needs an operator of lf.tridiagonal.* got one of the kind {seen}"):
        make(dominant(SIZE)).permuted  # noqa: B018
