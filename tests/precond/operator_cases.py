"""Kinds of preconditioners, matrices for them, and the properties that all of them have."""

import importlib

import numpy as np
import oracles
import scipy.sparse as sp
import strategies as graphs
from ilu_oracles import product_in_order

import linforest_precond as lf
from linforest_precond.precond.preconditioner import Preconditioner

LIBRARIES = {"cpu": "scipy.sparse.linalg", "cuda": "cupyx.scipy.sparse.linalg"}
KINDS = {
    "forest": lambda A, **options: lf.tridiagonal(A, **options),
    "original": lambda A, **options: lf.tridiagonal(A, "original", **options),
    "rcm": lambda A, **options: lf.tridiagonal(A, "rcm", **options),
    "forest given": lambda A, **options: lf.tridiagonal(A, lf.linear_forest(A, seed=3), **options),
    "permutation": lambda A, **options: lf.tridiagonal(A, permutation(A.shape[0]), **options),
    "blocks of 2": lambda A, **options: lf.block_tridiagonal(A, **options),
    "blocks of 4": lambda A, **options: lf.block_tridiagonal(A, 4, **options),
    "jacobi": lambda A, **options: lf.jacobi(A, **options),
    "block jacobi 1": lambda A, **options: lf.block_jacobi(A, 1, **options),
    "block jacobi 3": lambda A, **options: lf.block_jacobi(A, 3, **options),
    "block jacobi 32": lambda A, **options: lf.block_jacobi(A, 32, **options),
    "ilu": lambda A, **options: lf.ilu(A, ordering="natural", **options),
    "gauss seidel": lambda A, **options: lf.gauss_seidel(A, **options),
    "direct": lambda A, **options: lf.direct(A, **options),
}
# For storage in single precision, which compiles the kernels of a kind again.
COMPILED_LONG = (
    "blocks of 2",
    "blocks of 4",
    "block jacobi 3",
    "block jacobi 32",
    "ilu",
    "gauss seidel",
    "direct",
)
IN_SINGLE_PRECISION = [graphs.slow(kind) if kind in COMPILED_LONG else kind for kind in KINDS]
SIZE = 50


def permutation(size):
    return np.random.default_rng(8).permutation(size)


def dominant(size=SIZE, dtype=np.float64, *, symmetric=True, seed=0, index_dtype=None):
    """A random diagonally dominant matrix; Hermitian where symmetric.

    Indices have the type that `strategies.TYPES` combines with `dtype` first.
    """
    A = graphs.random_graph(size, "unique", seed, symmetric=symmetric, dtype=dtype)
    dense = A.toarray()
    if symmetric:
        dense = (dense + dense.conj().T) / 2
    np.fill_diagonal(dense, 1 + np.abs(dense).sum(axis=1))
    index_dtype = index_dtype or dict(reversed(graphs.TYPES))[np.dtype(dtype).type]
    return graphs.with_types(sp.csr_array(dense), dtype, index_dtype)


def held(backend, M):
    """A mask of the entries of A whose inverse a preconditioner is, from its ordering alone."""
    n = M.shape[0]
    where = np.arange(n)
    if M.kind == "jacobi":
        return np.eye(n, dtype=bool)
    if M.kind in ("ilu", "gauss_seidel", "direct"):
        return np.ones((n, n), bool)
    if M.kind == "block_jacobi":
        block = where // M._part.block_size
        return block[:, None] == block
    if M.kind == "block_tridiagonal":
        return held_by_blocks(backend, M.forest)
    mask = np.eye(n, dtype=bool)
    if M.forest is not None:
        for v, around in enumerate(oracles.as_sets(backend.host(M.forest.neighbors))):
            mask[v, list(around)] = True
        return mask
    order = where if M.ordering is None else backend.host(M.ordering.order)
    mask[order[1:], order[:-1]] = mask[order[:-1], order[1:]] = True
    return mask


def held_by_blocks(backend, forest):
    members = backend.host(forest.members).reshape(-1, forest.block_size)
    path = backend.host(forest.forest.path_id)[backend.host(forest.forest.order)]
    place = np.full(members.max() + 1, -1)
    for i, block in enumerate(members):
        place[block[block >= 0]] = i
    near = abs(place[:, None] - place) <= 1
    return near & (path[place][:, None] == path[place])


def approximation(backend, A, M):
    """The dense matrix whose inverse a preconditioner is."""
    if M.kind == "ilu":
        return product_in_order(sp.csr_array(A), backend.host(M.ordering.order))
    if M.kind == "gauss_seidel":
        return ssor_in_order(A.toarray(), backend.host(M.ordering.order), M._part.relaxation.omega)
    wide = np.promote_types(A.dtype, np.float64)
    return np.where(held(backend, M), A.toarray(), 0).astype(wide)


def ssor_in_order(dense, order, omega):
    """omega/(2 - omega) (D/omega + L) D^-1 (D/omega + U), with rows and columns in an order."""
    permuted = dense[np.ix_(order, order)].astype(np.promote_types(dense.dtype, np.float64))
    diagonal = np.diag(permuted)
    before, after = (
        part(permuted, k) + np.diag(diagonal / omega) for part, k in ((np.tril, -1), (np.triu, 1))
    )
    product = np.empty_like(permuted)
    product[np.ix_(order, order)] = omega / (2 - omega) * before / diagonal @ after
    return product


def wanted_inverse(backend, A, M):
    return np.linalg.inv(approximation(backend, A, M))


def tolerance(M):
    return 2e-5 if M.stored_dtype in (np.float32, np.complex64) else 1e-12


def vectors(dtype, *shape, seed=1):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal(shape)
    if np.dtype(dtype).kind == "c":
        x = x + 1j * rng.standard_normal(shape)
    return x.astype(dtype)


def assert_close(found, wanted, allowed):
    np.testing.assert_allclose(found, wanted, rtol=0, atol=allowed * max(1.0, abs(wanted).max(initial=0)))


def assert_operator(backend, M, inverse):
    """The battery: everything a LinearOperator offers, against the dense inverse."""
    n, allowed = M.shape[0], tolerance(M)
    library = importlib.import_module(LIBRARIES[backend.name])
    assert isinstance(M, library.LinearOperator) and isinstance(M, Preconditioner)
    r, R = vectors(M.dtype, n), vectors(M.dtype, n, 3)
    x, X = backend.array(r), backend.array(R)
    adjoint = inverse.conj().T
    for product, wanted in [
        (M @ x, inverse @ r),
        (M.matvec(x), inverse @ r),
        (M.rmatvec(x), adjoint @ r),
        (M.T @ x, inverse.T @ r),
        (M.H @ x, adjoint @ r),
        (M.T.H @ x, inverse.conj() @ r),
        (M.T.rmatvec(x), inverse.conj() @ r),
        (M.matmat(x[:, None]), inverse @ r[:, None]),
        (M @ X, inverse @ R),
        (M.matmat(X), inverse @ R),
        (M.rmatmat(X), adjoint @ R),
        (M.T @ X, inverse.T @ R),
        (M.H.matmat(X), adjoint @ R),
        (M @ X[:, :1], inverse @ R[:, :1]),
        (M @ X[:, ::2], inverse @ R[:, ::2]),
        (M @ backend.xp.asfortranarray(X), inverse @ R),
        (M.T @ X.T.copy().T, inverse.T @ R),
        (M @ backend.array(np.repeat(r, 2))[::2], inverse @ r),
        (M @ X[:, :0], inverse @ R[:, :0]),
    ]:
        assert isinstance(product, backend.xp.ndarray)
        assert product.dtype == M.dtype and product.shape == wanted.shape
        assert_close(backend.host(product), wanted, allowed)
    assert M.T.T is M and M.H.H is M
    np.testing.assert_array_equal(backend.host(x), r)
    assert_dot_test(backend, M)


def assert_dot_test(backend, M):
    """<M y, x> = <y, M^H x>."""
    y, x = (backend.array(vectors(M.dtype, M.shape[0], seed=seed)) for seed in (2, 3))
    one, other = backend.xp.vdot(M @ y, x), backend.xp.vdot(y, M.H @ x)
    assert abs(complex(one) - complex(other)) <= tolerance(M) * (1 + abs(complex(one)))


def other_values(A, seed=9):
    """A diagonally dominant matrix of the same pattern."""
    B = A.copy()
    B.data = vectors(A.dtype, A.nnz, seed=seed)
    B.setdiag(2 + abs(B).sum(axis=1))
    assert np.array_equal(B.indices, A.indices) and np.array_equal(B.indptr, A.indptr)
    return graphs.with_types(B, A.dtype, A.indices.dtype)


def state(backend, M):
    """An operator's products and printed text, for comparisons."""
    x = backend.array(vectors(M.dtype, M.shape[0], 2))
    lines = [line for line in str(M).splitlines() if not line.lstrip().startswith("setup")]
    return [backend.host(M @ x).tolist(), backend.host(M.H @ x).tolist(), lines]
