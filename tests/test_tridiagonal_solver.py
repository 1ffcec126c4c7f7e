"""The tridiagonal solver: as accurate as LAPACK on all kinds of matrices, for right-hand sides of all shapes."""

import warnings

import numpy as np
import pytest
import strategies as graphs
import tridiagonal_cases as cases
from hypothesis import given
from hypothesis import strategies as st

from linforest_precond.precond.tridiagonal import TridiagonalSolver

LARGE_SIZES = (10**6, 10**7)


def solve(backend, bands, b, **options):
    solver = TridiagonalSolver(*map(backend.array, bands))
    return backend.host(solver.solve(backend.array(b), **options))


def assert_accurate(backend, name, n, dtype, transpose=False):
    bands = cases.system(name, n, dtype)
    rng = np.random.default_rng(n)
    x = cases.random_values(rng, n, dtype)
    b = cases.multiply(cases.wide(*bands), cases.wide(x)[0], transpose).astype(dtype)
    ours, lapacks = solve(backend, bands, b, transpose=transpose), cases.gtsv(bands, b, transpose)
    epsilon = np.finfo(dtype).eps
    backward = [cases.backward_error(bands, y, b, transpose) for y in (ours, lapacks)]
    assert backward[0] <= max(10 * backward[1], 2 * epsilon), (n, backward)
    forward = [abs(y - x).max() / abs(x).max() for y in (ours, lapacks)]
    assert forward[0] <= 10 * max(forward[1], epsilon * cases.condition(bands)), (n, forward)


@pytest.mark.parametrize("dtype", graphs.DTYPES)
@pytest.mark.parametrize("name", cases.TYPES)
class TestAccuracy:
    """Backward errors within 10 x those of LAPACK's gtsv, forward errors within what the matrix allows."""

    def test_as_accurate_as_gtsv(self, backend, name, dtype):
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # nothing is lifted
            for n in cases.sizes_of(name):
                assert_accurate(backend, name, n, dtype)

    def test_transposed(self, backend, name, dtype):
        for n in cases.sizes_of(name)[2::3]:
            assert_accurate(backend, name, n, dtype, transpose=True)

    @pytest.mark.slow
    @pytest.mark.parametrize("n", LARGE_SIZES)
    def test_large(self, backend, name, dtype, n):
        if "singular" in name:
            pytest.skip("made from dense matrices")
        try:
            assert_accurate(backend, name, n, dtype)
        finally:
            cases.system.cache_clear()
