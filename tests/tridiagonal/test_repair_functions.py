"""The functions that repair (block) tridiagonal systems, alike on both backends."""

import numpy as np
import pytest
import strategies as graphs
import tridiagonal_cases as cases
from conftest import CPU
from test_scalar_pivots import random_bands

from linforest_precond.backends import backend_of

SIZES = (1, 2, 31, 32, 33, 97, 3000)


def tridiagonal_room(backend):
    return backend_of(backend.array(np.zeros(1))).tridiagonal


def random_blocks(rng, n, b, dtype, chance):
    """Bands that are coupled by chance, with diagonal entries that are mostly large."""
    lower, diagonal, upper = (cases.random_values(rng, (n, b, b), dtype) for _ in range(3))
    diagonal += (2 * rng.choice([-1, 1], (n, 1, 1)) * np.eye(b)).astype(dtype)
    lower[rng.random(n) > chance] = 0
    upper[rng.random(n) > chance] = 0
    lower[0] = upper[-1] = 0
    shape = (n,) if b == 1 else (n, b, b)
    return tuple(band.reshape(shape) for band in (lower, diagonal, upper))


def repaired(backend, bands, magnitudes, order):
    """The rows to be repaired, and all that comes of clipping them."""
    rooms, bands = tridiagonal_room(backend), [backend.array(band) for band in bands]
    inverse = backend.array(tridiagonal_room(CPU).pivots.factor(*map(backend.host, bands))[0])
    rows = rooms.repairs.rows_to_repair(*bands, inverse, backend.array(magnitudes), backend.array(order))
    rows = backend.array(np.zeros(bands[1].shape[0], bool)) if rows is None else rows
    lower, upper, paths, couplings = rooms.repairs.clip_paths(*bands, rows)
    return *map(backend.host, (rows, lower, upper)), paths, couplings


@pytest.mark.parametrize("b", [1, 2, 4])
@pytest.mark.parametrize("dtype", graphs.quick(graphs.DTYPES))
class TestPaths:
    def cases(self, b, dtype):
        rng = np.random.default_rng(b)
        for n in SIZES:
            for chance in (0.5, 0.9, 1):
                bands = random_blocks(rng, n, b, dtype, chance)
                kept = sum(
                    abs(band.reshape(n, b, b)).sum(axis=2).astype(np.float64) for band in bands
                ).ravel()
                order = rng.permutation(n * b).astype(np.int32 if n % 2 else np.int64)
                order[rng.random(n * b) < 0.1] = -1
                magnitudes = np.zeros(n * b)
                magnitudes[order[order >= 0]] = (kept * rng.uniform(1, 3, n * b))[order >= 0]
                yield bands, magnitudes, order

    def test_whole_paths_are_clipped(self, backend, b, dtype):
        found = 0
        for bands, magnitudes, order in self.cases(b, dtype):
            rows, lower, upper, paths, couplings = repaired(backend, bands, magnitudes, order)
            n = rows.size
            coupled = [band.reshape(n, -1).any(axis=1) for band in (bands[0], bands[2])]
            first = np.append(True, ~(coupled[0][1:] | coupled[1][:-1]))
            assert (rows[1:] == rows[:-1])[~first[1:]].all() and paths == (rows & first).sum()
            changed = (lower != bands[0]).reshape(n, -1).any(axis=1)
            assert changed.sum() <= couplings and rows[changed].all() and not changed[first].any()
            assert not (upper != bands[2]).reshape(n, -1).any(axis=1)[:-1][~changed[1:]].any()
            found += couplings
        assert found

    @pytest.mark.gpu
    def test_both_backends_have_the_same_bits(self, cuda, b, dtype):
        for case in self.cases(b, dtype):
            ours, theirs = (repaired(backend, *case) for backend in (CPU, cuda))
            assert ours[3:] == tuple(theirs[3:])
            np.testing.assert_array_equal(ours[0], theirs[0])
            for one, other in zip(ours[1:3], theirs[1:3]):  # blocks are inverted with other roundings
                np.testing.assert_allclose(other, one, rtol=0 if b == 1 else 1e3 * np.finfo(dtype).eps)


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", graphs.quick(graphs.DTYPES))
def test_both_backends_perturb_the_same_entries(cuda, dtype):
    rng, perturbed = np.random.default_rng(0), 0
    for n in SIZES:
        for share in (0, 0.5, 1):
            with np.errstate(over="ignore"):
                bands = [np.where(abs(band) < 1e-30, 0, band) for band in random_bands(rng, n, dtype)]
            bands = [np.nan_to_num(band, posinf=1, neginf=1) for band in bands]
            bands[1][rng.random(n) < share] = 0
            bands = [np.clip(band.real, -9, 9).astype(dtype) for band in bands]
            inverse = tridiagonal_room(CPU).pivots.factor(*bands)[0]
            found = [
                tridiagonal_room(backend).repairs.perturb_singular(*map(backend.array, (*bands, inverse)))
                for backend in (CPU, cuda)
            ]
            assert found[0][1] == found[1][1].item()
            np.testing.assert_array_equal(found[0][0], cuda.host(found[1][0]))
            perturbed += found[0][1]
    assert perturbed
