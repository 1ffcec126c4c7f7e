"""Matrices and vectors of CuPy: values of the halo go through the host where ranks share a GPU."""

import importlib

import numpy as np
import pytest
from parallel_cases import random_matrix
from strategies import quick

import linforest_precond as lf
from linforest_precond import distributed
from linforest_precond.backends import backend_of
from linforest_precond.distributed import inner, scatter, simulate

CUTS = {1: [0, 60], 2: [0, 25, 60], 3: [0, 20, 20, 60]}


@pytest.mark.parametrize("dtype", quick([np.float64, np.complex64]))
def test_products_have_the_bits_of_one_rank(backend, dtype):
    A = random_matrix(60, 0.1, 2, dtype)
    rng = np.random.default_rng(3)
    x = (
        rng.standard_normal((60, 2)) + (1j * rng.standard_normal((60, 2)) if A.dtype.kind == "c" else 0)
    ).astype(dtype)

    def product(comm, vectors, transposed=False):
        parts = scatter(backend.csr(A), comm, CUTS[comm.size])
        assert isinstance(parts.rows.data, backend.xp.ndarray)
        own = backend.array(vectors[parts.first : parts.first + parts.n_local])
        return backend.host(parts.T @ own if transposed else parts @ own)

    for vectors in (x, x[:, 0]):
        whole = simulate(1, product, vectors)[0]
        assert np.allclose(whole, A @ vectors, rtol=1e-4)
        for size in (2, 3):
            assert np.array_equal(np.concatenate(simulate(size, product, vectors)), whole)
            found = np.concatenate(simulate(size, product, vectors, True))
            assert np.allclose(found, A.T @ vectors, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("dtype", quick([np.float64, np.float32, np.complex128]))
def test_inner_products_have_the_bits_of_the_host(backend, dtype):
    rng = np.random.default_rng(4)
    u, v = ((rng.standard_normal(9000) * 10.0 ** rng.integers(-9, 9, 9000)).astype(dtype) for _ in range(2))
    u, v = (u + 1j * v, v - 2j * u) if np.dtype(dtype).kind == "c" else (u, v)

    def product(comm, to_device):
        own = slice(9000 * comm.rank // comm.size, 9000 * (comm.rank + 1) // comm.size)
        return inner(comm, to_device(u[own]), to_device(v[own]))

    expected = simulate(1, product, np.asarray)[0]
    for size in (1, 2, 5):
        assert set(simulate(size, product, backend.array)) == {expected}
    for wrong in (np.nan, np.inf, -np.inf):
        u[7] = wrong
        assert str(simulate(2, product, backend.array)[0]) == str(simulate(1, product, np.asarray)[0])


@pytest.mark.gpu
@pytest.mark.parametrize("method", ["cg", "bicgstab", "fcg"])
def test_histories_are_those_of_one_rank(cuda, method):
    A = lf.matrices.poisson((6, 10))
    b = np.random.default_rng(5).standard_normal(60)

    def solve(comm):
        parts, history = scatter(cuda.csr(A), comm, CUTS[comm.size]), lf.solvers.History()
        own = cuda.array(b[parts.first : parts.first + parts.n_local])
        inverse = 1 / parts.diagonal()
        library = importlib.import_module(backend_of(own).linear_operators)
        M = library.LinearOperator((parts.n_local,) * 2, lambda x: inverse * x, dtype=float)
        x, info = getattr(distributed, method)(parts, own, M=M, history=history, rtol=1e-8)
        return cuda.host(x), info, history.residuals.tobytes()

    ((x, info, residuals),) = simulate(1, solve)
    assert info == 0 and np.linalg.norm(A @ x - b) <= 1.1e-8 * np.linalg.norm(b)
    for size in (2, 3):
        found = simulate(size, solve)
        assert {each[1:] for each in found} == {(info, residuals)}
        assert np.array_equal(np.concatenate([each[0] for each in found]), x)


@pytest.mark.gpu
def test_errors_are_those_of_all_ranks(cuda):
    A, x = lf.matrices.poisson((6, 10)), np.arange(60.0)
    b = A @ x

    def solve(comm):
        parts = scatter(cuda.csr(A), comm, CUTS[comm.size])
        own = slice(parts.first, parts.first + parts.n_local)
        history = lf.solvers.History(x_true=cuda.array(x[own]))
        distributed.bicgstab(parts, cuda.array(b[own]), history=history)
        return history.errors

    (whole,) = simulate(1, solve)
    assert whole[0] == 1.0 and whole[-1] < 1e-3
    for errors in simulate(3, solve):
        np.testing.assert_array_equal(errors, whole)


@pytest.mark.gpu
def test_vectors_of_the_host_are_refused(cuda):
    A = cuda.csr(lf.matrices.poisson((6, 10)))
    with pytest.raises(TypeError, match="b must be on A's device"):
        simulate(2, lambda comm: distributed.cg(scatter(A, comm), np.ones(30)))
