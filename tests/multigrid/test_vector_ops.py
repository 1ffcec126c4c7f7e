"""The vector operations of multigrid cycles, against NumPy: fused sweeps, mixed precision, teams of lanes."""

import numpy as np
import pytest
import scipy.sparse as sp

import linforest_precond as lf
from linforest_precond.backends import backend_of
from linforest_precond.backends.cpu.multigrid import vector_ops as cpu_ops
from linforest_precond.backends.cuda.matrix.long_row_split import LONGEST_ROW
from linforest_precond.backends.cuda.multigrid.vector_ops import MANY_ROWS, lanes_of_row

TYPES = [np.float64, pytest.param(np.complex64, marks=pytest.mark.slow)]


def random_matrix(rows, width, per_row, dtype, seed=0):
    """Rows of different lengths, some of them empty."""
    rng = np.random.default_rng(seed)
    A = sp.random(rows, width, min(1.0, per_row / max(width, 1)), format="csr", random_state=rng)
    data = rng.standard_normal(A.nnz) + (
        1j * rng.standard_normal(A.nnz) if np.dtype(dtype).kind == "c" else 0
    )
    return sp.csr_matrix((data.astype(dtype), A.indices, A.indptr), shape=A.shape)


def prepared(backend, A):
    """The backend's functions, and A as they take it."""
    arrays = [backend.array(each) for each in (A.indptr, A.indices, A.data)]
    ops = backend_of(arrays[2]).multigrid.vector_ops
    return ops, ops.Matrix(*arrays, int(np.diff(A.indptr).max(initial=0)))


def vectors(rows, columns, dtype, count, seed=1):
    rng = np.random.default_rng(seed)
    shape = count, rows, columns
    values = rng.standard_normal(shape) + (
        1j * rng.standard_normal(shape) if np.dtype(dtype).kind == "c" else 0
    )
    return list(values.astype(dtype))


def close(found, expected, dtype):
    scale = np.abs(expected).max(initial=1)
    np.testing.assert_allclose(found, expected, rtol=0, atol=200 * np.finfo(dtype).eps * scale)


@pytest.mark.parametrize("columns", [1, 3])
@pytest.mark.parametrize("dtype", TYPES)
def test_first_sweep_is_fused_with_its_residual(backend, dtype, columns):
    A = random_matrix(300, 300, 9, dtype)
    ops, matrix = prepared(backend, A)
    b, weights = vectors(300, columns, dtype, 1)[0], vectors(300, 1, dtype, 1, seed=2)[0][:, 0]
    x, r = (backend.array(np.full_like(b, 7)) for _ in range(2))
    ops.scale_residual(matrix, backend.array(weights), 0.7, backend.array(b), x, r)
    expected = 0.7 * weights[:, None] * b
    close(backend.host(x), expected, dtype)
    close(backend.host(r), b - A @ expected, dtype)


@pytest.mark.parametrize("columns", [1, 2])
def test_sweeps_convert_vectors_of_double_precision(backend, columns):
    A = random_matrix(300, 300, 9, np.float32)
    ops, matrix = prepared(backend, A)
    b, y = vectors(300, columns, np.float64, 2)
    (x,), weights = vectors(300, columns, np.float32, 1), vectors(300, 1, np.float32, 1, seed=2)[0][:, 0]
    new, r = (backend.array(np.zeros_like(x)) for _ in range(2))
    ops.scale_residual(matrix, backend.array(weights), 0.7, backend.array(b), new, r)
    close(backend.host(new), 0.7 * weights[:, None] * b, np.float32)
    close(backend.host(r), b - A @ (0.7 * weights[:, None] * b), np.float32)
    y = backend.array(y)
    ops.relax(matrix, backend.array(weights), backend.array(b), backend.array(x), y, 0.0, 0.7)
    assert y.dtype == np.float64
    close(backend.host(y), x + 0.7 * weights[:, None] * (b - A @ x), np.float32)


@pytest.mark.parametrize(
    "rows,width,per_row",
    [(1, 1, 1), (1000, 300, 3), (1000, 1000, 6), (70, 2000, 30), (40, 3000, 90), (3, 2000, 500), (5, 4, 0)],
)
def test_products_of_rectangles_of_every_row_length(backend, rows, width, per_row):
    A = random_matrix(rows, width, per_row, np.float64)
    ops, matrix = prepared(backend, A)
    x, y = vectors(width, 1, np.float64, 1)[0], vectors(rows, 1, np.float64, 1, seed=2)[0]
    once, twice, added = (backend.array(y.copy()) for _ in range(3))
    ops.multiply(matrix, backend.array(x), once)
    ops.multiply(matrix, backend.array(x), twice)
    ops.multiply_add(matrix, backend.array(x), added)
    close(backend.host(once), A @ x, np.float64)
    close(backend.host(added), y + A @ x, np.float64)
    np.testing.assert_array_equal(backend.host(once), backend.host(twice))


@pytest.mark.parametrize("n", [1, 33, 300])
def test_dense_product(backend, n):
    D, (b, x) = np.random.default_rng(0).standard_normal((n, n)), vectors(n, 2, np.float64, 2)
    x = backend.array(x)
    prepared(backend, sp.eye_array(1, format="csr"))[0].multiply_dense(backend.array(D), backend.array(b), x)
    close(backend.host(x), D @ b, np.float64)


@pytest.mark.parametrize("rows", [1, 300, 5000])
@pytest.mark.parametrize("dtype", TYPES)
def test_dot_products_and_the_steps_that_they_scale(backend, dtype, rows):
    A = random_matrix(rows, rows, 9, dtype)
    ops, matrix = prepared(backend, A)
    u, v, w = vectors(rows, 1, dtype, 3)
    on_device = [backend.array(each.copy()) for each in (u, v, w)]
    dots = ops.DotProducts(np.dtype(dtype), 3)
    dots.dot(0, *on_device[:2])
    dots.multiply(2, matrix, on_device[0], on_device[2])
    expected = np.array([np.vdot(u, v).real, np.vdot(u, A @ u).real])
    found = backend.host(dots.values)[[0, 2]]
    assert found.dtype == np.float64
    np.testing.assert_allclose(found, expected, rtol=1e-4 if dtype == np.complex64 else 1e-11, atol=1e-3)
    close(backend.host(on_device[2]), A @ u, dtype)
    dots.subtract(2, 0, on_device[1], on_device[0])
    factor = found[1] / found[0]
    close(backend.host(on_device[0]), u - factor * v, dtype)
    dots.extend(2, 0, on_device[2], on_device[1])
    close(backend.host(on_device[1]), A @ u + factor * v, dtype)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex64])
def test_pseudorandom_vectors_are_the_same_on_every_device(backend, dtype):
    ops, _ = prepared(backend, sp.eye_array(1, format="csr"))
    x = backend.host(ops.pseudorandom_vector(10_000, np.dtype(dtype)))
    expected = cpu_ops.pseudorandom_vector(10_000, np.dtype(dtype))
    np.testing.assert_array_equal(x, expected)
    assert x.dtype == dtype and x.shape == (10_000, 1) and abs(x.mean()) < 0.01 and np.abs(x).max() <= 0.5
    part = backend.host(ops.pseudorandom_vector(100, np.dtype(dtype), 900))
    np.testing.assert_array_equal(part, expected[900:1000])


def test_lanes_are_a_power_of_two_that_fits_the_rows():
    assert lanes_of_row(10**6, 5 * 10**6, 5) == 1  # enough rows for a thread each
    assert lanes_of_row(10**6, 5 * 10**6, LONGEST_ROW + 1) == 4
    assert lanes_of_row(10**6, 3 * 10**7, 40) == 16
    assert lanes_of_row(10**4, 9 * 10**4, 9) == 8
    assert lanes_of_row(0, 0, 0) == 2
    for rows in (1, 1000, MANY_ROWS):
        found = [lanes_of_row(rows, rows * average, average) for average in range(LONGEST_ROW)]
        assert found == sorted(found) and set(found) <= {1, 2, 4, 8, 16, 32}


@pytest.mark.parametrize("rows", [50, pytest.param(MANY_ROWS, marks=pytest.mark.slow)])
def test_products_with_a_few_long_rows(backend, rows):
    """Of a length that is not told: a team leaves them to its warp."""
    rng, longest = np.random.default_rng(0), 3000
    short = sp.csr_matrix((rng.standard_normal(rows), rng.integers(longest, size=rows), np.arange(rows + 1)))
    short.resize(rows, longest)
    A = sp.vstack([short, rng.standard_normal((3, longest)), short], "csr")
    arrays = [backend.array(each) for each in (A.indptr, A.indices, A.data)]
    ops, (x,) = backend_of(arrays[2]).multigrid.vector_ops, vectors(longest, 1, np.float64, 1)
    y = backend.array(np.zeros((A.shape[0], 1)))
    ops.multiply(ops.Matrix(*arrays, None), backend.array(x), y)
    close(backend.host(y), A @ x, np.float64)


def hierarchy(backend, A, **options):
    return lf.multilevel(backend.csr(sp.csr_matrix(A)), **options)


@pytest.mark.slow
@pytest.mark.parametrize("columns", [1, 3])
def test_double_vectors_of_a_single_precision_cycle_are_converted_in_its_kernels(backend, columns):
    A = lf.matrices.poisson((30, 30))
    M = hierarchy(
        backend, A, smoother="l1_jacobi", cycle="V", dtype=np.float32, max_coarse=50
    ).aspreconditioner()
    b = vectors(900, columns, np.float64, 1)[0]
    direct = backend.host(M @ backend.array(b))
    single = backend.host(M @ backend.array(b.astype(np.float32)))
    assert direct.dtype == np.float64
    np.testing.assert_allclose(direct, single, rtol=0, atol=1e-5 * np.abs(single).max())
    wide = backend.xp.zeros((900, 2 * columns))[:, ::2]
    wide[...] = backend.array(b)
    np.testing.assert_allclose(backend.host(M @ wide), direct, rtol=0, atol=1e-5 * np.abs(single).max())


def test_a_single_precision_cycle_keeps_the_iterations_of_a_double_solver(backend):
    A = lf.matrices.poisson((40, 40))
    b, counts = backend.array(np.ones(1600)), []
    for dtype in (np.float32, np.float64):
        M = hierarchy(
            backend, A, smoother="l1_jacobi", cycle="V", dtype=dtype, max_coarse=50
        ).aspreconditioner()
        history = lf.solvers.History()
        x, info = lf.solvers.cg(backend.csr(sp.csr_matrix(A)), b, rtol=1e-10, M=M, history=history)
        assert info == 0
        assert np.linalg.norm(A @ backend.host(x) - 1) <= 1e-10 * 40 * (1 + 1e-6)
        counts.append(history.iterations[-1])
    assert abs(counts[0] - counts[1]) <= 1
