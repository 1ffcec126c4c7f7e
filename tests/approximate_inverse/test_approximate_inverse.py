"""Sparse approximate inverses against dense oracles and by what they minimize."""

import pickle

import inverse_oracles as oracles
import numpy as np
import operator_cases as cases
import pytest
import scipy.sparse as sp
import strategies as graphs

import linforest_precond as lf
from linforest_precond.backends.cuda.approximate_inverse import row_systems
from linforest_precond.precond.approximate_inverse import functionals
from linforest_precond.precond.preconditioner import restore

VALUES = [np.float64, *(graphs.slow(dtype) for dtype in (np.float32, np.complex64, np.complex128))]


def definite(size=40, dtype=np.float64, seed=0):
    """A sparse Hermitian matrix with positive eigenvalues, of which some are small."""
    rng = np.random.default_rng(seed)
    B = sp.random_array((size, size), density=0.06, rng=rng).toarray()
    if np.dtype(dtype).kind == "c":
        B = B * np.exp(2j * np.pi * rng.random((size, size)))
    A = B @ B.conj().T + np.diag(rng.uniform(0.01, 1, size))
    return checked((A + A.conj().T) / 2, dtype)


def general(size=40, dtype=np.float64, seed=0):
    rng = np.random.default_rng(seed)
    A = sp.random_array((size, size), density=0.08, rng=rng).toarray()
    if np.dtype(dtype).kind == "c":
        A = A * np.exp(2j * np.pi * rng.random((size, size)))
    return checked(A + np.diag(rng.uniform(0.5, 1, size)), dtype)


def checked(dense, dtype=np.float64, index_dtype=np.int32):
    return graphs.with_types(sp.csr_array(np.asarray(dense)), dtype, index_dtype)


def rows_of(backend, M):
    """G or M as a host matrix."""
    part = M._part
    arrays = (backend.host(array) for array in (part.data, part.indices, part.indptr))
    return sp.csr_array(tuple(arrays), shape=M.shape)


def dense_of(backend, M):
    return backend.host(M @ backend.xp.eye(M.shape[0], dtype=M.dtype))


@pytest.mark.parametrize("dtype", VALUES)
@pytest.mark.parametrize("entries", [1, 6, 12])
class TestAgainstOracles:
    def test_fsai(self, backend, dtype, entries):
        A = definite(dtype=dtype)
        M = lf.approximate_inverse(backend.csr(A), entries, tolerance=1e-4)
        assert M._part.method == "fsai"
        wide = A.toarray().astype(np.promote_types(dtype, np.float64))
        self.compare(rows_of(backend, M), oracles.fsai(wide, entries, 1e-4), M)

    def test_spai(self, backend, dtype, entries):
        A = general(dtype=dtype)
        M = lf.approximate_inverse(backend.csr(A), entries, tolerance=1e-4)
        assert M._part.method == "spai"
        wide = A.toarray().astype(np.promote_types(dtype, np.float64))
        self.compare(rows_of(backend, M), oracles.spai(wide, entries, 1e-4), M)

    def compare(self, found, wanted, M):
        """Entries of the pattern may be 0."""
        stored = sp.csr_array((np.ones(found.nnz), found.indices, found.indptr), shape=found.shape)
        np.testing.assert_array_equal(stored.toarray() != 0, wanted[1])
        cases.assert_close(found.toarray(), wanted[0], cases.tolerance(M) * 100)


@pytest.mark.parametrize("dtype", VALUES)
def test_products_are_those_of_the_factors(backend, dtype):
    for A in (definite(dtype=dtype), general(dtype=dtype)):
        M = lf.approximate_inverse(backend.csr(A), 8)
        rows = rows_of(backend, M).toarray().astype(np.promote_types(dtype, np.float64))
        cases.assert_operator(backend, M, rows.conj().T @ rows if M._part.method == "fsai" else rows)


@pytest.mark.parametrize("dtype", VALUES)
def test_the_factored_matrix_has_a_unit_diagonal(backend, dtype):
    A = definite(dtype=dtype)
    G = rows_of(backend, lf.approximate_inverse(backend.csr(A), 9)).toarray()
    assert (np.triu(G, 1) == 0).all() and (np.diag(G).real > 0).all()
    single = np.finfo(dtype).eps > 1e-10
    np.testing.assert_allclose(np.diag(G @ A.toarray() @ G.conj().T), 1, atol=1e-4 if single else 1e-10)


def test_all_entries_give_the_inverse_of_the_cholesky_factor(backend):
    A = definite(20)
    M = lf.approximate_inverse(backend.csr(A), 20, tolerance=0.0)
    wanted = np.linalg.inv(np.linalg.cholesky(A.toarray()))
    cases.assert_close(rows_of(backend, M).toarray(), wanted, 1e-9)


def test_all_entries_give_the_inverse(backend):
    A = general(20)
    M = lf.approximate_inverse(backend.csr(A), 20, tolerance=0.0)
    cases.assert_close(dense_of(backend, M), np.linalg.inv(A.toarray()), 1e-6)


def test_rows_solve_their_least_squares_problems(backend):
    A = general()
    M = rows_of(backend, lf.approximate_inverse(backend.csr(A), 6))
    dense = A.toarray()
    scales = 1 / np.sqrt(np.linalg.norm(dense, axis=0))
    residual = (np.eye(len(dense)) - M @ dense) * scales
    gradient = residual @ (dense * scales).T
    assert abs(gradient[M.toarray() != 0]).max() < 1e-10


def test_an_indefinite_hermitian_matrix_keeps_a_definite_inverse(backend):
    A = checked(np.array([[1.0, 2.0, 0.0], [2.0, 1.0, 0.5], [0.0, 0.5, 1.0]]))
    with pytest.warns(RuntimeWarning, match="not positive definite"):
        M = lf.approximate_inverse(backend.csr(A))
    assert M._part.dependent >= 1 and "not definite" in str(M)
    assert (np.linalg.eigvalsh(dense_of(backend, M)) > 0).all()


def test_a_hermitian_matrix_without_a_positive_diagonal(backend):
    A = checked([[0.0, 1.0], [1.0, 0.0]])
    M = lf.approximate_inverse(backend.csr(A))
    assert M._part.method == "spai"
    cases.assert_close(dense_of(backend, M), A.toarray(), 1e-14)
    with pytest.raises(ValueError, match='method="fsai" needs a Hermitian A with a positive diagonal'):
        lf.approximate_inverse(backend.csr(A), method="fsai")


def test_empty_rows_of_a_laplacian_are_those_of_the_identity(backend):
    """Isolated vertices, one of them with a stored zero, and a path: semidefinite, so that CG can be used."""
    path = sp.csr_array(
        sp.diags_array([np.full(9, -1.0), np.r_[1, np.full(8, 2.0), 1], np.full(9, -1.0)], offsets=[-1, 0, 1])
    )
    A = sp.csr_array(
        sp.block_diag([sp.coo_array((1, 1)), path, sp.coo_array(([0.0], ([0], [0])), shape=(1, 1))])
    )
    A = graphs.with_types(A, index_dtype=np.int32)
    M = lf.approximate_inverse(backend.csr(A), 5)
    found = backend.host(M @ backend.array(np.eye(12)))
    assert M._part.method == "fsai" and M._part.empty == 0
    np.testing.assert_array_equal(found[[0, -1]], np.eye(12)[[0, -1]])
    np.testing.assert_allclose(found, found.T, atol=1e-14)
    M.update(backend.csr(2 * A))
    assert lf.approximate_inverse(backend.csr(A - 1e-3 * sp.eye_array(12)))._part.method == "spai"


def test_rows_without_entries_become_those_of_the_identity(backend):
    A = checked(np.diag([2.0, 0.0, 4.0]))
    with pytest.warns(RuntimeWarning, match="1 rows of the approximate inverse"):
        M = lf.approximate_inverse(backend.csr(A), method="spai")
    cases.assert_close(dense_of(backend, M), np.diag([0.5, 1.0, 0.25]), 1e-14)


@pytest.mark.parametrize("size", [0, 1])
def test_tiny_matrices(backend, size):
    A = checked(4 * np.eye(size))
    for method in ("auto", "spai"):
        M = lf.approximate_inverse(backend.csr(A), method=method)
        assert dense_of(backend, M).tolist() == [[0.25]][:size]


def test_long_rows_and_columns(backend, monkeypatch):
    """An arrow: its column is longer than those that count in the products of rows."""
    monkeypatch.setattr(functionals, "LONGEST_COLUMNS", (256,))
    n = 600
    dense = np.diag(np.full(n, 3.0))
    dense[:, 0] = dense[0] = 1e-2
    dense[0, 0], dense[5, 7] = 9, 0.5
    A = checked(dense)
    M = lf.approximate_inverse(backend.csr(A))
    rows = rows_of(backend, M)
    assert M._part.method == "spai" and np.diff(rows.indptr).max() <= 20
    assert np.linalg.norm(np.eye(n) - rows @ dense) < 0.5 * np.linalg.norm(np.eye(n) - dense / 3)


@pytest.mark.parametrize("make", [definite, general])
def test_update_is_the_solution_on_the_same_pattern(backend, make):
    A = make()
    M = lf.approximate_inverse(backend.csr(A), 7)
    first, before = rows_of(backend, M), dense_of(backend, M)
    M.update(backend.csr(A))
    cases.assert_close(dense_of(backend, M), before, 1e-10)
    B = A.copy()
    B.setdiag(1.5 * A.diagonal() + 0.1)
    M.update(backend.csr(checked(B.toarray())))
    again = rows_of(backend, M)
    assert (again.indices == first.indices).all()
    residual = np.eye(40) - again @ B.toarray()
    assert np.linalg.norm(residual) > 0 and abs(again - first).max() > 1e-3
    if make is definite:
        np.testing.assert_allclose(np.diag(again @ B.toarray() @ again.T.toarray()), 1)
        with pytest.raises(ValueError, match="make a new preconditioner"):
            M.update(-1 * backend.csr(A))


def test_stored_in_single_precision(backend):
    A = definite()
    wide = lf.approximate_inverse(backend.csr(A), 7)
    M = lf.approximate_inverse(backend.csr(A), 7, dtype=np.float32)
    assert M.stored_dtype == np.float32 and M.dtype == np.float64
    cases.assert_close(dense_of(backend, M), dense_of(backend, wide), 1e-5)


@pytest.mark.parametrize("make", [definite, general])
@pytest.mark.parametrize("power", [-1000, 901])
def test_numbers_at_the_edge_of_the_range(backend, make, power):
    A, x = make(), backend.array(cases.vectors(np.float64, 40))
    wanted = backend.host(lf.approximate_inverse(backend.csr(A), 6) @ x)
    A.data = np.ldexp(A.data, power)
    found = backend.host(lf.approximate_inverse(backend.csr(A), 6) @ x)
    cases.assert_close(np.ldexp(found, power), wanted, 1e-10)


def test_saved_and_loaded(backend, tmp_path):
    M = lf.approximate_inverse(backend.csr(definite()), 5)
    lf.save_preconditioner(M, tmp_path / "M.npz")
    again = lf.load_preconditioner(tmp_path / "M.npz")
    assert (dense_of(backend, again) == dense_of(backend, M)).all()


@pytest.mark.parametrize(
    ("field", "change"),
    [
        ("indices", lambda array: array[::-1].copy()),
        ("data", lambda array: -array),
        ("indptr", lambda array: np.r_[array[:-1] * 0, array[-1:]]),
    ],
)
def test_files_that_no_setup_writes(field, change):
    kind, (header, arrays) = lf.approximate_inverse(definite(), 5).__reduce__()[1]
    arrays[f"part.{field}"] = change(arrays[f"part.{field}"])
    with pytest.raises(lf.PreconditionerFileError, match="part.(indices|indptr|data) must"):
        restore(kind, (header, arrays))


def test_pickles_and_prints(backend):
    for A in (definite(), general()):
        M = lf.approximate_inverse(backend.csr(A), 5)
        again = pickle.loads(pickle.dumps(M))
        x = backend.array(cases.vectors(np.float64, 40))
        assert (backend.host(M @ x) == backend.host(again @ x)).all()
        assert "at most 5" in str(M) and M.nbytes > 0


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"entries": 0}, ValueError, r"entries must lie in \[1, 64\], got 0"),
        ({"entries": 65}, ValueError, "entries must lie"),
        ({"entries": 2.5}, TypeError, "entries must be an integer"),
        ({"tolerance": 1.0}, ValueError, r"tolerance must lie in \[0, 1\), got 1.0"),
        ({"method": "ilu"}, ValueError, 'method must be "auto", "fsai" or "spai"'),
    ],
)
def test_wrong_options(options, error, message):
    with pytest.raises(error, match=message):
        lf.approximate_inverse(definite(), **options)


def test_iterations_fall(backend):
    A = backend.csr(lf.matrices.poisson((24, 24)))
    b, history, plain = backend.xp.ones(576), lf.solvers.History(), lf.solvers.History()
    lf.solvers.cg(A, b, rtol=1e-8, M=lf.jacobi(A), history=plain)
    x, info = lf.solvers.cg(A, b, rtol=1e-8, M=lf.approximate_inverse(A), history=history)
    assert info == 0 and len(history) < 0.5 * len(plain)


@pytest.mark.slow
@pytest.mark.parametrize("index_dtype", [np.int32, np.int64])
@pytest.mark.parametrize("entries", [20, 64])
@pytest.mark.parametrize("dtype", [np.float64, np.complex128, np.float32])
@pytest.mark.gpu
def test_both_backends_choose_the_same_pattern(cuda, dtype, entries, index_dtype):
    grid = lf.matrices.poisson((12, 11, 10))
    bumpy = grid + sp.diags_array(np.random.default_rng(0).uniform(0, 1, grid.shape[0]))
    wind = bumpy + 0.3 * sp.csr_array(sp.triu(bumpy, 1))
    for A in (grid, bumpy, wind, definite(300, dtype), general(300, dtype)):
        A = checked(A.toarray(), dtype, index_dtype)
        here, there = (
            lf.approximate_inverse(A, entries)._part,
            lf.approximate_inverse(cuda.csr(A), entries)._part,
        )
        for name in ("indptr", "indices", "data"):
            np.testing.assert_array_equal(getattr(here, name), cuda.host(getattr(there, name)))


@pytest.mark.gpu
@pytest.mark.parametrize("sample", [1, 7, 100])
def test_rows_that_need_larger_systems_than_a_sample(cuda, monkeypatch, sample):
    monkeypatch.setattr(row_systems, "MANY_ROWS", 200)
    monkeypatch.setattr(row_systems, "SAMPLE", sample)
    for A in (lf.matrices.poisson((9, 8, 7)), definite(300), general(300)):
        A = checked(A.toarray())
        here, there = lf.approximate_inverse(A)._part, lf.approximate_inverse(cuda.csr(A))._part
        for name in ("indptr", "indices", "data"):
            np.testing.assert_array_equal(getattr(here, name), cuda.host(getattr(there, name)))
        assert (here.dependent, here.empty) == (there.dependent, there.empty)
