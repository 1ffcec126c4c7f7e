"""The solvers with preconditioners, users' operators and users' inner products."""

import functools

import numpy as np
import pytest
import scipy.sparse as sp
import strategies as graphs
from operator_cases import IN_SINGLE_PRECISION, KINDS, assert_close, dominant
from solver_cases import (
    SLACK,
    SOLVERS,
    SYMMETRIC,
    Watch,
    each_solver,
    each_type,
    grid,
    iterations_of,
    library,
    noise,
    recorded,
    true_residuals,
    users_operator,
)

import linforest_precond as lf
from linforest_precond.solvers import History, bicgstab, cg, fcg

# Of a solver whose iteration counts are sensitive to rounding errors.
UNSTEADY = 1.3


def counts(backend, solver, *kinds):
    """The iterations with each preconditioner."""
    A = lf.matrices.aniso(2, 40)
    B, b = backend.csr(A), noise(1600)
    for kind in kinds:
        history, M = History(), kind and kind(B)
        x, info, told = recorded(SOLVERS[solver], B, backend.array(b), rtol=1e-8, M=M, history=history)
        assert info == 0 and not told and x.dtype == np.float64
        assert true_residuals(backend, A, b, x) <= 1e-8 * SLACK
        yield iterations_of(history)


class TestPreconditioners:
    @pytest.mark.parametrize("kind", KINDS)
    @each_solver
    def test_each_of_ours(self, backend, solver, kind):
        plain, full = counts(backend, solver, None, KINDS[kind])
        assert full <= (plain if solver in SYMMETRIC else UNSTEADY * plain)
        if solver in SYMMETRIC and ("forest" in kind or "blocks" in kind):
            assert full < 0.75 * plain

    @pytest.mark.parametrize("kind", IN_SINGLE_PRECISION)
    @each_solver
    def test_each_in_single_precision(self, backend, solver, kind):
        single = functools.partial(KINDS[kind], dtype=np.float32)
        if solver in SYMMETRIC:
            full, half = counts(backend, solver, KINDS[kind], single)
            assert abs(half - full) <= 2
        else:
            plain, half = counts(backend, solver, None, single)
            assert half <= UNSTEADY * plain

    @pytest.mark.parametrize("dtype", graphs.quick(graphs.DTYPES))
    @pytest.mark.parametrize("kind", KINDS)
    def test_nonsymmetric(self, backend, kind, dtype):
        A = dominant(dtype=dtype, symmetric=False)
        B = backend.csr(A)
        b = backend.array(noise(50, 3, dtype=dtype))
        M = KINDS[kind](B)
        for operator in (M, M.T, M.H):
            x, info = bicgstab(B, b, M=operator)
            assert x.dtype == dtype and not info.any()
            assert (true_residuals(backend, A, b, x) <= 1.02e-5).all()

    @each_solver
    @pytest.mark.parametrize("of_system", graphs.quick(graphs.DTYPES))
    @pytest.mark.parametrize("of_M", graphs.quick(graphs.DTYPES))
    def test_types(self, backend, solver, of_system, of_M):
        """An M of another precision works; a complex M needs a complex system."""
        A = dominant(dtype=of_system, symmetric=solver in SYMMETRIC)
        B, b = backend.csr(A), backend.array(noise(50, dtype=of_system))
        if np.dtype(of_M).kind == "c" and np.dtype(of_system).kind == "f":
            return
        inverse = backend.array((1 / A.diagonal().real).astype(of_M))
        result = np.promote_types(of_M, np.complex64) if np.dtype(of_system).kind == "c" else of_M
        users, _ = users_operator(backend, 50, lambda x: (inverse * x).astype(result), dtype=of_M)
        ours = lf.jacobi(backend.csr(dominant(dtype=of_M, symmetric=solver in SYMMETRIC)))
        sparse = backend.csr(sp.csr_array(sp.diags_array(backend.host(inverse))))
        for M in (users, ours, sparse, backend.xp.diag(inverse)):
            x, info = SOLVERS[solver](B, b, M=M)
            assert info == 0 and x.dtype == of_system
            assert true_residuals(backend, A, b, x) <= 1.02e-5

    @each_solver
    def test_forms(self, backend, solver):
        A = grid(solver)
        B, b = backend.csr(A), backend.array(noise(400))
        sparse = sp.csr_array(sp.diags_array(1 / np.linspace(2, 4, 400)))
        device = backend.csr(sparse)
        forms = [device, device.tocsc(), device.toarray(), library(backend).aslinearoperator(device)]
        forms.append(users_operator(backend, 400, lambda x: device @ x)[0])
        answers = []
        for M in forms:
            x, info = SOLVERS[solver](B, b, M=M, rtol=1e-10)
            assert info == 0
            answers.append(backend.host(x))
        for x in answers[1:]:
            assert_close(x, answers[0], 1e-8)
        other = backend.host(SOLVERS[solver](B, b, rtol=1e-10, M=None, maxiter=3)[0])
        assert abs(other - answers[0]).max() > 1e-6

    @each_solver
    def test_users_functions_get_vectors(self, backend, solver):
        """As in SciPy: (n,) for one system, so that a diagonal times a vector is a vector."""
        diagonal = backend.array(np.linspace(1, 3, 50))
        A, products = users_operator(backend, 50, lambda x: diagonal * x)
        M, applied = users_operator(backend, 50, lambda x: x / diagonal)
        b = backend.array(np.ones(50))
        x, info = SOLVERS[solver](A, b, M=M)
        assert info == 0 and set(products) == set(applied) == {(50,)}
        assert_close(backend.host(x), 1 / np.linspace(1, 3, 50), 1e-4)
        assert SOLVERS[solver](A, b[:, None], M=M)[1] == 0

    @each_solver
    def test_operators_that_return_their_own_array(self, backend, solver):
        """They may return their argument, or the same buffer each time."""
        A = grid(solver)
        B, b = backend.csr(A), backend.array(noise(400))
        buffer = backend.xp.empty(400)

        def product(x):
            buffer[...] = B @ x
            return buffer

        wanted, _ = SOLVERS[solver](B, b, rtol=1e-9)
        same, _ = users_operator(backend, 400, lambda x: x)
        into, _ = users_operator(backend, 400, product)
        for options in ({"M": same}, {}):
            x, info = SOLVERS[solver](into, b, rtol=1e-9, **options)
            assert info == 0
            assert_close(backend.host(x), backend.host(wanted), 1e-7)

    @each_solver
    def test_operators_without_matmat(self, backend, solver):
        A, b = grid(solver), noise(400, 3)
        B = backend.csr(A)
        LinearOperator = library(backend).LinearOperator
        operator = LinearOperator((400, 400), matvec=lambda x: B @ x, dtype=np.float64)
        M = LinearOperator((400, 400), matvec=lambda x: x / 3, dtype=np.float64)
        x, info = SOLVERS[solver](operator, backend.array(b), M=M)
        assert not info.any() and (true_residuals(backend, A, b, x) <= 1e-5 * SLACK).all()

    def test_a_solver_inside(self, backend):
        """fcg with a few iterations of cg as M; the inner runs warn on their own."""
        A = lf.matrices.aniso(2, 40)
        B = backend.csr(A)
        M, applied = users_operator(backend, 1600, lambda r: cg(B, r, rtol=1e-1)[0])
        b = noise(1600)
        x, info = fcg(B, backend.array(b), rtol=1e-8, M=M)
        assert info == 0 and true_residuals(backend, A, b, x) <= 1e-8 * SLACK and len(applied) < 25


def changing_operator(backend, n):
    """Another diagonal in each call."""
    rng = np.random.default_rng(0)
    return users_operator(backend, n, lambda r: backend.array(rng.uniform(0.5, 2, n)) * r)[0]


class TestFlexible:
    def test_is_cg_with_a_fixed_operator(self, backend):
        A = lf.matrices.aniso(1, 40)
        B, b = backend.csr(A), backend.array(noise(1600, 2))
        for kind in (None, lf.jacobi, lf.tridiagonal, lf.block_tridiagonal):
            M = None if kind is None else kind(B)
            seen = []
            for solve in (cg, fcg):
                watch = Watch(backend)
                solve(B, b, M=M, rtol=1e-8, callback=watch)
                seen.append(watch.seen)
            one, other = seen
            assert abs(len(one) - len(other)) <= 1
            for x, y in zip(one, other):
                assert_close(x, y, 1e-8)

    def test_an_operator_that_changes(self, backend):
        A = lf.matrices.aniso(2, 30)
        B, b = backend.csr(A), noise(900)
        counts = {}
        for solve in (cg, fcg):
            rng = np.random.default_rng(0)
            M, _ = users_operator(
                backend, 900, lambda r, rng=rng: backend.array(rng.uniform(0.5, 2, 900)) * r
            )
            history = History()
            x, info, _ = recorded(solve, B, backend.array(b), rtol=1e-8, M=M, maxiter=1500, history=history)
            counts[solve] = iterations_of(history), info
        assert counts[fcg][1] == 0 and true_residuals(backend, A, b, x) <= 1e-8 * SLACK
        assert counts[cg][1] != 0 or counts[cg][0] > 1.5 * counts[fcg][0]


class TestInner:
    @pytest.mark.parametrize(("solver", "dtype"), each_type((np.float64, np.complex128)))
    @pytest.mark.parametrize("columns", [None, 2])
    @pytest.mark.parametrize("on_host", [False, True])
    def test_takes_the_place_of_sums(self, backend, solver, dtype, columns, on_host):
        A = dominant(dtype=dtype, symmetric=solver in SYMMETRIC)
        B, b = backend.csr(A), noise(*(50,) if columns is None else (50, columns), dtype=dtype)
        calls = 0

        def inner(u, v):
            nonlocal calls
            calls += 1
            assert isinstance(u, backend.xp.ndarray) and u.shape == v.shape == (50,)
            product = backend.xp.vdot(u, v)
            return product.item() if on_host else product

        M = lf.jacobi(B)
        runs = []
        for options in ({}, {"inner": inner}):
            watch, history = Watch(backend), History()
            x, info = SOLVERS[solver](
                B, backend.array(b), M=M, rtol=1e-9, callback=watch, history=history, **options
            )
            assert not np.any(info)
            runs.append((watch.seen, history))
        assert len(runs[0][0]) == len(runs[1][0])
        assert calls >= (4 if solver == "bicgstab" else 3) * len(runs[0][0])
        for one, other in zip(runs[0][0], runs[1][0]):
            assert_close(one, other, 1e-9)
        np.testing.assert_allclose(runs[0][1].residuals, runs[1][1].residuals, rtol=1e-4)

    @each_solver
    def test_rows_in_two_places(self, backend, solver):
        """Two ranks with half of the rows each; inner products are summed over both."""
        A, b = grid(solver, 8), noise(64)
        halves = [slice(0, 32), slice(32, 64)]
        wanted, _ = SOLVERS[solver](backend.csr(A), backend.array(b), rtol=1e-9)

        def inner(u, v):
            return sum(float(backend.xp.vdot(u[rows], v[rows])) for rows in halves)

        history = History(x_true=wanted)
        options = {"rtol": 1e-9, "inner": inner, "history": history}
        x, info = SOLVERS[solver](backend.csr(A), backend.array(b), **options)
        assert info == 0 and np.isfinite([history.residuals, history.errors]).all()
        assert_close(backend.host(x), backend.host(wanted), 1e-8)

    @each_solver
    def test_it_decides(self, backend, solver):
        """Inner products four times as large double all norms, that of b too; with atol that takes longer."""
        A, b = grid(solver), backend.array(noise(400))
        counts = []
        for factor in (1, 1e8):
            history = History()
            SOLVERS[solver](
                backend.csr(A), b, rtol=0, atol=1e-3, history=history,
                inner=lambda u, v, factor=factor: factor * backend.xp.vdot(u, v),
            )  # fmt: skip
            counts.append(iterations_of(history))
        assert counts[1] > counts[0] + 5
