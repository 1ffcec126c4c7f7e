"""A run that is paused goes on as if it had not been."""

import numpy as np
import pytest
from solver_cases import grid, noise

import linforest_precond as lf
from linforest_precond.solvers.bicgstab import Bicgstab
from linforest_precond.solvers.cg import Cg, Fcg
from linforest_precond.solvers.driver import Run
from linforest_precond.solvers.history import History
from linforest_precond.solvers.problem import checked_problem

METHODS = {"cg": Cg, "fcg": Fcg, "bicgstab": Bicgstab}


def run_of(backend, solver, columns=1, maxiter=None):
    A = grid(solver)
    b = backend.array(noise(A.shape[0], columns))
    M = lf.jacobi(backend.csr(A))
    problem = checked_problem(backend.csr(A), b, None, 1e-10, 0.0, maxiter, M, None, None)
    history = History()
    return Run(METHODS[solver](), problem, history), history


@pytest.mark.parametrize("solver", METHODS)
@pytest.mark.parametrize("columns", [1, 3])
def test_pauses_change_nothing(backend, solver, columns):
    whole, expected = run_of(backend, solver, columns)
    whole.iterate(None)
    parts, history = run_of(backend, solver, columns)
    pauses = 0
    while not parts.has_ended:
        parts.iterate(None, 5)
        pauses += 1
    assert pauses > 3
    assert np.array_equal(backend.host(parts.solution()), backend.host(whole.solution()))
    assert np.array_equal(parts.info(), whole.info()) and not whole.info().any()
    # One more record than in a batch of CUDA may follow the last iteration.
    assert np.array_equal(history.iterations, expected.iterations)
    assert np.array_equal(history.residuals, expected.residuals, equal_nan=True)


@pytest.mark.parametrize("solver", METHODS)
def test_a_short_pause_is_exact(backend, solver):
    run, _ = run_of(backend, solver)
    for total in (1, 2, 7):
        run.iterate(None, total - run.iterations.max())
        assert run.iterations.tolist() == [total] and not run.has_ended


def test_long_pauses_may_be_captured(backend):
    run, _ = run_of(backend, "cg")
    run.iterate(None, 3)
    run.iterate(None, 10**6)
    assert run.has_ended and not run.info().any()


def test_the_limit_ends_a_paused_run(backend):
    run, _ = run_of(backend, "cg", maxiter=4)
    run.iterate(None, 3)
    assert not run.has_ended
    run.iterate(None, 3)
    assert run.has_ended and run.info().tolist() == [4]


def test_a_run_that_has_ended_stays_so(backend):
    run, _ = run_of(backend, "cg")
    run.iterate(None)
    count = run.iterations.copy()
    run.iterate(None, 5)
    assert np.array_equal(run.iterations, count)


def test_callbacks_see_every_iteration(backend):
    run, _ = run_of(backend, "cg")
    seen = []
    run.iterate(lambda x: seen.append(backend.host(x).copy()), 4)
    run.iterate(lambda x: seen.append(backend.host(x).copy()), 3)
    assert len(seen) == 7 and seen[0].shape == (400,)
