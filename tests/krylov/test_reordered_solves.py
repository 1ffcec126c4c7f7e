"""Solvers with reorder=True: they iterate in the order of M, and callers see A's own order everywhere."""

import numpy as np
import pytest
import scipy.sparse as sp
import scipy.sparse.linalg
import strategies as graphs
from solver_cases import (
    SLACK,
    SOLVERS,
    Watch,
    each_solver,
    each_type,
    grid,
    iterations_of,
    noise,
    true_residuals,
)
from test_solver_users import neumann

import linforest_precond as lf
from linforest_precond.solvers import History, Interrupted, cg

RTOL = {4: 1e-4, 8: 1e-8}


def solved(backend, solver, A, b, *, M=None, **options):
    """x, info and the history of a solve."""
    B, options = backend.csr(A), {"rtol": 1e-8, "history": History(), **options}
    M = lf.tridiagonal(B) if M is None else M
    x, info = SOLVERS[solver](B, backend.array(b), M=M, **options)
    return backend.host(x), info, options["history"]


def assert_alike(found, expected, allowed):
    np.testing.assert_allclose(found, expected, rtol=0, atol=allowed * abs(expected).max())


def hermitian(A, dtype):
    """The matrix with complex couplings, Hermitian where it was symmetric."""
    if np.dtype(dtype).kind != "c":
        return A
    phases = sp.diags_array(np.exp(1j * np.arange(A.shape[0])))
    return sp.csr_array(phases.conj() @ A @ phases)


@pytest.mark.parametrize("solver, types", each_type(graphs.TYPES))
def test_same_iterations_and_solution(backend, solver, types):
    dtype, index = types
    A = graphs.with_types(hermitian(grid(solver), dtype), dtype, index)
    b, rtol = noise(400, dtype=dtype), RTOL[np.finfo(dtype).bits // 8]
    plain, reordered = (solved(backend, solver, A, b, reorder=each, rtol=rtol) for each in (False, True))
    assert reordered[1] == plain[1] == 0 and reordered[0].dtype == plain[0].dtype
    assert abs(iterations_of(reordered[2]) - iterations_of(plain[2])) <= 1
    assert true_residuals(backend, A, b, reordered[0]) <= rtol * SLACK
    assert_alike(reordered[0], plain[0], 100 * rtol)


@each_solver
def test_the_given_order_of_the_rows_gives_the_same_bits(backend, solver):
    """A is permuted, by the identity."""
    A, b, x0 = grid(solver), noise(400), noise(400, seed=1)
    M = lf.tridiagonal(backend.csr(A), np.arange(400))
    options = {"M": M, "x0": backend.array(x0)}
    plain, reordered = (solved(backend, solver, A, b, reorder=each, **options) for each in (False, True))
    np.testing.assert_array_equal(reordered[0], plain[0])
    np.testing.assert_array_equal(reordered[2].residuals, plain[2].residuals)


@each_solver
def test_as_the_permuted_system(backend, solver):
    """Of small integers: the first residuals are exact in every order."""
    A, order = grid(solver), np.random.default_rng(5).permutation(400)
    A.data = np.rint(10 * A.data)
    b, x0 = np.random.default_rng(6).integers(-4, 5, (2, 400)).astype(float)
    B = lf.permute(A, order)
    options = {"M": lf.tridiagonal(backend.csr(A), order), "reorder": True, "x0": backend.array(x0)}
    x, _, history = solved(backend, solver, A, b, **options)
    options = {"M": lf.tridiagonal(backend.csr(B), "original"), "x0": backend.array(x0[order])}
    y, _, expected = solved(backend, solver, B, b[order], reorder=False, **options)
    assert history.residuals[0] == expected.residuals[0]
    if solver != "idrs":  # its shadow vectors keep the order of A
        np.testing.assert_allclose(history.residuals[:5], expected.residuals[:5], rtol=1e-8)
        assert abs(iterations_of(history) - iterations_of(expected)) <= 1
    assert_alike(x[order], y, 1e-6)


@each_solver
def test_all_that_callers_see_is_in_the_order_of_a(backend, solver):
    A, x_true = grid(solver), noise(400)
    seen, histories = [], []
    for reorder in (False, True):
        watch, history = Watch(backend), History(x_true=backend.array(x_true))
        options = {"history": history, "callback": watch, "x0": backend.array(noise(400, seed=1))}
        x, info, _ = solved(backend, solver, A, A @ x_true, reorder=reorder, **options)
        assert info == 0
        assert_alike(x, x_true, 1e-6)
        seen.append(watch.seen)
        histories.append(history)
    plain, reordered = histories
    for one, other in list(zip(*seen, strict=False))[:10]:
        assert_alike(other, one, 1e-7)
    np.testing.assert_allclose(reordered.errors[:10], plain.errors[:10], rtol=1e-7)
    np.testing.assert_allclose(reordered.residuals[:10], plain.residuals[:10], rtol=1e-7)


@each_solver
def test_several_columns(backend, solver):
    A, b, x0 = grid(solver), noise(400, 3), noise(400, 3, seed=1)
    b[:, 1] = 0
    plain, reordered = (
        solved(backend, solver, A, b, reorder=each, x0=backend.array(x0)) for each in (False, True)
    )
    assert not reordered[1].any() and reordered[0].shape == (400, 3) and not reordered[0][:, 1].any()
    assert_alike(reordered[0], plain[0], 1e-6)


def test_ctrl_c_gives_the_iterate_in_the_order_of_a(backend):
    A, b = grid("cg"), noise(400)
    found = []
    for reorder in (False, True):

        def stop(x):
            raise KeyboardInterrupt

        with pytest.raises(Interrupted) as stopped:
            solved(backend, "cg", A, b, reorder=reorder, callback=stop)
        found.append(backend.host(stopped.value.x))
    assert_alike(found[1], found[0], 1e-12)


def test_null_spaces(backend):
    """Of two components: their basis is not the same in every order."""
    A = sp.csr_array(sp.block_diag([neumann(8), 3 * neumann(8)]))
    basis, b = np.kron(np.eye(2), np.ones((64, 1))), noise(128)
    M = lf.tridiagonal(backend.csr(sp.csr_array(A + sp.eye_array(128))))
    x, info, _ = solved(backend, "cg", A, b, reorder=True, M=M, nullspace=backend.array(basis))
    assert info == 0 and abs(basis.T @ x).max() < 1e-10
    assert_alike(x, np.linalg.lstsq(A.toarray(), b, rcond=1e-10)[0], 1e-6)


def test_systems_at_the_edge_of_the_number_range(backend):
    A, b = grid("cg") * 2.0**900, noise(400) * 2.0**800
    plain, reordered = (solved(backend, "cg", A, b, reorder=each) for each in (False, True))
    assert reordered[1] == 0 and reordered[0].any()
    assert_alike(reordered[0], plain[0], 1e-6)


def test_an_order_with_other_index_types(backend):
    """M was made from a matrix with 32-bit indices, and A has 64-bit ones."""
    A, b = grid("cg"), noise(400)
    M = lf.tridiagonal(backend.csr(A))
    x, info, _ = solved(backend, "cg", graphs.with_types(A, index_dtype=np.int64), b, reorder=True, M=M)
    assert info == 0 and true_residuals(backend, A, b, x) <= 1e-8 * SLACK


def test_the_order_of_a_changes_nothing(backend):
    A, b = grid("cg"), noise(400)
    M = lf.tridiagonal(backend.csr(A), "original")
    plain, reordered = (solved(backend, "cg", A, b, reorder=each, M=M) for each in (False, True))
    np.testing.assert_array_equal(reordered[0], plain[0])
    np.testing.assert_array_equal(reordered[2].residuals, plain[2].residuals)


def test_nothing_of_the_caller_is_changed(backend):
    A, b, x0 = grid("bicgstab"), noise(400), noise(400, seed=1)
    B, c, y = backend.csr(A.copy()), backend.array(b.copy()), backend.array(x0.copy())
    SOLVERS["bicgstab"](B, c, y, M=lf.tridiagonal(B), reorder=True)
    for after, before in ((c, b), (y, x0), (B.data, A.data), (B.indices, A.indices), (B.indptr, A.indptr)):
        np.testing.assert_array_equal(backend.host(after), before)


@pytest.mark.parametrize("n", [0, 1])
def test_tiny_systems(backend, n):
    A = backend.csr(sp.csr_array(2 * np.eye(n)))
    x, info = cg(A, backend.xp.ones(n), M=lf.tridiagonal(A), reorder=True)
    assert info == 0 and backend.host(x).tolist() == [0.5] * n


class TestErrors:
    A = grid("cg")

    def refused(self, kind, words, A=A, **options):
        with pytest.raises(kind, match=words):
            cg(A, np.ones(400), reorder=True, **options)

    def test_without_a_preconditioner(self):
        self.refused(TypeError, "needs an M with an order of its rows: pass lf.tridiagonal.*got None")

    def test_with_the_preconditioner_of_a_user(self):
        M = scipy.sparse.linalg.LinearOperator((400, 400), matvec=lambda r: r, dtype=float)
        self.refused(TypeError, "needs an M with an order of its rows.*LinearOperator", M=M)

    def test_with_other_kinds(self):
        for M in (lf.jacobi(self.A), lf.block_tridiagonal(self.A), lf.tridiagonal(self.A).permuted):
            self.refused(TypeError, f"needs an operator of lf.tridiagonal.*{M.kind}", M=M)

    def test_with_a_dense_array_or_an_operator(self):
        M = lf.tridiagonal(self.A)
        self.refused(TypeError, "needs a sparse matrix A, got a numpy.ndarray", A=self.A.toarray(), M=M)
        operator = scipy.sparse.linalg.aslinearoperator(self.A)
        self.refused(TypeError, "needs a sparse matrix A, got a .*Operator", A=operator, M=M)

    def test_with_an_inner_product(self):
        self.refused(ValueError, "reorder must be False where inner", M=lf.tridiagonal(self.A), inner=np.vdot)

    def test_of_another_type(self):
        with pytest.raises(TypeError, match="reorder must be True or False, got 'rcm'"):
            cg(self.A, np.ones(400), reorder="rcm")
