"""The coarsest level: the dense inverse and the banded factor beside NumPy's, and where there is none."""

from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.linalg import block_diag
from strategies import quick, slow

import linforest_precond as lf
from linforest_precond.backends import backend_of
from linforest_precond.matrix.checked import checked
from linforest_precond.precond.multigrid.coarsest import BandedCoarsest, Coarsest

EPS = np.finfo(float).eps
# Around the sides of tiles of 32 rows, and on both sides of the most rows that are inverted by tiles.
SIZES = [1, 2, 31, 32, 33, 64, 100, 650, slow(1000), slow(1024), slow(1025)]


def definite(n, condition=10.0, dtype=float):
    """A Hermitian matrix with random eigenvectors and eigenvalues from 1 / condition to 1."""
    rng = np.random.default_rng(n)
    vectors = rng.standard_normal((n, n)).astype(dtype)
    if vectors.dtype.kind == "c":
        vectors += 1j * rng.standard_normal((n, n))
    vectors = np.linalg.qr(vectors)[0]
    A = (vectors * np.geomspace(1, 1 / condition, n)) @ vectors.conj().T
    return (A + A.conj().T) / 2


def path_laplacian(n):
    """Singular: constants are its null space."""
    A = 2 * np.eye(n) - np.eye(n, k=1) - np.eye(n, k=-1)
    A[0, 0] = A[-1, -1] = 1
    return A


def inverted(backend, A, stored=None):
    """`definite_inverse` on a backend, as a NumPy array; None where there is none."""
    B = backend.array(A)
    found = backend_of(B).multigrid.coarsest.definite_inverse(B, np.dtype(stored or A.dtype))
    assert np.array_equal(backend.host(B), A)  # kept
    return None if found is None else backend.host(found)


def residual(A, inverse):
    return abs(A @ inverse - np.eye(len(A))).max()


class TestDefiniteInverse:
    @pytest.mark.parametrize("n", SIZES)
    @pytest.mark.parametrize("condition", [10.0, 1e6])
    def test_as_accurate_as_lapack(self, backend, n, condition):
        A = definite(n, condition)
        found = inverted(backend, A)
        assert found.dtype == A.dtype and found.flags.c_contiguous
        assert residual(A, found) <= 10 * residual(A, np.linalg.inv(A)) + 4 * n * EPS
        assert np.array_equal(found, found.T)

    @pytest.mark.parametrize("n", [1, 2, 33, 100, slow(1024)])
    @pytest.mark.parametrize("condition", [10.0, 1e6])
    def test_complex(self, backend, n, condition):
        A = definite(n, condition, complex)
        found = inverted(backend, A)
        assert residual(A, found) <= 10 * residual(A, np.linalg.inv(A)) + 4 * n * EPS
        assert np.array_equal(found, found.conj().T)

    @pytest.mark.parametrize(("dtype", "stored"), [(float, np.float32), (complex, np.complex64)])
    def test_stored_in_single_precision(self, backend, dtype, stored):
        A = definite(70, dtype=dtype)
        found, wide = inverted(backend, A, stored), inverted(backend, A)
        assert found.dtype == stored and np.array_equal(found, wide.astype(stored))

    def test_badly_scaled(self, backend):
        """Entries from 1e-200 to 1e200: no pivot is small beside its own diagonal entry."""
        A, scale = definite(100), np.logspace(-100, 100, 100)
        found = inverted(backend, A * scale * scale[:, None]) * scale * scale[:, None]
        assert residual(A, found) < 1e-12

    def test_two_runs_agree(self, backend):
        A = definite(200, 1e4)
        assert np.array_equal(inverted(backend, A), inverted(backend, A))

    @pytest.mark.parametrize("n", [2, 33, 100, slow(1025)])
    def test_none_where_it_is_singular(self, backend, n):
        A = path_laplacian(n)
        assert inverted(backend, A) is None
        assert inverted(backend, A + 1e-12 * np.eye(n)) is None
        assert inverted(backend, A + 1e-3 * np.eye(n)) is not None
        assert inverted(backend, np.zeros((n, n))) is None

    @pytest.mark.parametrize("place", [0, 31, 32, 69])
    def test_none_where_it_is_indefinite(self, backend, place):
        A = definite(70)
        A[place, place] = -1
        assert inverted(backend, A) is None
        A[place, place] = 0
        assert inverted(backend, A) is None

    def test_none_where_the_stored_type_overflows(self, backend):
        A = 1e-60 * np.eye(40)
        assert inverted(backend, A, np.float32) is None
        assert np.allclose(inverted(backend, A), 1e60 * np.eye(40))


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex64, np.complex128])
@pytest.mark.parametrize("index", [np.int32, np.int64])
def test_dense_matrix(backend, dtype, index):
    A = sp.random_array((70, 70), density=0.1, format="csr", random_state=np.random.default_rng(0))
    A = sp.csr_array(A + sp.csr_array(([1.0] * 70, ([3] * 70, range(70))), shape=(70, 70))).astype(dtype)
    arrays = {name: backend.array(getattr(A, name).astype(index)) for name in ("indptr", "indices")}
    record = SimpleNamespace(**arrays, data=backend.array(A.data), n=70, nnz=A.nnz)
    found = backend.host(backend_of(record.data).multigrid.coarsest.dense_matrix(record))
    assert found.dtype == np.result_type(dtype, np.float64) and np.array_equal(found, A.toarray())


def coarsest_of(backend, A, stored=np.float64, hermitian=True, centered=False):
    found = Coarsest.of(checked(backend.csr(sp.csr_array(A))), np.dtype(stored), hermitian, centered)
    identity = backend.array(np.eye(len(A), dtype=stored))
    solved = identity.copy()
    found.solve_into(backend_of(identity).multigrid.vector_ops, identity, solved)
    return backend.host(solved), found.rank


class TestCoarsest:
    @pytest.mark.parametrize("n", [2, 33, 200])
    def test_inverse(self, backend, n):
        A = path_laplacian(n) + np.eye(n)
        found, rank = coarsest_of(backend, A)
        assert rank == n and residual(A, found) < 1e-13

    def test_pseudo_inverse_of_a_singular_matrix(self, backend):
        A = path_laplacian(100)
        found, rank = coarsest_of(backend, A)
        assert rank == 99 and np.allclose(found, np.linalg.pinv(A, rcond=1e-12), atol=1e-9)

    @pytest.mark.parametrize("stored", [np.float64, np.float32])
    @pytest.mark.parametrize("sizes", [(60,), (60, 1), (30, 20, 1, 1), (1,)])
    def test_rounding_errors_of_a_matrix_that_maps_constants_to_zero(self, backend, stored, sizes):
        """Components with row sums of 1e-13: as many eigenvalues count as zeros."""
        A = block_diag(*[path_laplacian(size) if size > 1 else np.zeros((1, 1)) for size in sizes])
        noisy = A + 1e-13 * np.diag(1 + np.arange(A.shape[0]) % 3)
        found, rank = coarsest_of(backend, noisy, stored, centered=True)
        assert rank == sum(sizes) - len(sizes)
        tolerance = 1e-8 if stored is np.float64 else 1e-4
        assert np.allclose(
            found, np.linalg.pinv(A, rcond=1e-12), rtol=tolerance, atol=tolerance * abs(found).max()
        )

    def test_indefinite_and_nonsymmetric(self, backend):
        A = path_laplacian(50) - 0.7 * np.eye(50)
        found, rank = coarsest_of(backend, A)
        assert rank == 50 and residual(A, found) < 1e-11
        A = path_laplacian(50) + np.eye(50) + 0.3 * np.eye(50, k=1)
        found, rank = coarsest_of(backend, A, hermitian=False)
        assert rank == 50 and residual(A, found) < 1e-11

    def test_single_precision(self, backend):
        A = path_laplacian(40) + np.eye(40)
        found, _ = coarsest_of(backend, A, np.float32)
        assert found.dtype == np.float32 and residual(A, found) < 1e-5
        with pytest.raises(ValueError, match="scale A"):
            coarsest_of(backend, 1e-60 * A, np.float32)


def banded(n, width, dtype=float, seed=0):
    """A definite matrix whose rows are shuffled: its band is narrow in another order."""
    rng = np.random.default_rng(seed)
    A = np.zeros((n, n), dtype)
    for k in range(1, width):
        values = rng.standard_normal(n - k) + (1j * rng.standard_normal(n - k) if dtype is complex else 0)
        A += np.diag(values, k) + np.diag(values.conj(), -k)
    A += np.diag(1 + abs(A).sum(axis=1))
    order = rng.permutation(n)
    return A[np.ix_(order, order)]


class TestBandedFactor:
    """On the CPU; the GPU inverts."""

    @pytest.mark.parametrize("dtype", [float, complex])
    def test_solves_as_the_inverse_does(self, dtype):
        A = banded(200, 4, dtype)
        found = Coarsest.of(checked(sp.csr_array(A)), np.dtype(dtype), hermitian=True)
        assert isinstance(found, BandedCoarsest) and found.rank == 200
        b, x = np.random.default_rng(1).standard_normal((200, 3)).astype(dtype), np.empty((200, 3), dtype)
        for factor, matrix in ((found, A), (found.transposed(), A.T)):
            factor.solve_into(None, b, x)
            assert np.allclose(x, np.linalg.solve(matrix, b), rtol=1e-12)

    @pytest.mark.parametrize("dtype", [float, complex])
    def test_lu_solves_as_the_inverse_does(self, dtype):
        rng = np.random.default_rng(3)
        A = banded(200, 4, dtype) * rng.uniform(0.1, 3, (200, 200))  # rows are interchanged
        found = Coarsest.of(checked(sp.csr_array(A)), np.dtype(dtype), hermitian=False)
        assert isinstance(found, BandedCoarsest) and found.rank == 200
        b, x = rng.standard_normal((200, 3)).astype(dtype), np.empty((200, 3), dtype)
        for factor, matrix in ((found, A), (found.transposed(), A.T), (found.transposed().transposed(), A)):
            factor.solve_into(None, b, x)
            assert np.allclose(x, np.linalg.solve(matrix, b), rtol=1e-10)

    @pytest.mark.parametrize(
        "A", [np.triu(banded(60, 30)), np.diag(np.arange(60.0)), np.diag(np.geomspace(1, 1e-11, 60))]
    )
    def test_no_lu_where_the_band_is_wide_or_the_matrix_singular(self, A):
        found = Coarsest.of(checked(sp.csr_array(A)), A.dtype, hermitian=False)
        assert isinstance(found, Coarsest)

    @pytest.mark.parametrize("exponent", [1, -1, 7, 30])
    def test_scales_exactly_with_powers_of_two(self, exponent):
        A, b = banded(120, 5), np.random.default_rng(1).standard_normal((120, 1))
        solved = []
        for factor in (1.0, 2.0**exponent):
            x = np.empty_like(b)
            Coarsest.of(checked(sp.csr_array(factor * A)), A.dtype, hermitian=True).solve_into(None, b, x)
            solved.append(factor * x)
        assert np.array_equal(*solved)

    @pytest.mark.parametrize("A", [banded(40, 20), path_laplacian(60) - 0.7 * np.eye(60), path_laplacian(60)])
    def test_none_where_the_band_is_wide_or_the_matrix_not_definite(self, A):
        assert isinstance(Coarsest.of(checked(sp.csr_array(A)), A.dtype, hermitian=True), Coarsest)

    @pytest.mark.parametrize("dtype", quick([None, "float32"]))
    @pytest.mark.parametrize("make", [lf.matrices.poisson, lf.matrices.convection_diffusion])
    def test_is_computed_again_for_files(self, tmp_path, make, dtype):
        A, r = make((40, 40)), np.random.default_rng(0).standard_normal(1600)
        M = lf.multilevel(A, dtype=dtype).aspreconditioner()
        assert isinstance(M._part.coarsest, BandedCoarsest)
        lf.save_preconditioner(M, tmp_path / "M.npz")
        assert np.array_equal(lf.load_preconditioner(tmp_path / "M.npz") @ r, M @ r)
