"""Near-null spaces: node graphs, tentative prolongators, their smoothing, and candidates."""

import numpy as np
import pytest
import scipy.sparse as sp
from conftest import load_real, matrices_folder, require_pyamg, skip_or_fail
from near_null_space_driver import adaptive_hierarchy, hierarchy, iterations, nodes_of, scipy_matrix
from strategies import make_csr

import linforest_precond as lf
from linforest_precond.gate import as_csr
from linforest_precond.precond.multigrid.level_matrix import LevelMatrix
from linforest_precond.precond.multigrid.near_null_space import (
    adaptive_candidates,
    coarse_matrix,
    prolongator_weights,
    smoothed_tentative,
    tentative,
)

TYPES = [
    (np.float64, np.int32),
    pytest.param(np.complex64, np.int64, marks=pytest.mark.slow),
    pytest.param(np.float32, np.int32, marks=pytest.mark.slow),
    pytest.param(np.complex128, np.int32, marks=pytest.mark.slow),
]


def random_values(shape, dtype, seed=0):
    real, imaginary = np.random.default_rng(seed).standard_normal((2, *np.atleast_1d(shape)))
    return (real + 1j * imaginary if np.dtype(dtype).kind == "c" else real).astype(dtype)


def random_matrix(n, density, dtype, index):
    """Random entries, some rows empty."""
    pattern = sp.random_array((n, n), density=density, rng=1, format="csr")
    data = random_values(pattern.nnz, dtype)
    return make_csr(data, pattern.indices.astype(index), pattern.indptr.astype(index), n)


def on_host(backend, P):
    return scipy_matrix(backend, P.arrays, P.width)


@pytest.mark.parametrize(
    "coordinates", [np.random.default_rng(0).random((7, 3)) * 1e6 + 1e8, [[0, 0], [3, 1]], [[1.0, 2.0, 3.0]]]
)
def test_rigid_body_modes_do_not_change_distances(backend, coordinates):
    """To first order: (u_i - u_j) . (x_i - x_j) = 0."""
    x = np.array(coordinates, float)
    nodes, axes = x.shape
    B = backend.host(lf.rigid_body_modes(backend.array(x)))
    assert B.shape == (nodes * axes, axes * (axes + 1) // 2)
    motions = B.reshape(nodes, axes, -1)
    for i in range(nodes):
        change = np.einsum("jak,ja->jk", motions - motions[i], x - x[i])
        np.testing.assert_allclose(change, 0, atol=1e-6 * abs(x).max() ** 0.5)
    assert abs(B).max() == 1
    apart = backend.host(lf.rigid_body_modes(backend.array(x), interleaved=False))
    np.testing.assert_array_equal(apart.reshape(axes, nodes, -1).transpose(1, 0, 2), motions)


@pytest.mark.parametrize(
    "coordinates, error",
    [(np.zeros((3, 4)), ValueError), ([[1j, 0]], TypeError), ([[np.nan, 0]], ValueError)],
)
def test_rigid_body_modes_of_bad_coordinates(coordinates, error):
    with pytest.raises(error, match="coordinates"):
        lf.rigid_body_modes(coordinates)


@pytest.mark.parametrize("dtype, index", TYPES)
@pytest.mark.parametrize("block_size", [1, 2, 3, 6, 32])
def test_node_matrix_has_the_norms_of_blocks(backend, dtype, index, block_size):
    n = 5 * 192
    A = random_matrix(n, 0.003, dtype, index)
    nodes = nodes_of(backend, as_csr(backend.csr(A)), block_size)
    blocks = A.toarray().reshape(n // block_size, block_size, -1, block_size)
    expected = np.linalg.norm(blocks, axis=(1, 3))
    np.testing.assert_allclose(abs(nodes.toarray()), expected, rtol=1e-6 if A.data.itemsize < 16 else 1e-14)
    assert nodes.has_sorted_indices
    stored = sp.csr_array((np.ones(A.nnz), A.indices, A.indptr), shape=A.shape).toarray()
    assert nodes.nnz == stored.reshape(blocks.shape).any(axis=(1, 3)).sum()
    off_diagonal = nodes.toarray() - np.diag(nodes.diagonal())
    assert (nodes.diagonal() >= 0).all() and (off_diagonal <= 0).all()


def orthonormal_oracle(numbers, count, b, B):
    """The dense tentative prolongator and coarse candidates by Householder QR, diagonals made positive."""
    k = B.shape[1]
    P, coarse = np.zeros((B.shape[0], count * k), B.dtype), np.zeros((count * k, k), B.dtype)
    for i in range(count):
        rows = (np.flatnonzero(numbers == i)[:, None] * b + np.arange(b)).ravel()
        Q, R = np.linalg.qr(B[rows])
        signs = R.diagonal() / abs(R.diagonal())
        P[rows, i * k : i * k + k] = Q * signs
        coarse[i * k : i * k + k] = signs.conj()[:, None] * R
    return P, coarse


@pytest.mark.parametrize("dtype, index", TYPES)
@pytest.mark.parametrize("b, k", [(1, 1), (3, 6), (2, 3)])
def test_tentative_prolongator_is_a_local_qr(backend, dtype, index, b, k):
    nodes, count = 300, 9
    numbers = (np.arange(nodes) * 7 % (count + 1) - 1).astype(index)  # a tenth has no aggregate
    B = random_values((nodes * b, k), dtype)
    P, coarse = tentative(backend.array(numbers), count, b, backend.array(B))
    assert P.indices.dtype == index and P.data.dtype == coarse.dtype == dtype
    wide = np.result_type(dtype, np.float64)
    expected, expected_coarse = orthonormal_oracle(numbers, count, b, B.astype(wide))
    tolerance = 50 * np.finfo(dtype).eps
    np.testing.assert_allclose(on_host(backend, P).toarray(), expected, atol=tolerance)
    np.testing.assert_allclose(backend.host(coarse), expected_coarse, atol=tolerance * 10)
    lengths = np.diff(backend.host(P.indptr))
    np.testing.assert_array_equal(lengths, np.repeat(np.where(numbers >= 0, k, 0), b))


def test_dependent_candidates_are_zero_columns(backend):
    """An aggregate with fewer rows than candidates, dependent candidates, and a candidate of zeros."""
    numbers = np.array([0, 1, 1, 1, 2, 2], np.int32)
    B = random_values((6, 3), np.float64)
    B[1:4, 2] = B[1:4, 0] - 3 * B[1:4, 1]
    B[4:, 0] = 0
    P, coarse = tentative(backend.array(numbers), 3, 1, backend.array(B))
    P, coarse = on_host(backend, P).toarray(), backend.host(coarse)
    np.testing.assert_allclose(P @ coarse, B, atol=1e-14)
    gram = P.T @ P
    np.testing.assert_allclose(gram, np.diag([1.0, 0, 0, 1, 1, 0, 0, 1, 1]), atol=1e-14)
    assert (coarse[[1, 2, 5, 6]] == 0).all()


def test_tentative_prolongator_repeats_bit_for_bit(backend):
    numbers, B = np.arange(5000, dtype=np.int32) // 50, random_values((15000, 6), np.float64)
    first, second = (tentative(backend.array(numbers), 100, 3, backend.array(B)) for _ in range(2))
    np.testing.assert_array_equal(*(backend.host(P.data) for P, _ in (first, second)))
    np.testing.assert_array_equal(*(backend.host(coarse) for _, coarse in (first, second)))


@pytest.mark.parametrize("count", [0, 1])
def test_few_aggregates(backend, count):
    numbers, B = np.full(4, count - 1, np.int32), np.ones((8, 2))
    P, coarse = tentative(backend.array(numbers), count, 2, backend.array(B))
    assert on_host(backend, P).shape == (8, 2 * count) and coarse.shape == (2 * count, 2)
    np.testing.assert_allclose(on_host(backend, P) @ backend.host(coarse), B * count)


@pytest.mark.parametrize("diagonal", ["stored", "missing"])
@pytest.mark.parametrize("dtype, index", TYPES)
def test_smoothed_prolongator(backend, dtype, index, diagonal):
    n = 90
    A = random_matrix(n, 0.03, dtype, index)
    if diagonal == "stored":
        A = sp.csr_array(A + sp.diags_array(np.full(n, 4, dtype)))
        A = make_csr(A.data, A.indices.astype(index), A.indptr.astype(index), n)
    numbers = (np.arange(n // 3) // 3 - 1).astype(index)
    P, _ = tentative(backend.array(numbers), 9, 3, backend.array(random_values((n, 2), dtype)))
    weights = random_values(n, dtype, 3)
    smoothed = on_host(backend, smoothed_tentative(as_csr(backend.csr(A)), P, backend.array(weights)))
    dense = on_host(backend, P).toarray()
    expected = dense - weights[:, None] * (A.toarray() @ dense)
    np.testing.assert_allclose(smoothed.toarray(), expected, atol=100 * np.finfo(dtype).eps)
    assert smoothed.has_sorted_indices and smoothed.dtype == dtype


def test_dropped_candidates_leave_a_definite_coarse_matrix(backend):
    """Aggregates of one and two nodes are too small for three candidates."""
    A, coordinates = lf.matrices.elasticity((5, 2))
    matrix = LevelMatrix(as_csr(backend.csr(A)))
    numbers = np.array([0, 1, 1, 2, 2, 2, 3, 3, 3, 3], np.int32)
    B = backend.array(lf.rigid_body_modes(coordinates))
    P, coarse = tentative(backend.array(numbers), 4, 2, B)
    smoothed = smoothed_tentative(matrix.csr, P, prolongator_weights(matrix))
    csr = coarse_matrix(matrix, smoothed, coarse).csr
    found = scipy_matrix(backend, (csr.indptr, csr.indices, csr.data)).toarray()
    dense = on_host(backend, smoothed).toarray()
    dropped = backend.host(coarse).reshape(4, 3, 3).diagonal(axis1=1, axis2=2).ravel() == 0
    assert dropped.sum() == 1
    largest = (dense.T @ A @ dense)[:3, :3].diagonal().max()
    np.testing.assert_allclose(found, dense.T @ A @ dense + np.diag(dropped * largest), atol=1e-12)
    assert np.linalg.eigvalsh(found)[0] > 0


def test_adaptive_candidates_are_smooth_and_orthonormal(backend):
    A, _ = lf.matrices.elasticity((12, 4))
    matrix = LevelMatrix(as_csr(backend.csr(A)))
    first, again = (backend.host(adaptive_candidates(matrix, 3, seed=1)) for _ in range(2))
    np.testing.assert_array_equal(first, again)
    diagonal = A.diagonal()[:, None]
    np.testing.assert_allclose(first.T @ (diagonal * first), np.eye(3), atol=1e-12)
    lowest = np.linalg.eigvalsh(A.toarray() / np.sqrt(diagonal * diagonal.T))[:10]
    assert np.einsum("ik,ik->k", first, A @ first).max() < lowest[9]
    other = backend.host(adaptive_candidates(matrix, 3, seed=2))
    assert abs(first - other).max() > 1e-3


@pytest.mark.gpu
def test_adaptive_candidates_agree_with_the_cpu(cuda):
    A, _ = lf.matrices.elasticity((12, 4))
    here, there = (adaptive_candidates(LevelMatrix(as_csr(M)), 3, seed=1) for M in (A, cuda.csr(A)))
    there = cuda.host(there)
    projected = here @ (here.T @ (A.diagonal()[:, None] * there))
    np.testing.assert_allclose(projected, there, atol=1e-6)


def beam_iterations(backend, shape, **options):
    A, coordinates = lf.matrices.elasticity(shape)
    return iterations(A, *hierarchy(backend, A, lf.rigid_body_modes(coordinates), len(shape), **options))


def test_iterations_of_beams_are_bounded(backend):
    counts = [beam_iterations(backend, shape) for shape in ((16, 4), (64, 16))]
    assert counts[1] <= 1.3 * counts[0] + 2 and max(counts) < 20


@pytest.mark.slow
@pytest.mark.parametrize("shape", [(160, 40), (48, 12, 12)])
def test_iterations_beside_pyamg(backend, shape):
    require_pyamg()
    from pyamg import smoothed_aggregation_solver

    A, coordinates = lf.matrices.elasticity(shape)
    B, residuals = lf.rigid_body_modes(coordinates), []
    ml = smoothed_aggregation_solver(sp.bsr_matrix(A, blocksize=(len(shape),) * 2), B=B)
    b = np.random.default_rng(1).standard_normal(A.shape[0])
    ml.solve(b, tol=1e-8, accel="cg", residuals=residuals)
    assert beam_iterations(backend, shape) <= 1.2 * (len(residuals) - 1)


@pytest.mark.slow
@pytest.mark.parametrize(
    "name, most", [("bcsstk09", 41), ("bcsstk13", 108), ("bcsstk14", 60), ("bcsstk16", 14)]
)
def test_iterations_with_adaptive_candidates(backend, name, most):
    """At most half of those of pairwise aggregation with a Chebyshev smoother."""
    if matrices_folder() is None:
        skip_or_fail("matrices", "LINFOREST_MATRICES names no folder with a MANIFEST.tsv")
    A = load_real(name)
    built = adaptive_hierarchy(backend, A, 3, block_size=1, thetas=(0.4, 0.25, 0.1))
    assert iterations(A, *built) <= most
