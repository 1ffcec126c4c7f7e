"""Batches of iterations: few products with M after convergence, and none of them changes the solution."""

import numpy as np
import pytest
import scipy.sparse as sp

import linforest_precond as lf
from linforest_precond.backends.cuda.krylov import vector_space

GRID = lf.matrices.poisson((40, 40))


def cycle_of(A):
    return lf.multilevel(A, smoother="l1_jacobi", cycle="V", max_coarse=20).aspreconditioner()


@pytest.mark.parametrize("method", [lf.solvers.cg, lf.solvers.fcg])
def test_an_iteration_has_one_product_with_m(method, monkeypatch):
    M, applied = cycle_of(GRID), []
    apply_into = type(M).apply_into
    monkeypatch.setattr(type(M), "apply_into", lambda *given: applied.append(apply_into(*given)))
    history = lf.solvers.History()
    _, info = method(GRID, np.ones(1600), rtol=1e-8, M=M, history=history)
    assert info == 0
    assert len(applied) <= history.iterations[-1] + 1


def test_many_launches_make_small_batches():
    light, heavy = vector_space.LIGHT_LAUNCHES, vector_space.LIGHT_LAUNCHES + 1
    assert [vector_space.iterations_of_batch(n, light) for n in (10, 10**6, 10**8)] == [16, 4, 2]
    assert [vector_space.iterations_of_batch(n, heavy) for n in (10, 10**6, 10**8)] == [1, 1, 1]


def test_batches_divide_cycles():
    assert [vector_space.iterations_of_batch(10, 6, cycle) for cycle in (0, 16, 30, 31, 1)] == [
        16,
        16,
        15,
        1,
        1,
    ]


@pytest.mark.gpu
def test_batches_on_the_device(cuda, monkeypatch):
    """A graph has 16 iterations with a tridiagonal M, and one with a cycle; the solutions are verified."""
    A, times, captured = cuda.csr(sp.csr_matrix(GRID)), [], vector_space._Stream.captured

    def recorded(self, iterate, count):
        times.append(count)
        return captured(self, iterate, count)

    monkeypatch.setattr(vector_space._Stream, "captured", recorded)
    for M in (lf.tridiagonal(A), cycle_of(A)):
        x, info = lf.solvers.cg(A, cuda.array(np.ones(1600)), rtol=1e-8, M=M)
        assert info == 0
        assert np.linalg.norm(GRID @ cuda.host(x) - 1) <= 1e-8 * 40 * (1 + 1e-6)
    assert times == [16, 1]
