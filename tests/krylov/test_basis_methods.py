"""gmres, fgmres, minres and idrs against dense least squares problems, SciPy, and their own promises.

The battery of all solvers (test_solvers.py and its neighbours) has them among the slow tests.
"""

import numpy as np
import pytest
import scipy.sparse as sp
import scipy.sparse.linalg
import strategies as graphs
from solver_cases import SLACK, Watch, iterations_of, noise, recorded, true_residuals, users_operator

import linforest_precond as lf
from linforest_precond.backends import backend_of
from linforest_precond.solvers import History, Status, fgmres, gmres, idrs, minres
from linforest_precond.solvers.idrs import shadow_vectors

WIND = lf.matrices.stencil((12, 12), [[0, -1, 0], [-2, 5, -1], [0, -1, 0]])
BOTH = pytest.mark.parametrize("solve", [gmres, fgmres])
GENERAL = pytest.mark.parametrize("solve", [gmres, fgmres, idrs])
ALL = pytest.mark.parametrize("solve", [gmres, fgmres, idrs, minres])
COMPLEX = graphs.quick([np.float64, np.complex128])


STRIDE = 0xD1342543DE82EF95


def mix64(z):
    """The finalizer of splitmix64."""
    z %= 2**64
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 % 2**64
    z = (z ^ z >> 27) * 0x94D049BB133111EB % 2**64
    return z ^ z >> 31


GOLDEN_HASH = mix64(0x9E3779B97F4A7C15)


def system(solve, dtype=np.float64, n=144):
    """A nonsymmetric matrix, or an indefinite Hermitian one for minres, and a right-hand side."""
    if solve is minres:
        A = (lf.matrices.poisson((12, 12)) - 0.7 * sp.eye_array(144)).astype(dtype)
        if np.dtype(dtype).kind == "c":
            A = A + sp.diags_array([np.full(143, 0.3j), np.full(143, -0.3j)], offsets=[1, -1])
    else:
        A = WIND.astype(dtype)
        if np.dtype(dtype).kind == "c":
            A = A + sp.diags_array(1j * np.linspace(0, 1, 144))
    return sp.csr_array(A.astype(dtype)), noise(n, dtype=dtype)


def saddle_point(n=40, m=12):
    """A symmetric indefinite matrix with a zero block on its diagonal."""
    B = noise(m, n, seed=3)
    return sp.csr_array(sp.block_array([[sp.diags_array(np.linspace(1, 4, n)), B.T], [B, None]]))


def least_residuals(A, b, count):
    """The norms of the residuals over Krylov spaces, by dense least squares problems."""
    basis, norms = [b / np.linalg.norm(b)], [np.linalg.norm(b)]
    for _ in range(count):
        images = np.stack([A @ v for v in basis], axis=1)
        y = np.linalg.lstsq(images, b, rcond=None)[0]
        norms.append(np.linalg.norm(b - images @ y))
        new = np.linalg.qr(np.column_stack([*basis, A @ basis[-1]]))[0][:, -1]
        basis.append(new)
    return np.array(norms) / np.linalg.norm(b)


class TestOptimality:
    @pytest.mark.parametrize("dtype", COMPLEX)
    @pytest.mark.parametrize("solve", [gmres, fgmres, minres])
    def test_least_squares(self, backend, solve, dtype):
        A, b = system(solve, dtype)
        history = History()
        solve(backend.csr(A), backend.array(b), rtol=1e-14, maxiter=25, history=history)
        np.testing.assert_allclose(history.residuals, least_residuals(A, b, 25), rtol=1e-9)

    @pytest.mark.parametrize("dtype", COMPLEX)
    def test_right_preconditioning(self, backend, dtype):
        """The residuals are the least ones over the Krylov space of A M."""
        A, b = system(gmres, dtype)
        M = sp.csr_array(sp.diags_array(1 / (4 + np.arange(144) % 3)))
        history = History()
        gmres(backend.csr(A), backend.array(b), M=backend.csr(M), rtol=1e-14, maxiter=25, history=history)
        np.testing.assert_allclose(history.residuals, least_residuals(A @ M, b, 25), rtol=1e-9)

    def test_scipys_gmres(self, backend):
        A, b = system(gmres)
        history, theirs = History(), []
        gmres(backend.csr(A), backend.array(b), restart=8, maxiter=40, rtol=1e-14, history=history)
        scipy.sparse.linalg.gmres(
            A, b, restart=8, maxiter=5, rtol=1e-14, callback=theirs.append, callback_type="pr_norm"
        )
        np.testing.assert_allclose(history.residuals[1:], theirs, rtol=1e-9)

    @pytest.mark.parametrize("kind", ["x", "pr_norm", "legacy"])
    def test_scipys_callback_types(self, backend, kind):
        """Called as often as SciPy's, with the same numbers; `maxiter` counts iterations in all cases."""
        A, b = system(gmres)
        ours, theirs = [], []
        gmres(
            backend.csr(A), backend.array(b), restart=8, maxiter=40, rtol=1e-14, callback_type=kind,
            callback=lambda seen: ours.append(backend.host(seen).copy() if kind == "x" else seen),
        )  # fmt: skip
        scipy.sparse.linalg.gmres(
            A, b, restart=8, maxiter=40 if kind == "legacy" else 5, rtol=1e-14, callback_type=kind,
            callback=lambda seen: theirs.append(np.copy(seen)),
        )  # fmt: skip
        assert len(ours) == len(theirs) and (kind == "x" or all(isinstance(each, float) for each in ours))
        np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-12)

    @pytest.mark.parametrize("preconditioned", [False, True])
    def test_scipys_minres(self, backend, preconditioned):
        A, b = system(minres)
        M = sp.csr_array(sp.diags_array(1 / (4 + np.arange(144) % 3))) if preconditioned else None
        watch, theirs = Watch(backend), []
        minres(
            backend.csr(A), backend.array(b), M=backend.csr(M) if preconditioned else None, rtol=1e-14,
            maxiter=20, callback=watch,
        )  # fmt: skip
        scipy.sparse.linalg.minres(
            A, b, M=M, rtol=1e-14, maxiter=20, callback=lambda x: theirs.append(x.copy())
        )
        for ours, wanted in zip(watch.seen, theirs, strict=True):
            np.testing.assert_allclose(ours, wanted, atol=1e-10 * abs(wanted).max())

    @BOTH
    def test_a_long_cycle_is_one_cycle(self, backend, solve):
        A, b = system(solve)
        runs = []
        for restart in (144, 1000):
            history = History()
            x, info = solve(backend.csr(A), backend.array(b), restart=restart, rtol=1e-11, history=history)
            assert info == 0
            runs.append((backend.host(x), history.residuals))
        for one, other in zip(*runs):
            np.testing.assert_array_equal(one, other)

    def test_cycles_of_one_step(self, backend):
        """GMRES(1) minimizes along the residual."""
        A, b = system(gmres)
        x, r, history = np.zeros(144), b, History()
        for _ in range(6):
            q = A @ r
            step = (q @ r) / (q @ q)
            x, r = x + step * r, r - step * q
        y, info = gmres(backend.csr(A), backend.array(b), restart=1, maxiter=6, history=history)
        assert info == 6
        np.testing.assert_allclose(backend.host(y), x, rtol=1e-10, atol=1e-13)
        assert history.residuals[-1] == pytest.approx(np.linalg.norm(r) / np.linalg.norm(b), rel=1e-10)


class TestAnswers:
    @ALL
    @pytest.mark.parametrize("dtype", graphs.quick([np.float64, np.float32, np.complex64, np.complex128]))
    def test_columns_as_one_by_one(self, backend, solve, dtype):
        single = np.dtype(dtype).char in "fF"
        A, _ = system(solve, dtype)
        b = noise(144, 3, dtype=dtype)
        b[:, 1] = 0
        B, rtol = backend.csr(A), 1e-4 if single else 1e-9
        x, info = solve(B, backend.array(b), rtol=rtol)
        assert x.dtype == dtype and not info.any() and not backend.host(x)[:, 1].any()
        for c in (0, 2):
            y, _ = solve(B, backend.array(b[:, c]), rtol=rtol)
            assert true_residuals(backend, A, b[:, c], backend.host(x)[:, c]) <= rtol * 1.02
            np.testing.assert_allclose(
                backend.host(x)[:, c], backend.host(y), atol=100 * rtol * abs(backend.host(y)).max()
            )

    @ALL
    def test_the_callback_sees_each_iterate(self, backend, solve):
        A, b = system(solve)
        x_t = np.linalg.solve(A.toarray(), b)
        history, watch = History(backend.array(x_t)), Watch(backend)
        options = {} if solve in (idrs, minres) else {"restart": 7}
        M = None if solve is minres else lf.jacobi(backend.csr(A))
        x, info = solve(
            backend.csr(A), backend.array(b), rtol=1e-9, M=M, history=history, callback=watch, **options
        )
        assert info == 0 and len(watch.seen) == iterations_of(history)
        np.testing.assert_array_equal(watch.seen[-1], backend.host(x))
        for seen, residual, error in zip(watch.seen, history.residuals[1:], history.errors[1:]):
            assert np.linalg.norm(b - A @ seen) / np.linalg.norm(b) == pytest.approx(residual, rel=1e-6)
            assert np.linalg.norm(seen - x_t) / np.linalg.norm(x_t) == pytest.approx(error, rel=1e-6)
        plain, _ = solve(backend.csr(A), backend.array(b), rtol=1e-9, M=M, **options)
        np.testing.assert_array_equal(backend.host(plain), backend.host(x))

    @BOTH
    @pytest.mark.parametrize("columns", [None, 3])
    def test_the_callback_sees_cycles_or_norms(self, backend, solve, columns):
        """x is that of the whole system, whatever its order and scale; norms are those of the history."""
        A = sp.csr_array(1e-290 * system(solve)[0])
        b = noise(*(144,) if columns is None else (144, columns)) * 1e-290
        given = backend.csr(A), backend.array(b)
        history, cycles, norms = History(), Watch(backend), []
        options = {"restart": 7, "rtol": 1e-9, "M": lf.tridiagonal(given[0]), "reorder": True}
        x, _ = solve(*given, callback=cycles, callback_type="x", **options)
        solve(*given, callback=norms.append, callback_type="pr_norm", history=history, **options)
        np.testing.assert_array_equal(cycles.seen[-1], backend.host(x))
        assert len(cycles.seen) == -(-len(norms) // 7)
        known = np.where(np.isnan(history.residuals[1:]), norms, history.residuals[1:])
        np.testing.assert_array_equal(norms, known)

    def test_a_preconditioner_that_changes(self, backend):
        """fgmres converges, because it keeps the preconditioned vectors."""
        A, b = system(fgmres)
        B, calls = backend.csr(A), 0

        def changing(r):
            nonlocal calls
            calls += 1
            return r * (1 + backend.xp.cos(backend.xp.arange(144) * calls) / 2) / 5

        M, _ = users_operator(backend, 144, changing)
        x, info = fgmres(B, backend.array(b), rtol=1e-9, M=M)
        assert info == 0 and true_residuals(backend, A, b, x) <= 1e-9 * SLACK

    def test_a_saddle_point(self, backend):
        A = saddle_point()
        b = noise(52)
        diagonal = np.r_[1 / np.linspace(1, 4, 40), np.full(12, 0.1)]
        M = backend.csr(sp.csr_array(sp.diags_array(diagonal)))
        for options in ({}, {"M": M}):
            x, info = minres(backend.csr(A), backend.array(b), rtol=1e-9, **options)
            assert info == 0 and true_residuals(backend, A, b, x) <= 1e-9 * SLACK

    @GENERAL
    def test_skew_symmetric(self, backend, solve):
        """bicgstab breaks down here."""
        A = noise(30, 30)
        A, b = A - A.T, noise(30, seed=1)
        x, info = solve(backend.array(A), backend.array(b), rtol=1e-8)
        assert info == 0 and true_residuals(backend, A, b, x) <= 1e-8 * SLACK

    @pytest.mark.parametrize("s", [1, 2, 8, 64])
    def test_shadow_vectors(self, backend, s):
        A, b = system(idrs)
        x, info = idrs(backend.csr(A), backend.array(b), s=s, rtol=1e-9)
        assert info == 0 and true_residuals(backend, A, b, x) <= 1e-9 * SLACK

    @pytest.mark.parametrize("n", [1, 3, 50])
    def test_shadow_vectors_are_orthonormal(self, backend, n):
        P = backend.host(shadow_vectors(backend_of(backend.csr(sp.csr_array(np.eye(n)))), n, 4))
        assert P.shape == (min(n, 4), n)
        np.testing.assert_allclose(P @ P.T, np.eye(min(n, 4)), atol=1e-12)
        row = np.array([(mix64(GOLDEN_HASH + v * STRIDE) >> 11) / 2.0**52 - 1 for v in range(n)])
        np.testing.assert_allclose(P[0], row / np.linalg.norm(row), rtol=1e-9)  # the same on every backend


class TestBreakdowns:
    @ALL
    def test_zero_and_solved(self, backend, solve):
        A, b = system(solve)
        x, info = solve(backend.csr(A), backend.array(np.zeros(144)), backend.array(b))
        assert info == 0 and not backend.host(x).any()
        x, info = solve(backend.csr(A), backend.array(A @ b), backend.array(b))
        assert info == 0
        np.testing.assert_array_equal(backend.host(x), b)

    @GENERAL
    def test_an_invariant_space(self, backend, solve):
        """Happy breakdown: b is an eigenvector, or a sum of two."""
        A = sp.csr_array(np.diag(np.arange(1.0, 21)))
        for b, steps in ((np.eye(20)[3], 1), (np.eye(20)[3] + np.eye(20)[7], 2)):
            history = History()
            x, info = solve(backend.csr(A), backend.array(b), rtol=1e-12, history=history)
            assert info == 0 and iterations_of(history) <= steps + 2 * (solve is idrs)
            np.testing.assert_allclose(backend.host(x), b / np.arange(1.0, 21), atol=1e-12)

    @BOTH
    def test_singular_without_a_solution(self, backend, solve):
        x, info, told = recorded(solve, backend.array(np.diag([1.0, 0])), backend.array(np.ones(2)))
        assert info == Status.SINGULAR and len(told) == 1
        assert np.isfinite(backend.host(x)).all()

    def test_singular_for_minres(self, backend):
        """A consistent system is solved; else x is a least squares solution."""
        A = lf.matrices.poisson((8, 8))
        A.setdiag(A.diagonal() - A.sum(axis=1))
        b = A @ noise(64)
        x, info = minres(backend.csr(A), backend.array(b), rtol=1e-10)
        assert info == 0 and true_residuals(backend, A, b, x) <= 1e-10 * SLACK
        x, info, told = recorded(minres, backend.csr(A), backend.array(b + 1), rtol=1e-10)
        assert info == Status.SINGULAR and len(told) == 1
        r = b + 1 - A @ backend.host(x)
        assert np.linalg.norm(A @ r) <= 1e-6 * np.linalg.norm(r)

    @ALL
    @pytest.mark.parametrize("bad", [np.nan, np.inf])
    def test_products_that_are_not_finite(self, backend, solve, bad):
        A, b = system(solve)

        def turning(r):
            y = r.copy()
            y[3] = bad
            return y

        M, _ = users_operator(backend, 144, turning)
        x, info, told = recorded(solve, backend.csr(A), backend.array(b), M=M)
        assert info == Status.NONFINITE and len(told) == 1
        assert np.isfinite(backend.host(x)).all()

    def test_minres_needs_a_definite_preconditioner(self, backend):
        A, b = system(minres)
        M = backend.csr(sp.csr_array(-1.0 * sp.eye_array(144)))
        _, info, told = recorded(minres, backend.csr(A), backend.array(b), M=M)
        assert info == Status.INDEFINITE and len(told) == 1

    @ALL
    def test_few_iterations(self, backend, solve):
        A, b = system(solve)
        x0 = noise(144, seed=1)
        x, info = solve(backend.csr(A), backend.array(b), backend.array(x0), maxiter=0)
        assert info == 1
        np.testing.assert_array_equal(backend.host(x), x0)
        history = History()
        x, info = solve(backend.csr(A), backend.array(b), maxiter=1, history=history)
        assert info == 1 and iterations_of(history) == 1
        assert true_residuals(backend, A, b, x) == pytest.approx(history.residuals[-1], rel=1e-10)

    @ALL
    def test_a_tolerance_out_of_reach(self, backend, solve):
        A, b = system(solve)
        x, info, told = recorded(solve, backend.csr(A), backend.array(b), rtol=1e-30)
        assert info == Status.UNATTAINABLE and len(told) == 1
        assert true_residuals(backend, A, b, x) <= 1e-12


def test_arguments(backend):
    A, b = system(gmres)
    A, b = backend.csr(A), backend.array(b)
    for wrong in (0, -3):
        with pytest.raises(ValueError, match="restart"):
            gmres(A, b, restart=wrong)
    with pytest.raises(TypeError, match="restart"):
        fgmres(A, b, restart=2.5)
    with pytest.raises(ValueError, match='callback_type must be "x", "pr_norm" or "legacy", got \'y\''):
        gmres(A, b, callback=print, callback_type="y")
    for wrong in (0, 65):
        with pytest.raises(ValueError, match="s must be from 1 to 64"):
            idrs(A, b, s=wrong)
    with pytest.raises(TypeError, match="s must be an integer"):
        idrs(A, b, s="4")
    with pytest.raises(TypeError, match="history"):
        minres(A, b, history=[])


@pytest.mark.slow
@pytest.mark.parametrize("accel", ["gmres", "fgmres", "idrs", "minres"])
def test_multilevel_takes_them(backend, accel):
    A = lf.matrices.poisson((20, 20))
    x = lf.multilevel(backend.csr(A), max_coarse=20).solve(backend.array(np.ones(400)), tol=1e-8, accel=accel)
    assert np.linalg.norm(A @ backend.host(x) - 1) <= 1e-8 * 20 * SLACK


@GENERAL
def test_a_users_inner_product_takes_the_place_of_sums(backend, solve):
    A, b = system(solve)
    given = backend.csr(A), backend.array(b)
    wanted, _ = solve(*given, rtol=1e-10)
    x, info = solve(*given, rtol=1e-10, inner=lambda u, v: backend.xp.vdot(u, v))
    assert info == 0
    np.testing.assert_allclose(backend.host(x), backend.host(wanted), rtol=1e-7, atol=1e-7)
