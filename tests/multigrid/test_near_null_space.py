"""Near-null spaces: node graphs, tentative prolongators, candidates, and hierarchies that keep them."""

import pickle
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from conftest import load_real, matrices_folder, require_pyamg, skip_or_fail
from multilevel_oracles import cycle, dense_levels, smoothing_matrices
from operator_cases import assert_close
from scipy.sparse.linalg import cg
from strategies import make_csr

import linforest_precond as lf
from linforest_precond.backends import backend_named, backend_of
from linforest_precond.matrix.checked import checked
from linforest_precond.precond.multigrid.candidate_coarsening import without_single_nodes
from linforest_precond.precond.multigrid.grid_transfer import Interpolation
from linforest_precond.precond.multigrid.level_matrix import LevelMatrix
from linforest_precond.precond.multigrid.near_null_space import (
    CandidateAggregates,
    adaptive_candidates,
    tentative,
)
from linforest_precond.precond.multigrid.prolongation import smoothed_tentative
from linforest_precond.precond.multigrid.root_aggregates import RootAggregates

TYPES = [
    (np.float64, np.int32),
    pytest.param(np.complex64, np.int64, marks=pytest.mark.slow),
    pytest.param(np.float32, np.int32, marks=pytest.mark.slow),
    pytest.param(np.complex128, np.int32, marks=pytest.mark.slow),
]


def tentative_on(backend, numbers, count, block_size, B):
    return tentative(backend_named(backend.name), backend.array(numbers), count, block_size, backend.array(B))


def random_values(shape, dtype, seed=0):
    real, imaginary = np.random.default_rng(seed).standard_normal((2, *np.atleast_1d(shape)))
    return (real + 1j * imaginary if np.dtype(dtype).kind == "c" else real).astype(dtype)


def random_matrix(n, density, dtype, index):
    """Random entries, some rows empty."""
    pattern = sp.random_array((n, n), density=density, rng=1, format="csr")
    data = random_values(pattern.nnz, dtype)
    return make_csr(data, pattern.indices.astype(index), pattern.indptr.astype(index), n)


def scipy_matrix(backend, arrays, width=None):
    indptr, indices, data = map(backend.host, arrays)
    rows = indptr.size - 1
    return sp.csr_array((data, indices, indptr), shape=(rows, rows if width is None else width))


def nodes_of(backend, csr, block_size):
    """The matrix of nodes as a SciPy matrix."""
    strength = backend_of(csr.data).multigrid.strength
    return scipy_matrix(backend, strength.node_matrix(csr.indptr, csr.indices, csr.data, block_size))


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
    nodes = nodes_of(backend, checked(backend.csr(A)), block_size)
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
    P, coarse = tentative_on(backend, numbers, count, b, B)
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
    P, coarse = tentative_on(backend, numbers, 3, 1, B)
    P, coarse = on_host(backend, P).toarray(), backend.host(coarse)
    np.testing.assert_allclose(P @ coarse, B, atol=1e-14)
    gram = P.T @ P
    np.testing.assert_allclose(gram, np.diag([1.0, 0, 0, 1, 1, 0, 0, 1, 1]), atol=1e-14)
    assert (coarse[[1, 2, 5, 6]] == 0).all()


def test_tentative_prolongator_repeats_bit_for_bit(backend):
    numbers, B = np.arange(5000, dtype=np.int32) // 50, random_values((15000, 6), np.float64)
    first, second = (tentative_on(backend, numbers, 100, 3, B) for _ in range(2))
    np.testing.assert_array_equal(*(backend.host(P.data) for P, _ in (first, second)))
    np.testing.assert_array_equal(*(backend.host(coarse) for _, coarse in (first, second)))


@pytest.mark.parametrize("count", [0, 1])
def test_few_aggregates(backend, count):
    numbers, B = np.full(4, count - 1, np.int32), np.ones((8, 2))
    P, coarse = tentative_on(backend, numbers, count, 2, B)
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
    P, _ = tentative(
        backend_named(backend.name), backend.array(numbers), 9, 3, backend.array(random_values((n, 2), dtype))
    )
    weights = random_values(n, dtype, 3)
    smoothed = on_host(backend, smoothed_tentative(checked(backend.csr(A)), P, backend.array(weights)))
    dense = on_host(backend, P).toarray()
    expected = dense - weights[:, None] * (A.toarray() @ dense)
    np.testing.assert_allclose(smoothed.toarray(), expected, atol=100 * np.finfo(dtype).eps)
    assert smoothed.has_sorted_indices and smoothed.dtype == dtype


def test_dropped_candidates_leave_a_definite_coarse_matrix(backend):
    """Aggregates of one and two nodes are too small for three candidates."""
    A, coordinates = lf.matrices.elasticity((5, 2))
    matrix = LevelMatrix(checked(backend.csr(A)))
    numbers = np.array([0, 1, 1, 2, 2, 2, 3, 3, 3, 3], np.int32)
    B = backend.array(lf.rigid_body_modes(coordinates))
    aggregates, matrices = CandidateAggregates.of(matrix, backend.array(numbers), 4, 2, B)
    smoothed, (again, _) = matrices[0], aggregates.smoothed(matrix)
    np.testing.assert_array_equal(*(backend.host(P.data) for P in (smoothed, again)))
    transfer = Interpolation.smoothed_from(aggregates, matrices)
    csr = transfer.coarse_matrix(matrix).csr
    found = scipy_matrix(backend, (csr.indptr, csr.indices, csr.data)).toarray()
    dense = on_host(backend, smoothed).toarray()
    coarse = backend.host(aggregates.coarse_candidates)
    dropped = coarse.reshape(4, 3, 3).diagonal(axis1=1, axis2=2).ravel() == 0
    assert dropped.sum() == 1
    largest = (dense.T @ A @ dense)[:3, :3].diagonal().max()
    np.testing.assert_allclose(found, dense.T @ A @ dense + np.diag(dropped * largest), atol=1e-12)
    assert np.linalg.eigvalsh(found)[0] > 0


def test_adaptive_candidates_are_smooth_and_orthonormal(backend):
    A, _ = lf.matrices.elasticity((12, 4))
    matrix = LevelMatrix(checked(backend.csr(A)))
    first, again = (backend.host(adaptive_candidates(matrix, 3, seed=1)) for _ in range(2))
    np.testing.assert_array_equal(first, again)
    diagonal = A.diagonal()[:, None] / 2.0**matrix.csr.exponent
    np.testing.assert_allclose(first.T @ (diagonal * first), np.eye(3), atol=1e-12)
    lowest = np.linalg.eigvalsh(A.toarray() / np.sqrt(A.diagonal()[:, None] * A.diagonal()))[:10]
    assert np.einsum("ik,ik->k", first, A @ first).max() < lowest[9] * 2.0**matrix.csr.exponent
    other = backend.host(adaptive_candidates(matrix, 3, seed=2))
    assert abs(first - other).max() > 1e-3


@pytest.mark.gpu
def test_adaptive_candidates_agree_with_the_cpu(cuda):
    A, _ = lf.matrices.elasticity((12, 4))
    here, there = (adaptive_candidates(LevelMatrix(checked(M)), 3, seed=1) for M in (A, cuda.csr(A)))
    there = cuda.host(there)
    weighted = A.diagonal()[:, None] * there
    projected = here @ np.linalg.solve(here.T @ (A.diagonal()[:, None] * here), here.T @ weighted)
    np.testing.assert_allclose(projected, there, atol=1e-6)


def beam(shape, dtype=np.float64):
    """The stiffness matrix of a beam and its rigid body modes; Hermitian for complex types."""
    A, coordinates = lf.matrices.elasticity(shape)
    B = lf.rigid_body_modes(coordinates)
    if np.dtype(dtype).kind == "c":
        phases = np.exp(1j * np.arange(A.shape[0]))
        scale = sp.diags_array(phases)
        A, B = sp.csr_array(scale @ A @ scale.conj()), phases[:, None] * B
        A.data[A.indices == np.repeat(np.arange(A.shape[0]), np.diff(A.indptr))] = A.diagonal().real
        A = sp.csr_array((A + A.conj().T) / 2)
    return sp.csr_array(A.astype(dtype)), B


def iterations(backend, A, **options):
    """Iterations of cg to 1e-8."""
    ml = lf.multilevel(A, **options)
    b = np.random.default_rng(1).standard_normal(A.shape[0])
    residuals = []
    _, info = ml.solve(backend.array(b), tol=1e-8, maxiter=500, residuals=residuals, return_info=True)
    assert info == 0
    return len(residuals) - 1


def beam_iterations(backend, shape, **options):
    A, B = beam(shape)
    return iterations(backend, backend.csr(A), B=backend.array(B), block_size=len(shape), **options)


@pytest.mark.parametrize("numbers", [[0, -1, 1, 1, 2, -1, 3, 3, 3], [0, 1], [-1, -1, -1]])
def test_aggregates_of_single_nodes_are_left_out(backend, numbers):
    numbers, count = np.array(numbers, np.int32), max(numbers) + 1
    found = without_single_nodes(RootAggregates(backend.array(numbers), count, 0.4, True))
    sizes = np.bincount(numbers[numbers >= 0], minlength=count)
    kept = np.flatnonzero(sizes > 1)
    wanted = [list(kept).index(number) if number in kept else -1 for number in numbers]
    np.testing.assert_array_equal(backend.host(found.numbers), wanted)
    assert found.count == kept.size and found.numbers.dtype == np.int32


class TestHierarchies:
    @pytest.mark.parametrize(
        "dtype", [np.float64, *(pytest.param(each, marks=pytest.mark.slow) for each in "fDF")]
    )
    def test_prolongators_keep_the_candidates(self, backend, dtype):
        """Tentative ones do; smoothed by a step, A's image of the candidates alone is subtracted."""
        A, B = beam((24, 6), dtype)
        ml = lf.multilevel(backend.csr(A), B=backend.array(B), block_size=2, max_coarse=20)
        assert len(ml.levels) == 3 and not ml.stalled and ml.cycle == "V"
        eps = np.finfo(dtype).eps
        for level, (fine, P, R), (coarse, *_) in zip(
            ml._part.levels, dense_levels(backend, ml), dense_levels(backend, ml)[1:]
        ):
            aggregates, matrix = level.transfer.smoothed, LevelMatrix(level.csr)
            B, coarse_B = map(backend.host, (aggregates.candidates, aggregates.coarse_candidates))
            step = backend.host(1.1 * matrix.damped_jacobi)[:, None] * (fine @ B)
            assert_close(P @ coarse_B, B - step, 1000 * eps)
            dropped = np.diag(coarse_B.reshape(-1, 3, 3).diagonal(axis1=1, axis2=2).ravel() == 0)
            assert_close(coarse * ~dropped, (R @ fine @ P) * ~dropped, 1000 * eps)
            np.testing.assert_array_equal(coarse, coarse.conj().T)
            assert (coarse.diagonal().real > 0).all()

    def test_one_cycle_is_the_dense_one(self, backend):
        A, B = beam((24, 6))
        ml = lf.multilevel(backend.csr(A), B=backend.array(B), block_size=2, max_coarse=20)
        identity = np.eye(A.shape[0])
        wanted = cycle(
            dense_levels(backend, ml), smoothing_matrices(backend, ml._part), "V", (1, 1), identity
        )
        found = backend.host(ml.aspreconditioner() @ backend.array(identity))
        assert_close(found, wanted, 1e-10)
        for text in ("candidates  3 of the near-null space", "block size  2 unknowns", "chebyshev3"):
            assert text in str(ml)

    def test_iterations_of_beams_are_bounded(self, backend):
        counts = [beam_iterations(backend, shape, max_coarse=100) for shape in ((16, 4), (64, 16))]
        assert counts[1] <= 1.3 * counts[0] + 2 and max(counts) < 16

    def test_constants_are_as_good_as_none(self, backend):
        """For a scalar problem, and much better with a node's components for several at once."""
        A = lf.matrices.poisson((50, 50))
        ones, options = backend.array(np.ones(2500)), {"max_coarse": 50, "smoother": "l1_jacobi"}
        plain, given = (iterations(backend, backend.csr(A), B=B, **options) for B in (None, ones))
        assert abs(plain - given) <= 2
        several = sp.csr_array(sp.kron(A, np.array([[2, 1], [1, 2]])))
        assert iterations(backend, backend.csr(several), block_size=2, max_coarse=50) <= plain

    def test_blocks_of_bsr_are_nodes(self):
        A, B = beam((16, 4))
        nodes = sp.bsr_array(A, blocksize=(2, 2))
        options = {"max_coarse": 20}
        for own in ({}, {"B": B}):
            one = lf.multilevel(nodes, **own, **options)
            other = lf.multilevel(A, block_size=2, **own, **options)
            np.testing.assert_array_equal(*(ml.aspreconditioner() @ np.ones(128) for ml in (one, other)))
        assert "block size" not in str(lf.multilevel(nodes, coarsening="matching", **options))
        assert "block size" not in str(lf.multilevel(nodes, block_size=1, **options))

    def test_storage_in_single_precision(self, backend):
        A, B = beam((24, 6))
        A, B = backend.csr(A), backend.array(B)
        ml = lf.multilevel(A, B=B, block_size=2, max_coarse=20, dtype=np.float32)
        assert ml._part.stored == np.float32
        assert ml._part.levels[0].transfer.smoothed.candidates.dtype == np.float64
        own = iterations(backend, A, B=B, block_size=2, max_coarse=20)
        assert iterations(backend, A, B=B, block_size=2, max_coarse=20, dtype=np.float32) <= own + 1
        again = pickle.loads(pickle.dumps(ml))
        again.update(2 * A)
        ml.update(2 * A)
        b = backend.array(np.ones(A.shape[0]))
        np.testing.assert_array_equal(*(backend.host(each.aspreconditioner() @ b) for each in (ml, again)))

    @pytest.mark.parametrize("options", [{}, {"B": "adaptive"}], ids=["given", "adaptive"])
    def test_update_keeps_aggregates_and_candidates(self, backend, options, tmp_path):
        A, B = beam((24, 6))
        options = {"B": backend.array(B), "block_size": 2, "max_coarse": 40, **options}
        ml = lf.multilevel(backend.csr(A), **options)
        M, b = ml.aspreconditioner(), backend.array(np.ones(A.shape[0]))
        before = backend.host(M @ b)
        lf.save_preconditioner(M, tmp_path / "M.npz")
        again = lf.load_preconditioner(tmp_path / "M.npz")
        np.testing.assert_array_equal(backend.host(again @ b), before)
        scale, rows = 1 + np.random.default_rng(3).random(288), np.repeat(np.arange(288), np.diff(A.indptr))
        scaled = make_csr(scale[rows] * A.data * scale[A.indices], A.indices, A.indptr, 288)
        other = backend.csr(scaled)
        for operator in (ml, again):
            operator.update(other)
        changed = backend.host(ml.aspreconditioner() @ b)
        assert abs(changed - before).max() > 1e-3 * abs(before).max()
        np.testing.assert_array_equal(backend.host(again @ b), changed)
        ml.update(backend.csr(A))
        np.testing.assert_array_equal(backend.host(ml.aspreconditioner() @ b), before)

    def test_to_pyamg(self):
        require_pyamg()
        A, B = beam((24, 6))
        ml, b, residuals, wanted = lf.multilevel(A, B=B, block_size=2, max_coarse=40), np.ones(288), [], []
        ml.solve(b, tol=1e-6, accel=None, residuals=residuals)
        ml.to_pyamg().solve(b, tol=1e-6, residuals=wanted)
        np.testing.assert_allclose(residuals, wanted, rtol=1e-4)

    @pytest.mark.parametrize("given", ["B", "adaptive", "components"])
    def test_matrices_without_a_hierarchy(self, backend, given):
        """Diagonal, small, and of nodes that are not coupled: the smoother or the inverse solves them."""
        for n in (1, 2, 40):
            options = {
                "B": {"B": backend.array(np.ones(n))},
                "adaptive": {"B": "adaptive"},
                "components": {"block_size": 2 - n % 2},
            }[given]
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", RuntimeWarning)  # stalled
                ml = lf.multilevel(backend.csr(sp.csr_array(2 * np.eye(n))), max_coarse=1, **options)
            x = backend.host(ml.solve(backend.array(np.ones(n)), tol=1e-8))
            np.testing.assert_allclose(x, 0.5)

    def test_nonsymmetric_matrices(self, backend):
        A = lf.matrices.poisson((20, 20)) + sp.diags_array(np.full(399, 0.3), offsets=1)
        ml = lf.multilevel(backend.csr(sp.csr_array(A)), B=backend.array(np.ones(400)), max_coarse=20)
        M, b = ml.aspreconditioner(), np.random.default_rng(0).standard_normal((2, 400))
        products = [backend.host(P @ backend.array(v)) for P, v in ((M, b[0]), (M.T, b[1]))]
        assert b[1] @ products[0] == pytest.approx(b[0] @ products[1])
        assert ml.solve(backend.array(b[0]), tol=1e-8, maxiter=30, return_info=True)[1] == 0


class TestArguments:
    @pytest.mark.parametrize(
        "options, error, words",
        [
            ({"B": np.ones(11)}, ValueError, "B must have shape .*n=12"),
            ({"B": np.ones((12, 2, 2))}, ValueError, "B must have shape"),
            ({"B": np.ones((12, 13))}, ValueError, "from 1 to 12 candidates .*got 13"),
            ({"B": np.ones((12, 0))}, ValueError, "candidates"),
            ({"B": np.full(12, np.nan)}, ValueError, "B must be finite"),
            ({"B": np.full(12, 1j)}, TypeError, "B must be real"),
            ({"B": np.full(12, "x")}, TypeError, "B must hold"),
            ({"B": sp.eye_array(12)}, TypeError, "toarray"),
            ({"B": "adapted"}, ValueError, "adaptive"),
            ({"B": ("adaptive", 13)}, ValueError, "candidates"),
            ({"B": ("adaptive", 1.5)}, TypeError, "k of B"),
            ({"B": ("adaptive", 2, 3)}, ValueError, "adaptive"),
            ({"block_size": 5}, ValueError, "block_size must divide the 12 rows"),
            ({"block_size": 0}, ValueError, "block_size"),
            ({"block_size": 33}, ValueError, "block_size"),
            ({"block_size": 2.0}, TypeError, "block_size"),
            ({"block_size": 2, "coarsening": "paths"}, ValueError, "block_size is for coarsening"),
            ({"B": np.ones(12), "smooth_prolongation": True}, ValueError, "B is for coarsening"),
        ],
    )
    def test_errors_name_them(self, options, error, words):
        with pytest.raises(error, match=words):
            lf.multilevel(lf.matrices.poisson(12), **options)

    def test_candidates_that_overflow_in_single_precision(self):
        with pytest.raises(ValueError, match="B must be finite in A's type float32"):
            lf.multilevel(lf.matrices.poisson(12).astype(np.float32), B=np.full(12, 1e300))

    def test_adaptive_candidates_need_a_definite_matrix(self):
        for A in (-lf.matrices.poisson(12), np.triu(np.ones((12, 12)))):
            with pytest.raises(ValueError, match="Hermitian positive definite"):
                lf.multilevel(A, B="adaptive")

    @pytest.mark.gpu
    def test_candidates_on_another_device(self, cuda):
        with pytest.raises(TypeError, match="B must be on A's device"):
            lf.multilevel(cuda.csr(lf.matrices.poisson(12)), B=np.ones(12))


@pytest.mark.slow
@pytest.mark.parametrize("shape", [(160, 40), (48, 12, 12)])
def test_iterations_beside_pyamg(backend, shape):
    require_pyamg()
    from pyamg import smoothed_aggregation_solver

    (A, B), steps = beam(shape), []
    ml = smoothed_aggregation_solver(sp.bsr_matrix(A, blocksize=(len(shape),) * 2), B=B)
    b = np.random.default_rng(1).standard_normal(A.shape[0])
    cg(A, b, rtol=1e-8, M=ml.aspreconditioner(), callback=steps.append)  # PyAMG's own fails with new SciPys
    assert beam_iterations(backend, shape) <= 1.2 * len(steps)


@pytest.mark.slow
@pytest.mark.parametrize(
    "name, most", [("bcsstk09", 41), ("bcsstk13", 108), ("bcsstk14", 60), ("bcsstk16", 14)]
)
def test_iterations_with_adaptive_candidates(backend, name, most):
    """At most half of those of pairwise aggregation with a Chebyshev smoother."""
    if matrices_folder() is None:
        skip_or_fail("matrices", "LINFOREST_MATRICES names no folder with a MANIFEST.tsv")
    assert iterations(backend, backend.csr(load_real(name)), B="adaptive", max_coarse=100) <= most
