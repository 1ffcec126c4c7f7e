"""Verified residuals, and every status of the solvers, provoked by a matrix."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
import scipy.sparse.linalg
import strategies as graphs
from solver_cases import (
    DEFINITE,
    QUICK,
    SLACK,
    SOLVERS,
    SYMMETRIC,
    Watch,
    each_definite_solver,
    each_solver,
    grid,
    iterations_of,
    library,
    noise,
    recorded,
    true_residuals,
    users_operator,
)

import linforest_precond as lf
from linforest_precond.solvers import History, Status, bicgstab, cg
from linforest_precond.solvers.bicgstab import Bicgstab
from linforest_precond.solvers.driver import Run
from linforest_precond.solvers.problem import checked_problem

CYCLIC = "gmres", "fgmres"  # they compute b - A x after each cycle


class TestTrueResiduals:
    @each_solver
    @pytest.mark.parametrize(
        ("dtype", "far", "rtol"), graphs.quick([(np.float64, 1e8, 1e-10), (np.float32, 3e3, 2e-6)])
    )
    def test_a_far_start_makes_the_recursion_drift(self, backend, solver, dtype, far, rtol):
        A = graphs.with_types(grid(solver), dtype)
        b = (A @ noise(400)).astype(dtype)
        x0 = (far * noise(400, seed=1)).astype(dtype)
        history = History()
        x, info = SOLVERS[solver](
            backend.csr(A), backend.array(b), backend.array(x0), rtol=rtol, history=history
        )
        assert info == 0 and history.status is Status.CONVERGED
        assert history.replacements or solver in CYCLIC
        assert true_residuals(backend, A, b, x) <= rtol * (1.05 if dtype is np.float32 else SLACK)
        checks = {iteration: norm for iteration, _, norm in history.true_residuals}
        for iteration, column in history.replacements:
            assert column == 0 and checks[iteration] > rtol
            near = (history.iterations > iteration - 1) & (history.iterations <= iteration)
            assert history.residuals[near].min() <= rtol
        assert history.true_residuals[-1][2] <= rtol
        assert history.true_residuals[-1][0] == iterations_of(history)
        assert (np.diff(history.iterations) >= 0).all()
        assert f"replacements      {len(history.replacements)}" in str(history)

    @each_solver
    def test_only_those_that_drift_are_replaced(self, backend, solver):
        A = grid(solver)
        b = A @ noise(400, 3)
        x0 = np.zeros((400, 3))
        x0[:, 1] = 1e8 * noise(400, seed=1)
        history, watch = History(), Watch(backend)
        x, info = SOLVERS[solver](
            backend.csr(A),
            backend.array(b),
            backend.array(x0),
            rtol=1e-10,
            history=history,
            callback=watch,
        )
        assert not info.any() and (true_residuals(backend, A, b, x) <= 1e-10 * SLACK).all()
        assert {column for _, column in history.replacements} == (set() if solver in CYCLIC else {1})
        alone = History()
        SOLVERS[solver](backend.csr(A), backend.array(b[:, 0]), rtol=1e-10, history=alone)
        assert abs(iterations_of(history, 0) - iterations_of(alone)) <= 1
        for c in range(3):
            checks = [found for found in history.true_residuals if found[0] > 0 and found[1] == c]
            assert len(checks) == 1 + sum(column == c for _, column in history.replacements)
        np.testing.assert_array_equal(watch.seen[-1], backend.host(x))

    def one_that_goes_on_alone(self, backend, solver):
        """The residual of an easy column drifts, and it restarts after a hard column has converged."""
        A = sp.csr_array(sp.block_diag([lf.matrices.aniso(2, 20), 3 * sp.eye_array(4), [[2.0]]]))
        b, x0 = np.zeros((405, 2)), np.zeros((405, 2))
        b[:, 0] = noise(405)
        b[400:, 1] = 1
        x0[400:, 1] = 1e8 * np.pi
        history, watch = History(), Watch(backend)
        x, info = SOLVERS[solver](
            backend.csr(A), backend.array(b), backend.array(x0), rtol=1e-13, history=history, callback=watch
        )
        assert not info.any() and (true_residuals(backend, A, b, x) <= 1e-13 * 1.01).all()
        assert {column for _, column in history.replacements} >= {1}
        return backend.host(x), history, watch.seen

    @each_solver
    def test_the_callback_follows_one_that_goes_on_alone(self, backend, solver):
        x, _, seen = self.one_that_goes_on_alone(backend, solver)
        np.testing.assert_array_equal(seen[-1], x)
        for one, other in zip(seen, seen[1:]):
            assert (one != other).any()

    @each_solver
    def test_the_history_follows_one_that_goes_on_alone(self, backend, solver):
        """Records and checks count its iterations alike."""
        _, history, _ = self.one_that_goes_on_alone(backend, solver)
        for c in range(2):
            checks = [iteration for iteration, column, _ in history.true_residuals if column == c]
            assert checks[-1] == iterations_of(history, c)

    def test_a_breakdown_is_overcome(self, backend):
        """rho vanishes after one iteration; a restart from that residual converges."""
        A = np.array([[1.0, 0, 0], [1, 1, 0], [0, 1, 1]])
        b, history = np.array([1.0, 0, 0]), History()
        assert scipy.sparse.linalg.bicgstab(A, b)[1] != 0
        x, info, told = recorded(bicgstab, backend.array(A), backend.array(b), history=history)
        assert info == 0 and not told
        np.testing.assert_allclose(backend.host(x), [1, -1, 1], rtol=1e-4)
        assert (1.0, 0) in history.replacements

    def test_a_breakdown_at_the_start(self, backend):
        """r is orthogonal to A r: a breakdown in the first iteration, which keeps x0."""
        A, b, x0 = np.diag([1.0, -1]), np.array([1, 0.5]), np.array([0, 0.5])
        history = History()
        recorded(bicgstab, backend.array(A), backend.array(b), backend.array(x0), history=history)
        first = np.linalg.norm(b - A @ x0) / np.linalg.norm(b)
        starts = history.residuals[history.iterations == 0]
        np.testing.assert_allclose(starts, np.full(len(starts), first), rtol=1e-12)

    @each_solver
    def test_is_computed_once_where_it_is_met(self, backend, solver):
        A, b = grid(solver), noise(400)
        history = History()
        SOLVERS[solver](backend.csr(A), backend.array(b), rtol=1e-8, history=history)
        assert not history.replacements
        ends = [found for found in history.true_residuals if found[0] > 0]
        assert len(ends) == 1
        iteration, column, norm = ends[0]
        assert (iteration, column) == (iterations_of(history), 0)
        assert norm == pytest.approx(history.residuals[-1], rel=1e-4)

    @each_solver
    @pytest.mark.parametrize("rtol", graphs.quick([1e-13, 1e-9, 1e-5]))
    def test_whatever_the_matrix(self, backend, solver, rtol):
        """info 0 means a small true residual; otherwise there is a status, and x stays finite."""
        outcomes = set()
        for seed in range(25):
            rng = np.random.default_rng(seed)
            A, b = rng.standard_normal((30, 30)), rng.standard_normal(30)
            scales = 10.0 ** (rng.uniform(-1, 1, 30) * (seed % 5))
            A = scales[:, None] * (A @ A.T if solver in SYMMETRIC else A) * scales
            x, info, told = recorded(SOLVERS[solver], backend.array(A), backend.array(b), rtol=rtol)
            outcomes.add(Status.from_info(info))
            assert len(told) == (info < 0)
            assert np.isfinite(backend.host(x)).all()
            size = np.linalg.norm(b)
            if info <= 0:  # a failed run is no worse than x = 0
                rounding = 1e-15 * np.linalg.norm(abs(A) @ abs(backend.host(x)))
                most = rtol * size if info == 0 else 1.001 * size
                assert np.linalg.norm(b - A @ backend.host(x)) <= most + 30 * rounding
        assert Status.CONVERGED in outcomes

    @each_solver
    def test_a_failed_run_is_no_worse_than_its_start(self, backend, solver):
        """Skew-symmetric, zero and badly scaled rows make every method fail in some way."""
        for seed in range(60):
            rng = np.random.default_rng(seed)
            n = int(rng.integers(2, 30))
            A = rng.standard_normal((n, n)) * 10.0 ** (rng.uniform(-4, 4, (n, 1)) * (seed % 3))
            A = A - A.T if seed % 4 == 0 else A
            A[rng.integers(n)] *= seed % 5
            b, start = rng.standard_normal(n), rng.standard_normal(n) * (seed % 2)
            x, info, _ = recorded(
                SOLVERS[solver], backend.array(A), backend.array(b), backend.array(start), rtol=1e-10
            )
            if info < 0:
                size = np.linalg.norm(b - A @ start)
                assert np.linalg.norm(b - A @ backend.host(x)) <= 1.001 * size, (seed, info)


# What provokes each status: solver, A, b and options; the arrays among the options are put on the device.
SMALL = 1e-30
PROVOKED = {
    "rho": (Status.RHO, ["bicgstab"], [[1, 2, -2], [-1, 0, -1], [-1, 2, -2]], [1, 0, 0], {}),
    "alpha": (Status.OMEGA, ["bicgstab"], [[0, 1], [-1, 0]], [1, 0], {}),
    "omega": (Status.OMEGA, ["bicgstab"], [[1, 1], [1, 0]], [1, 0], {}),
    "negative": (Status.INDEFINITE, DEFINITE, [[1, 0], [0, -1]], [1, 2], {}),
    "later negative": (Status.INDEFINITE, DEFINITE, [[1, 0], [0, -0.25]], [2, 1], {}),
    "singular": (Status.INDEFINITE, DEFINITE, [[1, 1], [1, 1]], [1, -1], {}),
    "negative M": (Status.INDEFINITE, SYMMETRIC, [[2, 1], [1, 2]], [1, 2], {"M": [[1, 0], [0, -1]]}),
    "M = 0": (Status.INDEFINITE, SYMMETRIC, [[2, 1], [1, 2]], [1, 2], {"M": [[0, 0], [0, 0]]}),
    "far": (Status.DIVERGED, DEFINITE, [[SMALL, 1], [-1, 1]], [1, 0], {}),
    "far bicgstab": (Status.DIVERGED, ["bicgstab"], [[SMALL, 1], [1, 0.5]], [1, 0], {}),
    "x overflows": (Status.NONFINITE, SOLVERS, [[1e-300, 0], [0, 1e-300]], [1e300, 1e300], {}),
    "M overflows": (Status.NONFINITE, SOLVERS, [[2, 1], [1, 2]], [1e10, 1], {"M": [[1e300, 0], [0, 1]]}),
    "M is not finite": (Status.NONFINITE, SOLVERS, [[2, 1], [1, 2]], [1, 2], {"M": [[np.inf, 0], [0, 1]]}),
}
BREAKDOWNS = [
    (case, solver) if solver in QUICK else graphs.slow(case, solver)
    for case, (_, solvers, *_) in PROVOKED.items()
    for solver in solvers
]


def provoked(backend, case, dtype):
    status, _, A, b, options = PROVOKED[case]
    options = {name: backend.array(np.array(value, dtype)) for name, value in options.items()}
    return status, np.array(A, dtype), np.array(b, dtype), options


def assert_told(told, *statuses):
    """One warning, at the line of the call, with the advice of all statuses."""
    assert [warning.category for warning in told] == [RuntimeWarning]
    assert told[0].filename == recorded.__code__.co_filename
    for status in statuses:
        assert status.advice in str(told[0].message)


class TestStatuses:
    @pytest.mark.parametrize(("case", "solver"), BREAKDOWNS)
    @pytest.mark.parametrize("dtype", graphs.quick([np.float64, np.complex128]))
    @pytest.mark.parametrize("form", ["sparse", "dense", "operator"])
    def test_each(self, backend, case, solver, dtype, form):
        status, A, b, options = provoked(backend, case, dtype)
        B = {
            "sparse": lambda: backend.csr(sp.csr_array(A)),
            "dense": lambda: backend.array(A),
            "operator": lambda: library(backend).aslinearoperator(backend.array(A)),
        }[form]()
        history = History()
        x, info, told = recorded(SOLVERS[solver], B, backend.array(b), history=history, **options)
        assert info == status and isinstance(info, int)
        assert history.status is status is Status.from_info(info) and history.info == info
        assert_told(told, status)
        assert np.isfinite(backend.host(x)).all()
        assert status.name.lower() in str(history)

    @pytest.mark.parametrize(("case", "solver"), BREAKDOWNS)
    def test_the_others_go_on(self, backend, case, solver):
        """Columns that break down beside one that converges at once, and one of zeros."""
        status, A, b, options = provoked(backend, case, np.float64)
        n = len(b)
        A = sp.csr_array(sp.block_diag([sp.csr_array(A), [[2.0]]]))
        options = {
            name: backend.array(sp.block_diag([sp.csr_array(backend.host(value)), [[1.0]]]).toarray())
            for name, value in options.items()
        }
        B = np.zeros((n + 1, 4))
        B[:n, 0] = B[:n, 2] = b
        B[n, 1] = 3
        history = History()
        x, info, told = recorded(
            SOLVERS[solver], backend.csr(A), backend.array(B), history=history, **options
        )
        if "M is not finite" not in case:  # inf times 0 is in every column
            np.testing.assert_array_equal(info, [status, 0, status, 0])
            np.testing.assert_array_equal(backend.host(x)[:, 1], [0] * n + [1.5])
            assert history.status == [status, Status.CONVERGED, status, Status.CONVERGED]
        assert_told(told, status)
        assert isinstance(info, np.ndarray) and info.dtype.kind == "i"
        np.testing.assert_array_equal(history.info, info)

    @each_definite_solver
    def test_one_warning_for_several_reasons(self, backend, solver):
        A = sp.csr_array(np.diag([1.0, -1.0, 1e-300]))
        b = np.array([[1.0, 0, 0], [2, 1, 0], [0, 0, 1e300]])
        x, info, told = recorded(SOLVERS[solver], backend.csr(A), backend.array(b))
        np.testing.assert_array_equal(info, [Status.INDEFINITE, Status.INDEFINITE, Status.NONFINITE])
        assert_told(told, Status.INDEFINITE, Status.NONFINITE)

    @each_solver
    @pytest.mark.parametrize(
        ("dtype", "rtol", "reached"), graphs.quick([(np.float64, 1e-30, 1e-14), (np.float32, 1e-12, 1e-5)])
    )
    @pytest.mark.parametrize("columns", [None, 3])
    def test_a_tolerance_out_of_reach(self, backend, solver, dtype, rtol, reached, columns):
        A = graphs.with_types(grid(solver), dtype)
        b = noise(*(400,) if columns is None else (400, columns), dtype=dtype)
        history = History()
        x, info, told = recorded(
            SOLVERS[solver], backend.csr(A), backend.array(b), rtol=rtol, history=history
        )
        assert (np.asarray(info) == Status.UNATTAINABLE).all()
        assert_told(told, Status.UNATTAINABLE)
        assert all(rtol < norm <= reached for norm in history.attainable.values()) and "attainable" in str(
            history
        )
        assert (true_residuals(backend, A, b, x) <= reached).all()
        assert history.replacements and len(history.true_residuals) > len(history.replacements)

    @pytest.mark.parametrize("form", ["no M", "jacobi", "multilevel"])
    @pytest.mark.parametrize("shape", [(10, 10), (40, 40), (12, 12, 12)])
    def test_nothing_meets_a_tolerance_of_zero(self, backend, shape, form):
        """The recursive residual would fall until inner products underflow: after 1,000 iterations."""
        A = lf.matrices.poisson(shape)
        b, csr = noise(A.shape[0]), backend.csr(A)
        M = None if form == "no M" else getattr(lf, form)(csr)
        for solve in (cg, SOLVERS["fcg"], SOLVERS["minres"]):
            history = History()
            x, info, told = recorded(solve, csr, backend.array(b), rtol=0, M=M, history=history)
            assert info == Status.UNATTAINABLE and history.iterations[-1] < 8 * max(shape) + 30
            assert true_residuals(backend, A, b, x) <= 2e-15

    @pytest.mark.parametrize("status", [each for each in Status if each < 0], ids=str)
    def test_a_warning_is_short(self, monkeypatch, status):
        told, problem = [], checked_problem(grid("cg"), noise(400, 100), None, 0, 0, None, None, None, None)
        run = Run(Bicgstab(), problem, None)
        monkeypatch.setattr("linforest_precond.solvers.driver.warn_user", told.append)
        run.iterations[:] = 10**9
        run.attainable = {0: 1e-15}
        for c in range(99):
            run.settle(c, status)
        run.warn()
        assert "(" + str(status) in told[0] and len(told[0]) <= 300

    @each_solver
    def test_a_singular_system_without_a_solution(self, backend, solver):
        """A singular Laplacian: the entries of A x sum to 0, those of b do not."""
        A = lf.matrices.poisson((10, 10))
        A.setdiag(A.diagonal() - A.sum(axis=1))
        b = np.ones(100) + 0.5 * noise(100)
        x, info, told = recorded(SOLVERS[solver], backend.csr(A), backend.array(b), maxiter=500)
        assert info != 0 and len(told) == (info < 0)
        assert np.isfinite(backend.host(x)).all()

    @each_solver
    @pytest.mark.parametrize("exponent", [-1000, -600, 520, 1000])
    def test_numbers_whose_squares_overflow_or_underflow(self, backend, solver, exponent):
        """b is finite and not 0; an overflow in its norm must not count as convergence."""
        A, b = grid(solver), noise(400) * 2.0**exponent
        x, info, told = recorded(SOLVERS[solver], backend.csr(A), backend.array(b))
        assert len(told) == (info < 0)
        if info == 0:
            x, b = (values * 2.0**-exponent for values in (backend.host(x), b))
            assert true_residuals(backend, A, b, x) <= 1e-5 * SLACK

    @each_solver
    @pytest.mark.parametrize("which", ["A", "M"])
    @pytest.mark.parametrize("bad", [np.nan, np.inf])
    def test_products_that_turn_bad(self, backend, solver, which, bad):
        """x keeps the result of the iterations before."""
        A = grid(solver)
        B, calls = backend.csr(A), 0

        def turning(x):
            nonlocal calls
            calls += 1
            y = B @ x if which == "A" else x.copy()
            if calls > 7:
                y[3] = bad
            return y

        operator, _ = users_operator(backend, 400, turning)
        options = {"M": operator} if which == "M" else {}
        history = History()
        x, info, told = recorded(
            SOLVERS[solver], operator if which == "A" else B, backend.array(noise(400)), rtol=1e-12,
            history=history, **options,
        )  # fmt: skip
        assert info == Status.NONFINITE
        assert_told(told, Status.NONFINITE)
        assert 2 <= iterations_of(history) <= 8
        assert np.isfinite(backend.host(x)).all()
        if (solver, which) != ("gmres", "M"):  # it needs M once more, to complete x
            assert true_residuals(backend, A, noise(400), x) < 1

    @pytest.mark.parametrize(("case", "solver"), BREAKDOWNS)
    def test_callbacks_count_iterations(self, backend, case, solver):
        """An iteration that breaks down before x changes is not counted."""
        if case == "x overflows":
            return  # the callback sees the overflow, which is not returned
        status, A, b, options = provoked(backend, case, np.float64)
        history, watch = History(), Watch(backend)
        x, _, _ = recorded(
            SOLVERS[solver], backend.array(A), backend.array(b), history=history, callback=watch, **options
        )
        assert len(watch.seen) == int(history.iterations[-1])
        if watch.seen and status is not Status.DIVERGED:
            np.testing.assert_array_equal(watch.seen[-1], backend.host(x))

    @pytest.mark.parametrize("case", ["far", "far bicgstab"])
    @pytest.mark.parametrize("x0", [[0.0, 0.0], [3.0, 4.0]])
    def test_a_diverged_run_returns_x0(self, backend, case, x0):
        """A far larger residual than at the start is no progress."""
        _, (solver, *_), A, b, _ = PROVOKED[case]
        A = np.array(A, float)
        right, start = backend.array(b + A @ x0), backend.array(np.array(x0))
        x, info, _ = recorded(SOLVERS[solver], backend.array(A), right, start)
        assert info == Status.DIVERGED
        np.testing.assert_array_equal(backend.host(x), x0)

    def test_warnings_as_errors(self, backend):
        A = backend.array(np.diag([1.0, -1]))
        history = History()
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            with pytest.raises(RuntimeWarning, match="not positive definite"):
                cg(A, backend.array(np.array([1.0, 2])), history=history)
        assert history.status is Status.INDEFINITE
