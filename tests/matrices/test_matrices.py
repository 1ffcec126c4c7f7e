"""Stencils on grids: against hand-built dense matrices, PyAMG and the paper's numbers."""

import itertools

import numpy as np
import oracles
import pytest
import scipy.sparse as sp

from linforest_precond import matrices


def dense_stencil(shape, weights):
    """Visit every vertex and every offset."""
    weights = np.asarray(weights)
    size = int(np.prod(shape))
    dense = np.zeros((size, size), dtype=weights.dtype)
    for vertex in itertools.product(*map(range, shape)):
        for place in itertools.product(*map(range, weights.shape)):
            other = [v + i - length // 2 for v, i, length in zip(vertex, place, weights.shape, strict=True)]
            if all(0 <= o < length for o, length in zip(other, shape, strict=True)):
                row, column = np.ravel_multi_index(np.transpose([vertex, other]), shape)
                dense[row, column] = weights[place]
    return dense


def host_csr(backend, A):
    return sp.csr_array(tuple(backend.host(x) for x in (A.data, A.indices, A.indptr)), shape=A.shape)


def assert_canonical(A):
    """Columns strictly increasing in every row, no stored zero."""
    rows = np.repeat(np.arange(A.shape[0]), np.diff(A.indptr))
    assert A.indptr[0] == 0 and A.indptr[-1] == A.nnz == A.indices.size
    assert np.all((np.diff(rows) > 0) | (np.diff(A.indices) > 0))
    assert np.all(A.data != 0)


STENCILS = [
    ((5,), [-1, 2, -3]),
    ((6,), [1, 0, 2, 5, 0, 3, 4]),
    ((1,), [-1, 2, -1]),
    ((3, 2), np.arange(15).reshape(5, 3)),
    ((4, 5), [[0, 1, 2], [3, 4, 5], [6, 7, 8]]),
    ((2, 7), [[1, 2, 3, 4, 5]]),
    ((1, 1), np.ones((3, 3))),
    ((3, 4, 2), np.arange(27).reshape(3, 3, 3) - 13),
    ((2, 2, 2, 3), np.arange(81).reshape(3, 3, 3, 3) % 5),
    ((4, 3), np.zeros((3, 3))),
]


@pytest.mark.parametrize(("shape", "weights"), STENCILS)
def test_stencil_is_the_dense_one(backend, shape, weights):
    A = host_csr(backend, matrices.stencil(shape, weights, device=backend.name))
    assert_canonical(A)
    np.testing.assert_array_equal(A.toarray(), dense_stencil(shape, weights))


def test_one_axis_may_be_given_as_a_number(backend):
    A, B = (matrices.stencil(shape, [-1, 2, -1], device=backend.name) for shape in (4, (4,)))
    np.testing.assert_array_equal(host_csr(backend, A).toarray(), host_csr(backend, B).toarray())


@pytest.mark.parametrize("shape", [(7,), (6, 5), (4, 3, 5)])
def test_poisson_is_pyamgs(backend, shape, pyamg_gallery):
    A = host_csr(backend, matrices.poisson(shape, device=backend.name))
    assert_canonical(A)
    np.testing.assert_array_equal(A.toarray(), pyamg_gallery.poisson(shape).toarray())


@pytest.mark.parametrize("shape", [(5, 6), (3, 3), (2, 9)])
def test_stencil_is_pyamgs_for_symmetric_weights(backend, shape, pyamg_gallery):
    weights = np.array([[-0.1, -0.2, -1.0], [-0.2, 3.0, -0.2], [-1.0, -0.2, -0.1]])
    A = host_csr(backend, matrices.stencil(shape, weights, device=backend.name))
    np.testing.assert_array_equal(A.toarray(), pyamg_gallery.stencil_grid(weights, shape).toarray())


def test_poisson_by_hand(backend):
    A = host_csr(backend, matrices.poisson((2, 3), device=backend.name))
    wanted = [
        [4, -1, 0, -1, 0, 0],
        [-1, 4, -1, 0, -1, 0],
        [0, -1, 4, 0, 0, -1],
        [-1, 0, 0, 4, -1, 0],
        [0, -1, 0, -1, 4, -1],
        [0, 0, -1, 0, -1, 4],
    ]
    np.testing.assert_array_equal(A.toarray(), wanted)


def dense_aniso(kind, n):
    """The stencils as the paper prints them, top row y + 1."""
    printed = {
        1: [[-0.2, -0.1, -0.2], [-1.0, 3.0, -1.0], [-0.2, -0.1, -0.2]],
        2: [[-0.1, -0.2, -1.0], [-0.2, 3.0, -0.2], [-1.0, -0.2, -0.1]],
    }[kind]
    dense = np.zeros((n * n, n * n))
    for y, x, dy, dx in itertools.product(range(n), range(n), (-1, 0, 1), (-1, 0, 1)):
        if 0 <= y + dy < n and 0 <= x + dx < n:
            dense[y * n + x, (y + dy) * n + x + dx] = printed[1 - dy][dx + 1]
    return dense


@pytest.mark.parametrize("kind", [1, 2])
@pytest.mark.parametrize("n", [1, 2, 3, 7])
def test_aniso_is_the_printed_stencil(backend, kind, n):
    A = host_csr(backend, matrices.aniso(kind, n, device=backend.name))
    assert_canonical(A)
    np.testing.assert_array_equal(A.toarray(), dense_aniso(kind, n))


@pytest.mark.parametrize("n", [1, 2, 3, 8])
def test_aniso3_is_aniso2_ordered_along_the_diagonals(backend, n):
    A = host_csr(backend, matrices.aniso(3, n, device=backend.name))
    assert_canonical(A)
    order = sorted(range(n * n), key=lambda v: (v % n - v // n, v % n))
    np.testing.assert_array_equal(A.toarray(), dense_aniso(2, n)[np.ix_(order, order)])


def test_aniso3_has_its_strong_couplings_next_to_the_diagonal(backend):
    n = 30
    A = host_csr(backend, matrices.aniso(3, n, device=backend.name)).tocoo()
    strong = A.data == -1.0
    assert strong.sum() == 2 * (n - 1) ** 2
    assert np.all(np.abs(A.row - A.col)[strong] == 1)


@pytest.mark.parametrize("kind", [1, 2, 3])
def test_aniso_is_symmetric_with_the_papers_number_of_entries(backend, kind):
    n = 60
    A = host_csr(backend, matrices.aniso(kind, n, device=backend.name))
    assert A.shape == (n * n, n * n)
    assert A.nnz == (3 * n - 2) ** 2
    assert (A != A.T).nnz == 0
    np.testing.assert_array_equal(A.diagonal(), 3.0)


def test_two_thirds_of_an_interior_aniso1_row_are_next_to_the_diagonal():
    A = matrices.aniso(1, 5)
    row = A[[12]].toarray()[0]
    off_diagonal = np.abs(row).sum() - row[12]
    assert (abs(row[11]) + abs(row[13])) / off_diagonal == pytest.approx(2 / 3)
    assert oracles.identity_coverage(matrices.aniso(1, 40)) == pytest.approx(2 / 3, abs=0.005)
    assert oracles.identity_coverage(matrices.aniso(3, 40)) == pytest.approx(2 / 3, abs=0.015)


@pytest.mark.slow
@pytest.mark.parametrize("kind", [1, 2, 3])
def test_the_papers_size(backend, kind):
    A = matrices.aniso(kind, 2500, device=backend.name)
    assert (A.shape[0], A.nnz, A.indices.dtype) == (6_250_000, 56_220_004, np.int32)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex64, np.complex128])
@pytest.mark.parametrize("index_dtype", [None, np.int32, np.int64])
@pytest.mark.parametrize("make", [matrices.poisson, lambda shape, **k: matrices.aniso(3, shape[0], **k)])
def test_requested_types(backend, dtype, index_dtype, make):
    A = make((5, 5), dtype=dtype, index_dtype=index_dtype, device=backend.name)
    assert A.dtype == dtype
    assert A.indices.dtype == A.indptr.dtype == (index_dtype or np.int32)
    assert A.has_canonical_format
    wanted = make((5, 5)).toarray().astype(dtype)
    np.testing.assert_array_equal(host_csr(backend, A).toarray(), wanted)


def test_the_kind_is_csr_array():
    assert isinstance(matrices.poisson(3), sp.csr_array)
    assert isinstance(matrices.poisson(3, device="cpu"), sp.csr_array)


@pytest.mark.gpu
def test_the_gpu_gets_a_cupyx_matrix(cuda):
    import cupyx.scipy.sparse as cusparse

    wanted = getattr(cusparse, "csr_array", cusparse.csr_matrix)
    assert isinstance(matrices.aniso(2, 4, device="cuda"), wanted)


@pytest.mark.gpu
@pytest.mark.slow
@pytest.mark.parametrize("kind", [1, 3])
def test_the_gpu_needs_less_than_three_times_the_matrix(cuda, kind):
    import cupy

    pool = cupy.cuda.MemoryPool()
    with cupy.cuda.using_allocator(pool.malloc):
        A = matrices.aniso(kind, 2500, device="cuda")
        own = A.data.nbytes + A.indices.nbytes + A.indptr.nbytes
        assert pool.total_bytes() <= 3 * own
        del A


def test_complex_weights_stay_complex(backend):
    weights = np.array([1j, 2, -1j])
    A = matrices.stencil(4, weights, dtype=np.complex64, device=backend.name)
    np.testing.assert_array_equal(host_csr(backend, A).toarray(), dense_stencil((4,), weights))


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: matrices.stencil((3, 0), np.ones((3, 3))), ValueError, "shape"),
        (lambda: matrices.stencil((), np.ones(())), ValueError, "shape"),
        (lambda: matrices.stencil((3, -1), np.ones((3, 3))), ValueError, "shape"),
        (lambda: matrices.stencil((3, 2.5), np.ones((3, 3))), TypeError, "shape"),
        (lambda: matrices.stencil("33", np.ones((3, 3))), TypeError, "shape"),
        (lambda: matrices.stencil(True, np.ones(3)), TypeError, "shape"),
        (lambda: matrices.stencil((3, 3), np.ones(3)), ValueError, "coefficients"),
        (lambda: matrices.stencil((3, 3), np.ones((3, 2))), ValueError, "coefficients"),
        (lambda: matrices.stencil(3, [1, np.nan, 1]), ValueError, "coefficients"),
        (lambda: matrices.stencil(3, [1, 1e300, 1], dtype=np.float32), ValueError, "coefficients"),
        (lambda: matrices.stencil(3, ["a", "b", "c"]), TypeError, "coefficients"),
        (lambda: matrices.stencil(3, [1, 2j, 1]), TypeError, "coefficients"),
        (lambda: matrices.poisson(3, dtype=np.float16), TypeError, "dtype"),
        (lambda: matrices.poisson(3, dtype=int), TypeError, "dtype"),
        (lambda: matrices.poisson(3, index_dtype=np.int16), TypeError, "index_dtype"),
        (lambda: matrices.poisson((2**16, 2**16), index_dtype=np.int32), ValueError, "index_dtype"),
        (lambda: matrices.poisson(3, device="tpu"), ValueError, "device"),
        (lambda: matrices.poisson((3, 0)), ValueError, "shape"),
        (lambda: matrices.aniso(0, 3), ValueError, "kind"),
        (lambda: matrices.aniso(4, 3), ValueError, "kind"),
        (lambda: matrices.aniso("1", 3), TypeError, "kind"),
        (lambda: matrices.aniso(1, 0), ValueError, "n must"),
        (lambda: matrices.aniso(1, (3, 3)), TypeError, "n must"),
    ],
)
def test_bad_arguments_are_named(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_a_missing_gpu_is_named(monkeypatch):
    monkeypatch.setattr("linforest_precond.backends.cuda_status", lambda: (False, "no CUDA device answers"))
    with pytest.raises(ValueError, match=r"device.*GPU.*cpu"):
        matrices.poisson(3, device="cuda")
