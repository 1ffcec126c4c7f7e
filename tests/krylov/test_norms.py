"""Norms of vectors against sums in extended precision, at the edges of the number range, too."""

import math

import numpy as np
import pytest

import linforest_precond as lf
from linforest_precond.backends import backend_of

CASES = {
    "one": np.array([[-3.0]]),
    "columns": np.random.default_rng(0).standard_normal((1000, 3)),
    "long": np.random.default_rng(1).standard_normal((40_000, 1)),
    "many columns": np.random.default_rng(2).standard_normal((20, 300)),
    "zeros": np.zeros((5, 2)),
    "large": np.array([[3e300, 1.0], [4e300, 3e200], [1.0, 1e-300]]),
    "small": np.array([[3e-300, 5e-324], [4e-300, 1e-310], [0.0, 0.0]]),
    "large and small": np.array([[1e300], [1e-300], [2.0], [1e300]]),
    "small and others": np.array([[1e-160], [1e-154], [3e-155]]),
    "single": np.random.default_rng(3).standard_normal((1000, 2)).astype(np.float32),
    "complex": np.random.default_rng(4).standard_normal((500, 4)).view(complex),
    "complex single": np.random.default_rng(5)
    .standard_normal((500, 2))
    .astype(np.float32)
    .view(np.complex64),
}


def norms_by_scaling(columns):
    """By exactly rounded sums of squares, after scaling by a power of two."""
    found = []
    for column in columns.T:
        parts = [float(part) for value in column.tolist() for part in (value.real, value.imag)]
        exponent = math.frexp(max(map(abs, parts)))[1]
        squares = [math.ldexp(part, -exponent) ** 2 for part in parts]
        found.append(math.ldexp(math.sqrt(math.fsum(squares)), exponent))
    return found


def norms(backend):
    return backend_of(backend.array(np.zeros(1))).krylov.norms


@pytest.mark.parametrize("name", CASES)
def test_norms(backend, name):
    found = norms(backend).column_norms(backend.array(CASES[name]))
    np.testing.assert_allclose(found, norms_by_scaling(CASES[name]), rtol=1e-13, atol=1e-323)


def test_norms_of_columns_with_strides(backend):
    x = np.random.default_rng(0).standard_normal((100, 4))
    found = norms(backend).column_norms(backend.array(x)[:, ::2])
    np.testing.assert_allclose(found, np.linalg.norm(x[:, ::2], axis=0), rtol=1e-13)


def test_norms_of_numbers_that_are_not_finite(backend):
    x = np.ones((50, 4))
    x[7, 1], x[7, 2], x[:, 3] = np.nan, -np.inf, 1.7e308
    found = norms(backend).column_norms(backend.array(x))
    assert np.isfinite(found).tolist() == [True, False, False, False]
    assert found[3] == np.inf and np.isnan(found[1])
    assert norms(backend).finite_columns(backend.array(x)).tolist() == [True, False, False, True]


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.complex128])
def test_norms_of_many_columns(backend, dtype):
    x = np.random.default_rng(0).standard_normal((90, 200)).astype(dtype)
    found = norms(backend).column_norms(backend.array(x))
    np.testing.assert_allclose(found, norms_by_scaling(x), rtol=1e-13)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_right_hand_sides_must_be_finite(backend, bad):
    A, b = backend.csr(lf.matrices.poisson((5, 5))), np.ones((25, 2))
    b[3, 1] = bad
    for inner in (None, lambda u, v: u.conj() @ v):
        with pytest.raises(ValueError, match=rf"^b must be finite, got {bad} at b\[3, 1\]$"):
            lf.solvers.cg(A, backend.array(b), inner=inner)


@pytest.mark.parametrize("columns", [1, 3])
@pytest.mark.parametrize("dtype", [np.float32, np.complex128])
def test_largest_magnitudes(backend, columns, dtype):
    x = np.random.default_rng(2).standard_normal((1000, columns)).astype(dtype)
    x[700, -1] = -9
    found = backend_of(backend.array(x)).krylov.norms.largest_magnitudes(backend.array(x))
    np.testing.assert_allclose(found, abs(x).max(axis=0), rtol=4 * np.finfo(dtype).eps)
