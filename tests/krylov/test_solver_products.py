"""Products of the solvers with rows of every length: short and medium rows, and long ones in pieces."""

import numpy as np
import pytest
import scipy.sparse as sp
import strategies as graphs

from linforest_precond.backends import backend_of
from linforest_precond.graph.reordering.permute import checked_order
from linforest_precond.matrix.checked import checked
from linforest_precond.solvers.reordering import Reordering

# Lengths of rows, in turn: chunks and warps of the device begin and end inside rows of every kind.
LENGTHS = {
    "short": (0, 1, 9, 3),
    "nine": (9,),
    "medium": (256, 0, 40, 255, 1),
    "long": (257, 2, 9, 5000, 300, 0),
    "consecutive long": (600, 700, 800),
}


def matrix(n, lengths, dtype, index=np.int32):
    """Random values and columns, sorted; the lengths of the rows repeat."""
    rng = np.random.default_rng(0)
    counts = np.minimum(np.resize(lengths, n), n)
    parts = [np.sort(rng.permutation(n)[:count]) for count in counts]
    indices = np.concatenate([np.empty(0, index), *parts])
    values = rng.standard_normal((2, indices.size)).T.copy().view(complex)[:, 0]
    data = values.astype(dtype) if np.dtype(dtype).kind == "c" else values.real.astype(dtype)
    A = sp.csr_matrix((n, n), dtype=dtype)
    A.indptr, A.indices, A.data = np.append(0, np.cumsum(counts)).astype(index), indices.astype(index), data
    return A


def product(backend, A, x, reordering=None):
    """A x as the solvers compute it; x has two dimensions."""
    B = backend.csr(A)
    krylov = backend_of(B).krylov
    limits = {"targets": np.zeros(x.shape[1]), "largest_growth": 1e10, "most_iterations": 1}
    space = krylov.vector_space.KrylovSpace(A.shape[0], x.shape[1], A.dtype, ("v",), **limits)
    space["x"][...] = backend.array(x)
    space["v"][...] = np.nan
    csr = checked(B)
    csr = csr if reordering is None else reordering.matrix(csr)
    space.multiply(krylov.spmv.Product(csr, A.dtype, is_csr=True), "x", "v")
    return backend.host(space["v"])


def vectors(n, columns, dtype):
    return np.random.default_rng(1).standard_normal((n, columns)).astype(dtype)


def assert_close(found, A, x):
    expected, size = A @ x, abs(A) @ abs(x)
    assert (abs(found - expected) <= 100 * np.finfo(A.dtype).eps * size).all()


@pytest.mark.parametrize("kind", LENGTHS)
@pytest.mark.parametrize("columns", [1, 3])
def test_rows_of_every_length(backend, kind, columns):
    A, x = matrix(1500, LENGTHS[kind], np.float64), vectors(1500, columns, np.float64)
    once, again = product(backend, A, x), product(backend, A, x)
    assert_close(once, A, x)
    np.testing.assert_array_equal(once, again)


@pytest.mark.parametrize("dtype, index", graphs.quick(graphs.TYPES))
@pytest.mark.parametrize("kind", LENGTHS)
@pytest.mark.parametrize("columns", [1, 3])
def test_permuted_matrices_have_the_same_products(backend, kind, columns, dtype, index):
    A, x = matrix(1500, LENGTHS[kind], dtype, index), vectors(1500, columns, dtype)
    order = np.random.default_rng(2).permutation(1500)
    ordering = checked_order(order, 1500, backend_of(backend.csr(A)))
    permuted = product(backend, A, x[order], Reordering(ordering))
    np.testing.assert_array_equal(permuted, product(backend, A, x)[order])


@pytest.mark.parametrize("n", [1, 31, 33, 256, 257])
def test_few_rows(backend, n):
    A, x = matrix(n, LENGTHS["short"], np.float64), vectors(n, 1, np.float64)
    assert_close(product(backend, A, x), A, x)


@pytest.mark.slow
@pytest.mark.parametrize("dtype", [np.float32, np.complex64, np.complex128])
@pytest.mark.parametrize("index", [np.int32, np.int64])
@pytest.mark.parametrize("kind", LENGTHS)
def test_types(backend, dtype, index, kind):
    A, x = matrix(1500, LENGTHS[kind], dtype, index), vectors(1500, 1, dtype)
    assert_close(product(backend, A, x), A, x)


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("index", [np.int32, np.int64])
@pytest.mark.parametrize(
    "n, lengths",
    [
        *((1500, lengths) for lengths in LENGTHS.values()),
        *((1, (1,)), (33, (0,)), (0, (0,)), (6000, (0, 6000, *[0] * 5998))),
    ],
    ids=[*LENGTHS, "one entry", "no entry", "no row", "one row"],
)
def test_segmented_reduction(cuda, n, lengths, index, dtype):
    """Tiles begin and end inside rows, at their ends, and in and before empty rows."""
    A, x, d = matrix(n, lengths, dtype, index), *vectors(2, n, dtype)
    module = backend_of(cuda.csr(A)).krylov.segmented_spmv
    found = cuda.array(d)
    module.SegmentedProduct(cuda.csr(A)).add_to(found, cuda.array(x))
    size = abs(A) @ abs(x) + abs(d)
    assert (abs(cuda.host(found) - (A @ x + d)) <= 100 * np.finfo(dtype).eps * size).all()
    assert (cuda.host(found) == d)[np.diff(A.indptr) == 0].all()


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kind", ["short", "nine", "medium", "long"])
def test_rows_that_are_not_long_are_summed_in_order(cuda, kind, dtype):
    """Of more rows than a grid of blocks has threads, so that warps go on to further rows."""
    n = 300_000 if kind == "nine" else 3000
    A, x = ordered_columns(n, LENGTHS[kind], dtype), vectors(n, 1, dtype)
    short = np.diff(A.indptr) <= 256
    np.testing.assert_array_equal(product(cuda, A, x)[short, 0], sums_in_order(A, x[:, 0])[short])


def ordered_columns(n, lengths, dtype):
    """Like `matrix`, with the columns from a random one on: fast for many rows."""
    rng = np.random.default_rng(0)
    counts = np.minimum(np.resize(lengths, n), n)
    indptr = np.append(0, np.cumsum(counts)).astype(np.int32)
    first = rng.integers(0, n - counts + 1)
    indices = np.arange(indptr[-1]) - np.repeat(indptr[:-1] - first, counts)
    data = rng.standard_normal(indices.size).astype(dtype)
    return sp.csr_matrix((data, indices.astype(np.int32), indptr), shape=(n, n))


def sums_in_order(A, x):
    """The product, every row summed from its first entry to its last."""
    counts, sums = np.diff(A.indptr), np.zeros(A.shape[0], A.dtype)
    for place in range(counts.max(initial=0)):
        rows = np.flatnonzero(counts > place)
        at = A.indptr[rows] + place
        sums[rows] += A.data[at] * x[A.indices[at]]
    return sums
