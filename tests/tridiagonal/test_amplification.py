"""Couplings that amplify: where there are none, rounding errors cannot grow in the sweeps."""

import numpy as np
import pytest
import strategies as graphs

import linforest_precond as lf
from linforest_precond.backends import backend_of
from linforest_precond.backends.returns import PivotFinding
from linforest_precond.precond.tridiagonal.elimination import SweepKind


def bands_of(n, block, dtype, coupling, seed=0):
    """Random couplings of a given size beside diagonal blocks of size 1."""
    rng = np.random.default_rng(seed)
    shape = (n, block, block) if block > 1 else (n,)
    lower, upper = (coupling * rng.uniform(-1, 1, shape) for _ in range(2))
    lower[0] = upper[-1] = 0
    diagonal = np.tile(np.eye(block), (n, 1, 1)).reshape(shape)
    return [band.astype(dtype) for band in (lower, diagonal, upper)]


def largest_row_sum(inverse, bands, block):
    """Of the products of inverse pivots and couplings, by NumPy."""
    inverse, *couplings = (
        np.asarray(each).reshape(-1, block, block) for each in (inverse, bands[0], bands[2])
    )
    sums = (
        (abs(product.real) + abs(product.imag)).sum(axis=2) for product in map(inverse.__matmul__, couplings)
    )
    return max(each.max() for each in sums)


@pytest.mark.parametrize("dtype", graphs.quick(graphs.DTYPES))
@pytest.mark.parametrize("block", [1, 2, graphs.slow(4)])
@pytest.mark.parametrize("coupling", [0.2, 0.7, 1.5])
def test_the_largest_product_decides(backend, block, coupling, dtype):
    for n in (1, 40, 700):
        bands = bands_of(n, block, dtype, coupling / block, seed=n)
        arrays = [backend.array(band) for band in bands]
        inverse, found = backend_of(arrays[1]).tridiagonal.pivots.factor(*arrays)
        largest = largest_row_sum(backend.host(inverse), bands, block)
        most = 0.999 if np.dtype(dtype).kind == "c" else 1.0
        assert abs(largest - most) > 1e-5  # rounding does not decide
        assert (backend.host(found)[PivotFinding.AMPLIFYING] > 0) == (largest > most)


@pytest.mark.parametrize(("own", "amplifying"), [(2.2, False), (1.06, True)])
def test_both_kinds_of_sweeps_solve(backend, own, amplifying):
    """A symmetric dominant system of several tiles, whose couplings are 1 and 0.05 in turn."""
    n = 6000
    upper = np.where(np.arange(n) % 2, 0.05, 1.0)
    upper[-1] = 0
    lower, diagonal = np.append(0, upper[:-1]), np.full(n, own)
    solver = lf.TridiagonalSolver(*map(backend.array, (lower, diagonal, upper)))
    assert not solver.pivoted and solver.sweep_kind == SweepKind(True, amplifying)
    b = np.random.default_rng(1).standard_normal(n)
    x = backend.host(solver.solve(backend.array(b)))
    product = diagonal * x
    product[1:] += lower[1:] * x[:-1]
    product[:-1] += upper[:-1] * x[1:]
    np.testing.assert_allclose(product, b, rtol=0, atol=1e-11)
