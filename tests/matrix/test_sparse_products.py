"""Products of sparse matrices, whole and in parts, against dense products."""

import numpy as np
import pytest
import strategies as graphs
from conftest import CPU
from operator_cases import assert_close, vectors

from linforest_precond.backends import backend_of
from linforest_precond.backends import cpu as cpu_backend

SHAPES = [(30, 20, 25), (5, 60, 3), (40, 7, 50), (1, 1, 1), (300, 300, 300), (4, 5, 0)]


def random_csr(backend, shape, dtype, index, rng):
    """CSR arrays with empty rows and stored zeros, and the dense matrix."""
    dense = vectors(dtype, *shape, seed=int(rng.integers(1000)))
    stored = rng.random(shape) < min(0.3, 8 / max(shape[1], 1))
    stored[:: shape[0] // 3 + 2] = False
    dense = np.where(stored & (rng.random(shape) < 0.9), dense, 0)
    indptr = np.r_[0, np.cumsum(stored.sum(axis=1))].astype(index)
    arrays = indptr, np.nonzero(stored)[1].astype(index), dense[stored]
    return tuple(map(backend.array, arrays)), dense


@pytest.mark.parametrize(("dtype", "index"), graphs.quick(graphs.TYPES))
@pytest.mark.parametrize("shape", SHAPES)
def test_against_dense(backend, shape, dtype, index, monkeypatch):
    rng = np.random.default_rng(0)
    left, A = random_csr(backend, shape[:2], dtype, index, rng)
    right, B = random_csr(backend, shape[1:], dtype, index, rng)
    module = backend_of(left[2]).matrix.sparse_products
    found = [module.multiply(left, right, shape[2])]
    if backend.name == "cuda":
        for terms in (1, 50):
            monkeypatch.setattr(module, "TERMS_AT_ONCE", terms)
            found.append(module.multiply(left, right, shape[2]))
    for product in found:
        indptr, indices, data = map(backend.host, product)
        assert indptr.dtype == indices.dtype == index and data.dtype == dtype
        dense = np.zeros((shape[0], shape[2]), dtype)
        for row in range(shape[0]):
            columns = indices[indptr[row] : indptr[row + 1]]
            assert (np.diff(columns) > 0).all()
            dense[row, columns] = data[indptr[row] : indptr[row + 1]]
        assert_close(dense, A @ B, 1e-5 if np.finfo(dtype).eps > 1e-10 else 1e-13)


def test_rows_of_many_entries_next_to_short_ones(backend):
    """Load balancing: the first rows have far more entries than the mean."""
    lengths = np.r_[np.full(1000, 20), np.ones(15000, int)]
    indptr, indices = np.r_[0, np.cumsum(lengths)], np.tile(np.arange(20), 1750)
    left = tuple(map(backend.array, (indptr.astype(np.int32), indices.astype(np.int32), np.ones(35000))))
    right = tuple(
        map(backend.array, (np.arange(21, dtype=np.int32), np.arange(20, dtype=np.int32), np.ones(20)))
    )
    found = backend_of(left[2]).matrix.sparse_products.multiply(left, right, 20)
    for one, other in zip(found, left):
        np.testing.assert_array_equal(backend.host(one), backend.host(other))


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", graphs.DTYPES)
def test_the_same_bits_for_rows_of_every_length(cuda, dtype):
    """Rows of few terms, of hundreds, and of more than a block can sort."""
    rng = np.random.default_rng(1)
    lengths = [0, 3, 40, 400, 3000, 1, 0, 2500]
    stored = np.zeros((len(lengths), 3000), bool)
    for row, length in zip(stored, lengths):
        row[rng.choice(3000, length, replace=False)] = True
    values = vectors(dtype, stored.sum(), 1, seed=2).ravel()
    indptr = np.r_[0, np.cumsum(lengths)].astype(np.int32)
    left = indptr, np.nonzero(stored)[1].astype(np.int32), values
    right, _ = random_csr(CPU, (3000, 200), dtype, np.int32, rng)
    expected = cpu_backend.matrix.sparse_products.multiply(left, right, 200)
    module = backend_of(cuda.array(values)).matrix.sparse_products
    found = module.multiply(tuple(map(cuda.array, left)), tuple(map(cuda.array, right)), 200)
    for one, other in zip(expected, found):
        assert one.tobytes() == cuda.host(other).tobytes()
