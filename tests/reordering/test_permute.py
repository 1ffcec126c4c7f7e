"""Matrices in another order, and the preconditioner in reverse Cuthill-McKee order."""

import numpy as np
import pytest
import scipy.sparse as sp
import strategies as graphs
from hypothesis import given
from hypothesis import strategies as st

import linforest_precond as lf


@given(A=graphs.matrices(max_size=25), seed=st.integers(0, 99))
def test_entries(backend, A, seed):
    order = np.random.default_rng(seed).permutation(A.shape[0])
    B = backend.csr(A)
    C = lf.permute(B, order)
    assert type(C) is type(B) and C.dtype == A.dtype and C.nnz == A.nnz
    assert C.indices.dtype == A.indices.dtype and C.indptr.dtype == A.indptr.dtype
    np.testing.assert_array_equal(backend.host(C.toarray()), A.toarray()[order][:, order])
    rows = np.repeat(np.arange(A.shape[0]), np.diff(backend.host(C.indptr)))
    places = rows * A.shape[0] + backend.host(C.indices)
    assert (np.diff(places) > 0).all()


@pytest.mark.parametrize("kind", [sp.csr_array, sp.csr_matrix, sp.csc_array, sp.coo_matrix, sp.lil_array])
@pytest.mark.parametrize("dtype", [bool, np.int8, np.int64, np.float32, np.complex128])
def test_kinds_and_types_stay(kind, dtype):
    A = kind(graphs.random_graph(50).astype(dtype))
    order = np.random.default_rng(0).permutation(50)
    B = lf.permute(A, order)
    assert type(B) is type(A) and B.dtype == A.dtype
    np.testing.assert_array_equal(B.toarray(), A.toarray()[order][:, order])


@pytest.mark.parametrize("kind", ["csc", "coo", "dense"])
def test_formats(backend, kind):
    A = graphs.random_graph(60, symmetric=False)
    B = backend.csr(A)
    B = B.toarray() if kind == "dense" else B.asformat(kind)
    order = backend.array(np.random.default_rng(0).permutation(60).astype(np.int32))
    C = lf.permute(B, order)
    assert type(C) is type(B)
    dense = backend.host(C if kind == "dense" else C.toarray())
    order = backend.host(order)
    np.testing.assert_array_equal(dense, A.toarray()[order][:, order])


def test_there_and_back(backend):
    A = backend.csr(graphs.random_graph(5000))
    order = lf.graph.reverse_cuthill_mckee(A)
    back = backend.xp.argsort(order)
    B = lf.permute(lf.permute(A, order), back)
    for name in ("indptr", "indices", "data"):
        np.testing.assert_array_equal(backend.host(getattr(B, name)), backend.host(getattr(A, name)))


def test_records_with_an_order(backend):
    A = backend.csr(graphs.random_graph(60))
    forest = lf.linear_forest(A)
    wanted = backend.host(lf.permute(A, forest.order).toarray())
    for ordering in (forest, forest.ordering):
        np.testing.assert_array_equal(backend.host(lf.permute(A, ordering).toarray()), wanted)
        assert lf.graph.bandwidth(A, ordering) == lf.graph.bandwidth(A, forest.order)


def test_wrong_arguments(backend):
    A = graphs.path_graph(4)
    with pytest.raises(ValueError, match="twice"):
        lf.permute(backend.csr(A), [0, 1, 1, 2])
    with pytest.raises(ValueError, match="square"):
        lf.permute(sp.csr_array((3, 4)), [0, 1, 2])
    A.indices[0] = 9
    with pytest.raises(ValueError, match="A.indices must lie in"):
        lf.permute(backend.csr(A), [0, 1, 2, 3])


@pytest.mark.gpu
def test_devices_are_not_mixed(cuda):
    with pytest.raises(TypeError, match=r"on A's device \(cpu\)"):
        lf.permute(graphs.path_graph(4), cuda.array(np.arange(4)))


class TestTridiagonalInRcmOrder:
    def test_is_that_of_the_order(self, backend):
        A = backend.csr(graphs.shuffled(lf.matrices.aniso(1, 30)))
        order = lf.graph.reverse_cuthill_mckee(A)
        M, given_order = lf.tridiagonal(A, "rcm"), lf.tridiagonal(A, order)
        np.testing.assert_array_equal(backend.host(M.ordering.order), backend.host(order))
        r = backend.array(np.random.default_rng(0).random(900))
        np.testing.assert_array_equal(backend.host(M @ r), backend.host(given_order @ r))

    def test_a_band_of_its_own(self, backend):
        """In its RCM order a shuffled path is tridiagonal, and the preconditioner exact."""
        A = backend.csr(graphs.shuffled(graphs.path_graph(500)))
        A.data[:] = backend.array(np.where(backend.host(A.data) == 2.0, 2.5, -1.0))
        M = lf.tridiagonal(A, "rcm")
        assert M.coverage == 1.0
        x = backend.array(np.random.default_rng(0).random(500))
        np.testing.assert_allclose(backend.host(M @ (A @ x)), backend.host(x), rtol=1e-10)

    def test_refreshed(self, backend):
        A = lf.matrices.aniso(2, 20)
        M = lf.tridiagonal(backend.csr(A), "rcm")
        M.update(backend.csr(2 * A))
        r = backend.array(np.ones(400))
        np.testing.assert_allclose(
            backend.host(M @ r), backend.host(lf.tridiagonal(backend.csr(2 * A), "rcm") @ r), rtol=1e-12
        )
