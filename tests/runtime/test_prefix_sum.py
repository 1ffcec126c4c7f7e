"""Prefix sums on the GPU against NumPy's."""

import numpy as np
import pytest


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", [np.int32, np.int64])
@pytest.mark.parametrize("size", [0, 1, 5, 4096, 4097, 1_000_003])
def test_inclusive_sums(cuda, size, dtype):
    from linforest_precond.backends.cuda.runtime.grid_sums import add_up

    numbers = np.random.default_rng(size).integers(0, 9, size).astype(dtype)
    given = cuda.array(numbers)
    assert add_up(given) is given
    np.testing.assert_array_equal(cuda.host(given), np.cumsum(numbers, dtype=dtype))


@pytest.mark.gpu
def test_sums_beyond_32_bits(cuda):
    from linforest_precond.backends.cuda.runtime.grid_sums import add_up

    numbers = np.full(20_000, 2**31, np.int64)
    np.testing.assert_array_equal(cuda.host(add_up(cuda.array(numbers))), np.cumsum(numbers))
