"""Our operators accept and return the shapes that SciPy's own operators do, whatever SciPy is installed."""

import warnings

import numpy as np
import pytest
import strategies as graphs
from operator_cases import KINDS, dominant, vectors
from scipy.sparse.linalg import aslinearoperator

N = 7
METHODS = "matvec", "rmatvec", "matmat", "rmatmat", "dot", "__matmul__"
SHAPES = (
    (), (N,), (N - 1,), (1, N), (N, 1), (N, 3), (N, N), (3, N), (N, 0), (N + 1, 2),
    (2, 3, N), (2, N, 3), (2, N, 1), (N, 2, 2), (2, N, N), (0, N, 3), (2, 3, N, 4), (2, 3, 4, N),
)  # fmt: skip


def outcome(operator, method, x):
    """The shape of a product, or ValueError, and the categories of warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            result = getattr(operator, method)(x).shape
        except ValueError:
            result = ValueError
    return result, [warning.category for warning in caught]


def views(operator):
    return {"M": operator, "M.T": operator.T, "M.H": operator.H}


@pytest.mark.parametrize("kind", ["forest", "blocks of 2", "jacobi"])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_shapes_are_those_of_scipy(kind, shape):
    A = dominant(N)
    x = np.ones(shape)
    ours, theirs = views(KINDS[kind](A)), views(aslinearoperator(A.toarray()))
    for name in ours:
        for method in METHODS:
            assert outcome(ours[name], method, x) == outcome(theirs[name], method, x), (name, method)


@pytest.mark.parametrize("dtype", graphs.quick([np.float64, np.complex128]))
@pytest.mark.parametrize("n", [1, N])
def test_batches_are_products_with_each_vector(dtype, n):
    """The library calls the underscored methods with batches where it accepts them."""
    M = KINDS["forest"](dominant(n, dtype=dtype, symmetric=False))
    x = vectors(dtype, 2, 3, n)
    X = x.swapaxes(-1, -2)
    dense, adjoint = M @ np.eye(n), M.H @ np.eye(n)
    np.testing.assert_allclose(M._matvec(x), x @ dense.T, atol=1e-14)
    np.testing.assert_allclose(M._rmatvec(x), x @ adjoint.T, atol=1e-14)
    np.testing.assert_allclose(M._matmat(X), dense @ X, atol=1e-14)
    np.testing.assert_allclose(M._rmatmat(X), adjoint @ X, atol=1e-14)
    np.testing.assert_allclose(M.T._matmat(X), dense.T @ X, atol=1e-14)


def test_messages_name_the_shapes():
    M = KINDS["jacobi"](dominant(N))
    for product, x, wanted in [
        (M.matvec, np.ones((N, 2)), r"shape \(7,\), or \(7, k\) for @ and matmat, got \(7, 2\)"),
        (M.matvec, np.ones(N + 1), r"shape \(7,\), .*got \(8,\)"),
        (M.rmatmat, np.ones(N), r"shape \(7, k\), got \(7,\)"),
        (M.H.matmat, np.ones((N + 1, 2)), r"shape \(7, k\), got \(8, 2\)"),
    ]:
        with pytest.raises(ValueError, match=wanted):
            product(x)
