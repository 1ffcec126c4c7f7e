"""Residuals in twice the working precision: exact up to one rounding, with the same bits on both backends."""

from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
import strategies as graphs
from solver_cases import SOLVERS, recorded
from test_solver_products import LENGTHS, matrix, vectors

import linforest_precond as lf
from linforest_precond.backends import backend_named, backend_of
from linforest_precond.graph.reordering.permute import checked_order
from linforest_precond.matrix.checked import checked
from linforest_precond.solvers import History, Status
from linforest_precond.solvers.problem import checked_problem
from linforest_precond.solvers.reordering import Reordering

EVERY = {**SOLVERS, **{name: getattr(lf.solvers, name) for name in ("minres", "gmres", "fgmres", "idrs")}}
each_solver = pytest.mark.parametrize("solver", EVERY)


def exact(A, b, x):
    """b - A x, each part rounded once from a rational number to double precision."""
    A, wide = sp.csr_array(A), np.zeros(b.shape, np.complex128)
    for row in range(A.shape[0]):
        entries = range(A.indptr[row], A.indptr[row + 1])
        for column in range(b.shape[1]):
            real, imaginary = Fraction(float(b[row, column].real)), Fraction(float(b[row, column].imag))
            for entry in entries:
                a, y = A.data[entry], x[A.indices[entry], column]
                parts = [Fraction(float(part)) for part in (a.real, a.imag, y.real, y.imag)]
                real -= parts[0] * parts[2] - parts[1] * parts[3]
                imaginary -= parts[0] * parts[3] + parts[1] * parts[2]
            wide[row, column] = complex(float(real), float(imaginary))
    return wide


def residual(backend, A, b, x, dense=False):
    B = backend.array(A.toarray()) if dense else backend.csr(A)
    product = backend_of(B).krylov.spmv.Product(B if dense else checked(B), b.dtype, is_csr=not dense)
    target = backend.array(np.full_like(x, np.nan))
    product.residual(backend.array(b), backend.array(x), target)
    return backend.host(target)


@pytest.mark.parametrize("dtype", graphs.quick([np.float64, np.complex128, np.float32, np.complex64]))
@pytest.mark.parametrize(("lengths", "columns"), [("short", 1), ("long", 1), ("medium", 3)])
@pytest.mark.parametrize("dense", [False, True])
def test_residuals_are_rounded_once(backend, dtype, lengths, columns, dense):
    """b is the rounded product: all leading digits cancel."""
    A = matrix(300, LENGTHS[lengths], dtype)
    x = vectors(300, columns, dtype)
    b = (A @ x).astype(dtype)
    found, some = residual(backend, A, b, x, dense), np.r_[:20, 20:280:7, 280:300]
    wanted = exact(A[some], b[some], x)
    eps = np.finfo(dtype).eps
    lost = 300 * np.finfo(np.float64).eps ** 2 * (abs(A) @ abs(x) + abs(b))[some]
    assert (abs(found[some] - wanted) <= eps * abs(wanted) + lost).all()


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex128])
@pytest.mark.parametrize("lengths", LENGTHS)
@pytest.mark.parametrize("index", [np.int32, np.int64])
def test_both_backends_have_the_same_bits(cuda, dtype, lengths, index):
    A, x = matrix(900, LENGTHS[lengths], dtype, index), vectors(900, 2, dtype)
    b = (A @ x).astype(dtype)
    target = np.empty_like(x)
    backend_named("cpu").krylov.spmv.Product(checked(A), b.dtype, is_csr=True).residual(b, x, target)
    np.testing.assert_array_equal(residual(cuda, A, b, x), target)


@pytest.mark.parametrize("dtype", graphs.quick([np.float64, np.complex64]))
def test_magnitudes(backend, dtype):
    A, x = matrix(300, LENGTHS["long"], dtype), vectors(300, 2, dtype)
    B = backend.csr(A)
    found = backend_of(B).krylov.spmv.Product(checked(B), x.dtype, is_csr=True).magnitudes(backend.array(x))
    assert found.dtype == np.float64
    np.testing.assert_allclose(backend.host(found), abs(A) @ abs(x), rtol=1e-5)


def test_the_residual_is_of_the_matrix_as_it_was_given(backend):
    """Not of the one whose rounding errors were removed to make it Hermitian; also in another order."""
    A = lf.matrices.poisson((9, 9))
    A.data[A.indices == 3] *= 1 + 2 * np.finfo(float).eps
    x = vectors(81, 1, np.float64)
    b = A @ x
    record = checked(backend.csr(A))
    assert record.to_rounding
    order = checked_order(np.random.default_rng(0).permutation(81), 81, record.backend)
    for reordering in (Reordering(), Reordering(order)):
        product = backend_of(record.data).krylov.spmv.Product(reordering.matrix(record), b.dtype, is_csr=True)
        vectors_of = [reordering.permuted(backend.array(each)) for each in (b, x)]
        target = backend.array(np.empty_like(x))
        product.residual(*vectors_of, target)
        found = backend.host(reordering.restored(target))
        np.testing.assert_allclose(found, exact(A, b, x).real, rtol=1e-15)


class TestVerification:
    def test_a_tolerance_that_rounding_errors_exceed(self, backend):
        """Products in one order of summation happen to meet it; the residual is 6e-12 of b."""
        A = sp.csr_array([[0.001, 1, 0], [0, 0.001, 1], [0, 0, 0.001]])
        b = np.array([1.0, 3, -1])
        for solve in (EVERY["bicgstab"], EVERY["gmres"], EVERY["idrs"], lf.solve):
            x, info, told = recorded(solve, backend.csr(A), backend.array(b), rtol=1e-15)
            assert info == Status.UNATTAINABLE and len(told) == 1, solve.__name__
            assert "below what float64" in str(told[0].message)
            left = exact(A, b.reshape(-1, 1), backend.host(x).reshape(-1, 1))
            assert 1e-15 < np.linalg.norm(left) / np.linalg.norm(b) < 1e-10
        x, info = EVERY["gmres"](backend.csr(A), backend.array(b), rtol=1e-10)
        assert info == 0

    def test_starts_in_any_order_of_storage(self, backend):
        """A start that solves the system ends a solve; one that does not must not."""
        A, x = lf.matrices.poisson((6, 6)), np.asfortranarray(vectors(36, 3, np.float64))
        for start, calls in ((x, 0), (x[:, ::-1], 1)):
            given = backend.array(start).copy(order="F")
            seen = []
            found, info = lf.solve(backend.csr(A), backend.array(A @ x), given, callback=seen.append)
            assert not info.any() and bool(seen) == bool(calls)
            np.testing.assert_allclose(backend.host(found), x, atol=1e-6)

    @each_solver
    def test_operators_keep_the_plain_residual(self, backend, solver):
        A = lf.matrices.poisson((8, 8))
        operator = backend_named(backend.name).sparse.linalg.aslinearoperator(backend.csr(A))
        x, info, _ = recorded(EVERY[solver], operator, backend.array(np.ones(64)), rtol=1e-30)
        assert info in (Status.STAGNATED, Status.SINGULAR, Status.RHO, Status.OMEGA)

    @each_solver
    def test_the_better_x_is_returned(self, backend, solver):
        A, b = lf.matrices.poisson((15, 15)), np.cos(np.arange(225.0) ** 2)
        history = History()
        x, info, _ = recorded(EVERY[solver], backend.csr(A), backend.array(b), rtol=1e-18, history=history)
        left = exact(A, b.reshape(-1, 1), backend.host(x).reshape(-1, 1))
        best = min(norm for _, _, norm in history.true_residuals)
        assert info == Status.UNATTAINABLE
        assert np.linalg.norm(left) / np.linalg.norm(b) <= 1.001 * best


class TestZeroRows:
    @each_solver
    @pytest.mark.parametrize("form", ["sparse", "dense", "explicit zeros"])
    def test_no_iteration_is_made(self, backend, solver, form):
        A = lf.matrices.poisson(50).toarray()
        A[7] = A[:, 7] = 0
        B = sp.csr_array(A)
        if form == "explicit zeros":
            B = lf.matrices.poisson(50)
            B.data[(B.indices == 7) | (np.repeat(np.arange(50), np.diff(B.indptr)) == 7)] = 0
        history, calls = History(), []
        x, info, told = recorded(
            EVERY[solver],
            backend.array(A) if form == "dense" else backend.csr(B),
            backend.array(np.ones(50)),
            backend.array(np.full(50, 2.0)),
            history=history,
            callback=calls.append,
        )
        assert info == Status.SINGULAR and not calls and "Row 7 of A is zero" in str(told[0].message)
        assert (backend.host(x) == 2).all() and history.status is Status.SINGULAR
        assert len(history.true_residuals) == 1

    @each_solver
    def test_columns_that_can_be_solved_are(self, backend, solver):
        A = lf.matrices.poisson(50).toarray()
        A[7] = A[:, 7] = 0
        b = np.ones((50, 3))
        b[7] = 0, 3, 0
        x, info, told = recorded(EVERY[solver], backend.csr(sp.csr_array(A)), backend.array(b), rtol=1e-10)
        np.testing.assert_array_equal(info, [0, Status.SINGULAR, 0])
        assert len(told) == 1 and not backend.host(x)[:, 1].any()
        np.testing.assert_allclose(A @ backend.host(x)[:, ::2], b[:, ::2], atol=1e-8)

    def test_solve_names_the_row(self, backend):
        A = lf.matrices.poisson(500).toarray()
        A[7] = 0
        calls = []
        x, info, told = recorded(
            lf.solve, backend.csr(sp.csr_array(A)), backend.array(np.ones(500)), callback=calls.append
        )
        assert info == Status.SINGULAR and not calls and not backend.host(x).any()
        assert "Row 7 of A is zero" in str(told[0].message)
        assert lf.auto(backend.csr(sp.csr_array(A))).shape == (500, 500)


class TestFiniteSolutions:
    @pytest.mark.parametrize("seed", range(12))
    def test_subnormal_matrices_with_several_right_hand_sides(self, backend, seed):
        rng = np.random.default_rng(seed)
        n, k = int(rng.integers(2, 9)), int(rng.integers(2, 4))
        A = sp.csr_array(sp.random_array((n, n), density=0.3, rng=rng) * 2e-314 + sp.eye_array(n) * 1e-314)
        b = rng.standard_normal((n, k))
        for solve in (lf.solve, *EVERY.values()):
            x, info, _ = recorded(solve, backend.csr(A), backend.array(b), rtol=0.5)
            assert np.isfinite(backend.host(x)).all() and (info != 0).all()

    def test_a_start_that_overflows_is_not_returned(self, backend):
        A = sp.csr_array(np.diag([1e250, 1e260]) + np.diag([1e255], 1))
        x, info, _ = recorded(
            lf.solve, backend.csr(A), backend.array(np.full(2, 1e-250)), backend.array(np.full(2, 1e200))
        )
        assert np.isfinite(backend.host(x)).all()


@pytest.mark.parametrize("solver", [*EVERY, "solve"])
@pytest.mark.parametrize("maxiter", [1, 7, 31])
def test_as_many_callbacks_as_iterations(backend, solver, maxiter):
    A = sp.csr_array(lf.matrices.poisson((30, 30)))
    calls, method = [], {}
    if solver == "solve":
        method = {"method": "jacobi"}
    x, info, _ = recorded(
        EVERY.get(solver, lf.solve), backend.csr(A), backend.array(np.ones(900)), rtol=1e-14,
        maxiter=maxiter, callback=calls.append, **method,
    )  # fmt: skip
    assert info == len(calls) and (info == maxiter or solver == "solve")


def test_errors_of_a_residual_that_cancels_count(backend):
    """Row 0 is 1 - (-1e40 + 1e40): twice the working precision holds 32 digits of 1e40."""
    A, b = backend.csr(sp.csr_array([[1.0, 1e40], [0.0, 1.0]])), backend.array(np.ones(2))
    problem = checked_problem(A, b, None, 1e-8, 0.0, 10, None, None, None)
    assert problem.residual_norms(backend.array(np.array([[-1e40], [1.0]])))[0] > 1e7
    assert problem.residual_norms(backend.array(np.array([[2.0], [1e-40]])))[0] == np.hypot(2.0, 1.0)
