"""The CPU's pivots of scalar systems beside those of blocks of one row: the same bits, for any numbers."""

import numpy as np
import pytest
from strategies import quick

from linforest_precond.backends.cpu.runtime.arrays import readonly
from linforest_precond.backends.cpu.tridiagonal import pivots
from linforest_precond.backends.returns import PivotFinding

SPECIAL = [np.nan, np.inf, -np.inf, 1e-310, 1e300, 1e-38, 0.0]


def random_bands(rng, n, dtype):
    """Bands of random sizes and signs, with zeros and special values, every other time symmetric."""
    bands = rng.standard_normal((3, n)) * 10.0 ** rng.integers(-3, 3, (3, n))
    if np.dtype(dtype).kind == "c":
        bands = bands + 1j * rng.standard_normal((3, n)) * (rng.random(n) < 0.5)
    bands = bands.astype(dtype)
    bands[rng.random((3, n)) < 0.15] = 0
    if rng.random() < 0.3:
        bands[rng.random((3, n)) < 0.05] = rng.choice(SPECIAL)
    lower, diagonal, upper = bands
    lower[0] = upper[-1] = 0
    if rng.random() < 0.5:
        upper[:-1] = lower[1:].conj() if rng.random() < 0.5 else lower[1:]
    return lower, diagonal, upper


def block_pivots(lower, diagonal, upper, perturb):
    """What the kernel of blocks finds for blocks of one row."""
    inverse, starts = np.empty_like(diagonal), pivots.find_starts(lower, upper, diagonal.size)
    counts = np.zeros((starts.size - 1, len(PivotFinding)), np.int64)
    info = np.finfo(diagonal.dtype)
    vanishing = pivots.VANISHING * info.eps
    limits = map(float, (vanishing, vanishing * perturb, np.sqrt(info.eps), info.tiny))
    bands = (readonly(band.reshape(-1, 1, 1)) for band in (lower, diagonal, upper))
    pivots.find_block_pivots(*bands, *limits, starts, inverse.reshape(-1, 1, 1), counts)
    return inverse, counts.sum(axis=0)


@pytest.mark.parametrize("perturb", [True, False])
@pytest.mark.parametrize("dtype", quick([np.float64, np.complex128]))
def test_scalars_are_blocks_of_one_row(dtype, perturb):
    rng = np.random.default_rng(0)
    for n in [*range(1, 80), 9000]:
        bands = random_bands(rng, n, dtype)
        inverse, counts = pivots.factor(*bands, perturb)
        expected, expected_counts = block_pivots(*bands, perturb)
        np.testing.assert_array_equal(inverse, expected)
        np.testing.assert_array_equal(counts, expected_counts)
