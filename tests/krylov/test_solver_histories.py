"""Callbacks and histories of the solvers."""

import numpy as np
import pytest
import strategies as graphs
from solver_cases import (
    SOLVERS,
    Watch,
    each_solver,
    grid,
    iterations_of,
    noise,
    recorded,
    true_residuals,
)

from linforest_precond.solvers import History, Status, bicgstab


class TestHistories:
    @each_solver
    @pytest.mark.parametrize("columns", [None, 3])
    @pytest.mark.parametrize("dtype", graphs.quick([np.float64, np.complex64]))
    def test_records_what_the_callback_sees(self, backend, solver, columns, dtype):
        A = graphs.with_types(grid(solver), dtype)
        single = dtype is np.complex64
        x_t = noise(*(400,) if columns is None else (400, columns), dtype=dtype)
        if columns:
            x_t[:, 1] *= 100
        b = A @ x_t
        history, watch = History(x_true=backend.array(x_t)), Watch(backend)
        x, _ = SOLVERS[solver](
            backend.csr(A), backend.array(b), rtol=1e-4 if single else 1e-9, history=history, callback=watch
        )
        seen = np.array([np.zeros_like(x_t), *watch.seen])
        residuals = np.linalg.norm(b - np.einsum("ij,kj...->ki...", A.toarray(), seen), axis=1)
        errors = np.linalg.norm(seen - x_t, axis=1)
        assert (history.solver, history.n, history.dtype) == (solver, 400, dtype)
        whole = history.iterations == np.floor(history.iterations)
        assert history.errors.shape == history.residuals.shape
        steps = history.iterations[whole].astype(int)
        np.testing.assert_array_equal(steps, np.arange(len(steps)))
        for found, wanted in (
            (history.residuals[whole], residuals / np.linalg.norm(b, axis=0)),
            (history.errors[whole], errors / np.linalg.norm(x_t, axis=0)),
        ):
            known = ~np.isnan(found)
            assert known.sum() > 10 * (columns or 1)
            np.testing.assert_allclose(found[known], wanted[steps][known], rtol=1e-2 if single else 1e-5)
        np.testing.assert_array_equal(watch.seen[-1], backend.host(x))

    @pytest.mark.parametrize("columns", [None, 3])
    @pytest.mark.parametrize("solver", SOLVERS)
    def test_callbacks_iterations_and_info_agree_at_the_limit(self, backend, solver, columns):
        A, b = grid(solver), noise(*(400,) if columns is None else (400, columns))
        history, watch = History(), Watch(backend)
        _, info = SOLVERS[solver](
            backend.csr(A), backend.array(b), rtol=1e-10, maxiter=5, history=history, callback=watch
        )
        np.testing.assert_array_equal(info, 5 if columns is None else [5] * columns)
        assert len(watch.seen) == history.iterations[-1] == 5
        assert {x.shape for x in watch.seen} == {b.shape}

    @pytest.mark.parametrize("solver", graphs.quick(["fcg", "bicgstab"]))
    def test_restarted_columns_are_counted(self, backend, solver):
        """Single precision drifts: columns restart when the last one has stopped, and go on to maxiter."""
        A = graphs.with_types(grid(solver), np.float32)
        b = np.column_stack([noise(400), A @ np.ones(400), np.eye(400)[3]]).astype(np.float32)
        history, watch = History(), Watch(backend)
        _, info, _ = recorded(
            SOLVERS[solver], backend.csr(A), backend.array(b),
            rtol=1e-12, maxiter=100, history=history, callback=watch,
        )  # fmt: skip
        assert history.replacements and info.max() <= 100
        assert len(watch.seen) == np.ceil(history.iterations).max()

    @each_solver
    def test_steps_and_times(self, backend, solver):
        A, b = backend.csr(grid(solver)), backend.array(noise(400))
        history = History()
        for rtol in (1e-4, 1e-6, 1e-8, 1e-9, 1e-10):
            x, info = SOLVERS[solver](A, b, rtol=rtol, history=history)
            step = 0.5 if solver == "bicgstab" else 1
            np.testing.assert_array_equal(history.iterations, step * np.arange(len(history)))
            assert len(history.residuals) == len(history.times) == len(history) > 10
            assert history.errors is None
            assert history.times[0] >= 0 and (np.diff(history.times) >= 0).all()
            assert history.times[-1] > history.times[0]
            assert history.residuals[0] == pytest.approx(1, rel=1e-12)
            assert history.residuals[-1] <= rtol and (history.residuals[:-1] > rtol).all()
            assert history.status is Status.CONVERGED and history.info == info == 0

    def test_half_steps(self, backend):
        """The half step is x + alpha phat; a run may end with one, and the callback sees it."""
        A = grid("bicgstab")
        x_t = noise(400)
        b = A @ x_t
        whole = History(backend.array(x_t))
        bicgstab(backend.csr(A), backend.array(b), rtol=1e-9, history=whole)
        halves = np.flatnonzero(whole.iterations % 1 == 0.5)
        first = np.argmin(whole.residuals[halves] - whole.residuals[halves - 1])
        at = halves[first]
        assert whole.residuals[at] < whole.residuals[:at].min()
        history, watch = History(backend.array(x_t)), Watch(backend)
        x, info = bicgstab(
            backend.csr(A),
            backend.array(b),
            rtol=whole.residuals[at] * 1.0001,
            history=history,
            callback=watch,
        )
        assert info == 0 and history.iterations[-1] == whole.iterations[at]
        assert len(watch.seen) == iterations_of(history) == history.iterations[-1] + 0.5
        np.testing.assert_array_equal(watch.seen[-1], backend.host(x))
        error = np.linalg.norm(backend.host(x) - x_t) / np.linalg.norm(x_t)
        assert history.errors[-1] == pytest.approx(error, rel=1e-6)
        np.testing.assert_allclose(history.errors, whole.errors[: at + 1], rtol=1e-6)
        assert true_residuals(backend, A, b, x) == pytest.approx(history.residuals[-1], rel=1e-4)

    @each_solver
    @pytest.mark.parametrize("columns", [(), (2,)])
    def test_true_residual_at_the_limit(self, backend, solver, columns):
        A, b, history = grid(solver), noise(400, *columns), History()
        x, info = SOLVERS[solver](backend.csr(A), backend.array(b), rtol=1e-12, maxiter=3, history=history)
        assert np.all(np.asarray(info) == 3)
        last = {column: (iteration, norm) for iteration, column, norm in history.true_residuals}
        wanted = np.atleast_1d(true_residuals(backend, A, b, x))
        assert [last[c] for c in range(wanted.size)] == [(3, pytest.approx(norm)) for norm in wanted]
        assert f"{wanted[0]:.2e}" in str(history).split("true residual")[1].splitlines()[0]

    @each_solver
    def test_starts_anew(self, backend, solver):
        A = backend.csr(grid(solver))
        b, history = backend.array(noise(400, 3)), History()
        SOLVERS[solver](A, b, rtol=1e-9, history=history)
        first = history.residuals
        SOLVERS[solver](A, b[:, 0], rtol=1e-3, history=history)
        assert history.residuals.ndim == 1 and len(history) < len(first) and history.info == 0
        assert not history.replacements and history.iterations[0] == 0
        SOLVERS[solver](A, b, rtol=1e-9, history=history)
        np.testing.assert_array_equal(history.residuals, first)

    @each_solver
    def test_prints_and_writes(self, backend, solver, tmp_path):
        A = backend.csr(grid(solver))
        history = History(backend.xp.ones(400))
        SOLVERS[solver](A, A @ backend.xp.ones(400), history=history)
        text = str(history)
        for word in (solver, "400", "float64", "converged", str(iterations_of(history))):
            assert word in text
        history.to_csv(tmp_path / "history.csv")
        read = np.genfromtxt(tmp_path / "history.csv", delimiter=",", names=True)
        np.testing.assert_array_equal(read["residual"], history.residuals)
        np.testing.assert_array_equal(read["error"], history.errors)

    @each_solver
    def test_a_callback_that_raises(self, backend, solver):
        def stop(x):
            raise KeyError("enough")

        A, b = backend.csr(grid(solver)), backend.array(noise(400))
        with pytest.raises(KeyError, match="enough"):
            SOLVERS[solver](A, b, callback=stop)
        assert SOLVERS[solver](A, b)[1] == 0
