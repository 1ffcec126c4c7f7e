"""Stacks of systems with one pattern: the operator is that of the block diagonal matrix."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
import strategies as graphs
from operator_cases import assert_close, dominant, other_values, state, vectors

import linforest_precond as lf

SYSTEMS, SIZE = 5, 12
KINDS = {
    "forest": lf.tridiagonal,
    "original": lambda A, **options: lf.tridiagonal(A, "original", **options),
    "rcm": lambda A, **options: lf.tridiagonal(A, "rcm", **options),
    "matching": lambda A, **options: lf.tridiagonal(A, scaling="matching", **options),
    "several forests": lambda A, **options: lf.tridiagonal(A, forests=2, polynomial=2, **options),
    "blocks of 2": lf.block_tridiagonal,
}


def systems_like(A, count=SYSTEMS, seed=9):
    """Diagonally dominant matrices of one pattern."""
    return [other_values(A, seed + i) for i in range(count)]


def values_of(backend, systems):
    return backend.array(np.stack([A.data for A in systems]))


def apart_from_systems(found):
    """What `state` gives, without the line that block diagonal matrices lack."""
    return [*found[:2], [line for line in found[2] if not line.lstrip().startswith("systems")]]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("symmetric", [True, False])
def test_a_stack_is_its_block_diagonal_matrix(backend, kind, symmetric):
    A = dominant(SIZE, symmetric=symmetric)
    systems = [(i + 1) * A for i in range(SYSTEMS)] if symmetric else systems_like(A)
    M = KINDS[kind](backend.csr(A), values=values_of(backend, systems))
    whole = KINDS[kind](backend.csr(sp.csr_array(sp.block_diag(systems, format="csr"))))
    assert apart_from_systems(state(backend, M)) == state(backend, whole)
    assert M.systems == (SYSTEMS, SIZE) and whole.systems is None
    assert f"{SYSTEMS} of {SIZE} rows" in str(M)


@pytest.mark.parametrize("options", [{"ordering": "original"}, {"m": 1, "iterations": None}], ids=str)
def test_bands_of_single_setups(backend, options):
    """Without charges and random ties."""
    A = dominant(SIZE, symmetric=False)
    systems = systems_like(A)
    M = lf.tridiagonal(backend.csr(A), values=values_of(backend, systems), **options)
    R = vectors(float, SYSTEMS, SIZE)
    X = backend.host(M @ backend.array(R))
    for i, system in enumerate(systems):
        single = lf.tridiagonal(backend.csr(system), **options)
        for name in ("lower", "diagonal", "upper"):
            found = backend.host(getattr(M.bands, name)).reshape(SYSTEMS, SIZE)[i]
            np.testing.assert_array_equal(found, backend.host(getattr(single.bands, name)))
        assert_close(X[i], backend.host(single @ backend.array(R[i])), 1e-14)


def test_paths_stay_in_their_systems(backend):
    A = lf.matrices.poisson((6, 7))
    M = lf.tridiagonal(backend.csr(A), values=backend.array(np.tile(A.data, (SYSTEMS, 1))))
    order = backend.host(M.ordering.order)
    np.testing.assert_array_equal(order // 42, np.repeat(np.arange(SYSTEMS), 42))
    single = lf.tridiagonal(backend.csr(A))
    assert M.coverage == pytest.approx(single.coverage, rel=0.1)


@pytest.mark.parametrize(("dtype", "index_dtype"), graphs.quick(graphs.TYPES))
def test_products_with_stacks(backend, dtype, index_dtype):
    A = dominant(SIZE, dtype=dtype, symmetric=False, index_dtype=index_dtype)
    M = lf.tridiagonal(backend.csr(A), values=values_of(backend, systems_like(A)))
    assert M.shape == (SYSTEMS * SIZE,) * 2 and M.dtype == dtype
    for shape in [(SYSTEMS, SIZE), (SYSTEMS, SIZE, 3), (SYSTEMS, SIZE, 1), (SYSTEMS, SIZE, 0)]:
        R = backend.array(vectors(dtype, *shape))
        for operator in (M, M.T, M.H, M.T.H):
            X = operator @ R
            assert isinstance(X, backend.xp.ndarray) and X.shape == shape and X.dtype == dtype
            flat = operator @ R.reshape(SYSTEMS * SIZE, -1) if R.size else X
            np.testing.assert_array_equal(backend.host(X), backend.host(flat).reshape(shape))
    R = vectors(dtype, SIZE, SYSTEMS)
    in_columns = backend.host(M @ backend.array(R).T)
    np.testing.assert_array_equal(in_columns, backend.host(M @ backend.array(R.T.copy())))


def test_systems_do_not_mix(backend):
    A = dominant(SIZE, symmetric=False)
    M = lf.tridiagonal(backend.csr(A), values=values_of(backend, systems_like(A)))
    R = np.zeros((SYSTEMS, SIZE))
    R[2] = vectors(float, SIZE)
    X = backend.host(M @ backend.array(R))
    assert X[2].all() and not np.delete(X, 2, axis=0).any()


@pytest.mark.parametrize("kind", KINDS)
def test_updates(backend, kind):
    A = dominant(SIZE, symmetric=False)
    pattern, first = backend.csr(A), values_of(backend, systems_like(A))
    others = values_of(backend, systems_like(A, seed=40))
    M = KINDS[kind](pattern, values=first)
    before = state(backend, M)
    for _ in range(2):  # the second time from A's own arrays
        M.update(pattern, values=others)
        after = state(backend, M)
        assert after[0] != before[0]
        M.update(lf.matrices.block_diagonal(pattern, first))
        assert state(backend, M) == before
    whole = KINDS[kind](lf.matrices.block_diagonal(pattern, first))
    whole.update(pattern, values=others)
    assert state(backend, whole) == apart_from_systems(after)


def test_copies_and_files(backend, tmp_path):
    A = dominant(SIZE)
    M = lf.tridiagonal(backend.csr(A), values=values_of(backend, systems_like(A)))
    lf.save_preconditioner(M, tmp_path / "M.npz")
    R = backend.array(vectors(float, SYSTEMS, SIZE))
    wanted = backend.host(M @ R)
    for copy in (pickle.loads(pickle.dumps(M)), lf.load_preconditioner(tmp_path / "M.npz"), M.frozen()):
        assert copy.systems == (SYSTEMS, SIZE)
        np.testing.assert_array_equal(backend.host(copy @ R), wanted)
    transposed = pickle.loads(pickle.dumps(M.T))
    np.testing.assert_array_equal(backend.host(transposed @ R), backend.host(M.T @ R))


@pytest.mark.parametrize(("count", "size"), [(0, 6), (1, 6), (1, 1), (7, 1), (0, 1), (3, 0), (0, 0)])
def test_few_systems_and_small_ones(backend, count, size):
    A = backend.csr(lf.matrices.poisson(size) if size else sp.csr_array((0, 0)))
    values = backend.array(np.outer(np.arange(1.0, count + 1), backend.host(A.data)))
    M = lf.tridiagonal(A, values=values)
    assert M.shape == (count * size,) * 2 and M.systems == (count, size)
    assert pickle.loads(pickle.dumps(M)).systems == (count, size)
    single = lf.tridiagonal(A, "original")
    for shape in [(count, size), (count, size, 2)]:
        R = vectors(float, *shape)
        wanted = [backend.host(single @ backend.array(r)) / (i + 1) for i, r in enumerate(R)]
        found = backend.host(lf.tridiagonal(A, "original", values=values) @ backend.array(R))
        assert_close(found, np.reshape(wanted, shape), 1e-14)
    M.update(A, values=2 * values)
    assert str(M)


def test_a_krylov_solver(backend):
    A = backend.csr(lf.matrices.aniso(2, 6))
    values = A.data * backend.array(np.linspace(1, 2, SYSTEMS))[:, None]
    B, M = lf.matrices.block_diagonal(A, values), lf.tridiagonal(A, values=values)
    R = backend.array(vectors(float, SYSTEMS, 36))
    x, info = lf.solvers.cg(B, R.ravel(), M=M, rtol=1e-10)
    assert info == 0 and M.positive_definite
    X = backend.host(x).reshape(SYSTEMS, 36)
    for i, factor in enumerate(np.linspace(1, 2, SYSTEMS)):
        assert_close(factor * (lf.matrices.aniso(2, 6) @ X[i]), backend.host(R)[i], 1e-8)


def test_what_is_refused(backend):
    A = dominant(SIZE)
    pattern, values = backend.csr(A), values_of(backend, systems_like(A))
    M = lf.tridiagonal(pattern, values=values)
    before = state(backend, M)
    nnz, total = A.nnz, SYSTEMS * SIZE
    for function in (lf.tridiagonal, lf.block_tridiagonal, M.update):
        with pytest.raises(ValueError, match=rf"values must have the shape \(k, {nnz}\).*got \({nnz},\)"):
            function(pattern, values=values[0])
    for wrong, error, words in [
        (values[:2], ValueError, rf"matrix of A and values must have the shape .*\({total}, {total}\)"),
        (values.astype(np.float32), ValueError, "matrix of A and values must have the dtype .*float64"),
    ]:
        with pytest.raises(error, match=words):
            M.update(pattern, values=wrong)
    with pytest.raises(TypeError, match=r"M.update\(A, values=...\), got a .*ndarray"):
        M.update(values)
    with pytest.raises(ValueError, match=rf"\({total}, k\), or for @ \({SYSTEMS}, {SIZE}\) or .*, m\), got"):
        M @ backend.array(np.ones((SIZE, SYSTEMS)))
    with pytest.raises(ValueError, match=f"ordering must have one number for each row of A, .{total}"):
        lf.tridiagonal(pattern, np.arange(SIZE), values=values)
    assert state(backend, M) == before
