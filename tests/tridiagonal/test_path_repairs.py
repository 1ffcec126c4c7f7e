"""Paths of general matrices with weak pivots: which are repaired, and what is solved then."""

import pickle
import warnings

import numpy as np
import pytest
import repair_oracle
import scipy.sparse as sp
import strategies as graphs
from conftest import CPU, load_real, manifest, skip_or_fail
from scipy.sparse.linalg import bicgstab

import linforest_precond as lf
from linforest_precond.precond.preconditioner import packed, restore

KINDS = {
    "forest": lf.tridiagonal,
    "original": lambda A, **options: lf.tridiagonal(A, "original", **options),
    "blocks of 2": lf.block_tridiagonal,
    "blocks of 4": lambda A, **options: lf.block_tridiagonal(A, 4, **options),
}


def weakly_covered(n=80, seed=0, dtype=np.float64, *, degree=12, diagonal=1.0):
    """Random nonsymmetric rows with many neglected entries, and a diagonal that does not dominate."""
    rng = np.random.default_rng(seed)
    A = sp.random_array((n, n), density=degree / n, rng=rng, data_sampler=rng.standard_normal).toarray()
    if np.dtype(dtype).kind == "c":
        A = A * np.exp(2j * np.pi * rng.random((n, n)))
    np.fill_diagonal(A, diagonal * (1 + rng.random(n)) * rng.choice([-1, 1], n))
    return sp.csr_array(A.astype(dtype))


def weakly_covered_symmetric(n=80, seed=0):
    """The same, symmetric with a positive diagonal: its bands are indefinite, and clipped by default."""
    A = weakly_covered(n, seed).toarray()
    A = A + A.T
    np.fill_diagonal(A, abs(np.diag(A)))
    return sp.csr_array(A)


def assert_untouched(M):
    """Nothing was clipped, perturbed or regularized."""
    solver = M._part.solver
    assert solver.repaired is None and not solver.clipped
    assert solver.repaired_couplings == solver.lifted == solver.regularized == 0


def quietly(make, *arguments, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        return make(*arguments, **options)


def dense_bands(backend, M):
    """The block tridiagonal matrix of an operator, its order and its block size."""
    lower, diagonal, upper = (backend.host(getattr(M.bands, name)) for name in ("lower", "diagonal", "upper"))
    b = diagonal.shape[1] if diagonal.ndim == 3 else 1
    lower, diagonal, upper = (band.reshape(-1, b, b) for band in (lower, diagonal, upper))
    count = diagonal.shape[0]
    T = np.zeros((count * b, count * b), diagonal.dtype)
    for i in range(count):
        own = slice(i * b, (i + 1) * b)
        T[own, own] = diagonal[i]
        if i:
            T[own, (i - 1) * b : i * b] = lower[i]
            T[(i - 1) * b : i * b, own] = upper[i - 1]
    order = M._part.order
    return T, np.arange(count * b) if order is None else backend.host(order), b


def expected(T, order, n):
    """The inverse of T, without ghost rows, in A's order."""
    inverse, real = np.linalg.inv(T), order >= 0
    M = np.empty((n, n), T.dtype)
    M[np.ix_(order[real], order[real])] = inverse[np.ix_(real, real)]
    return M


@pytest.mark.parametrize("kind", KINDS)
class TestDecisions:
    @pytest.mark.parametrize("dtype", graphs.quick([np.float64, np.complex128]))
    def test_as_in_plain_python(self, backend, kind, dtype):
        repaired = 0
        for seed in range(12):
            A = weakly_covered(seed=seed, dtype=dtype)
            M = quietly(KINDS[kind], backend.csr(A))
            T, order, b = dense_bands(backend, M)
            T, rows, clipped = repair_oracle.repaired(A.toarray(), T, order, b)
            solver = M._part.solver
            found = [] if solver.repaired is None else np.flatnonzero(backend.host(solver.repaired)).tolist()
            assert found == rows and solver.repaired_couplings == clipped
            inverse, dense = (
                expected(T, order, A.shape[0]),
                backend.host(M @ backend.array(np.eye(A.shape[0]))),
            )
            assert abs(dense - inverse).max() < 1e-9 * max(1, abs(inverse).max()) ** 2
            repaired += clipped
        assert repaired > 0 or kind == "original"

    @pytest.mark.parametrize("make", [weakly_covered, weakly_covered_symmetric])
    def test_none_solves_with_the_bands_as_they_are(self, backend, kind, make):
        A = make()
        M = KINDS[kind](backend.csr(A), repair="none")
        T, order, _ = dense_bands(backend, M)
        dense = backend.host(M @ backend.array(np.eye(A.shape[0])))
        inverse = expected(T, order, A.shape[0])
        assert abs(dense - inverse).max() < 1e-9 * max(1, abs(inverse).max()) ** 2
        assert_untouched(M)

    @pytest.mark.parametrize("upper", [1.0, 2.0])
    def test_none_keeps_tiny_pivots(self, backend, kind, upper):
        """Elimination ends with the pivot 2^-50: the inverse is that large, unless something is repaired."""
        pair = np.array([[1.0, upper], [1 / upper, 1 + 2.0**-50]])
        A, eye = backend.csr(sp.csr_array(sp.block_diag([sp.coo_array(pair)] * 6))), backend.array(np.eye(12))
        M = KINDS[kind](A, repair="none")
        assert_untouched(M)
        assert abs(backend.host(M @ eye)).max() > 2.0**44
        if upper == 1.0:  # symmetric, so clipped by default; the other is solved with pivoting
            assert abs(backend.host(quietly(KINDS[kind], A) @ eye)).max() < 2.0**30

    def test_none_outlasts_updates_and_pickles(self, backend, kind):
        A = weakly_covered_symmetric()
        M = KINDS[kind](backend.csr(A), repair="none")
        dense = backend.host(M @ backend.array(np.eye(A.shape[0])))
        M.update(backend.csr(2 * A))
        assert_untouched(M)
        np.testing.assert_allclose(backend.host(M @ backend.array(np.eye(A.shape[0]))), dense / 2, rtol=1e-9)
        assert_untouched(pickle.loads(pickle.dumps(M)))

    def test_dominant_rows_are_never_touched(self, backend, kind):
        A = weakly_covered(seed=1).toarray()
        np.fill_diagonal(A, np.sign(np.diag(A)) * abs(A).sum(axis=1))
        M = KINDS[kind](backend.csr(sp.csr_array(A)))
        assert M._part.solver.repaired is None

    @pytest.mark.gpu
    def test_both_backends_decide_alike(self, cuda, kind):
        for seed in range(5):
            A = weakly_covered(n=3000, seed=seed)
            masks = [quietly(KINDS[kind], backend.csr(A))._part.repaired for backend in (CPU, cuda)]
            assert (masks[0] is None) == (masks[1] is None)
            if masks[0] is not None:
                np.testing.assert_array_equal(masks[0], cuda.host(masks[1]))


def test_well_covered_paths_are_solved_exactly(backend):
    """Negative pivots of a matrix that is tridiagonal itself are its own."""
    n = 40
    A = sp.diags_array([np.full(n - 1, -1.5), np.full(n, 2.0), np.full(n - 1, -1.2)], offsets=[-1, 0, 1])
    M = lf.tridiagonal(backend.csr(sp.csr_array(A)))
    assert M._part.solver.repaired is None
    x = np.sin(np.arange(n))
    np.testing.assert_allclose(backend.host(M @ backend.array(A @ x)), x, rtol=1e-9, atol=1e-9)


def test_counts_are_printed(backend):
    M = quietly(lf.tridiagonal, backend.csr(weakly_covered()))
    solver = M._part.solver
    assert solver.repaired_paths > 0
    wanted = (
        f"{solver.repaired_couplings} couplings of {solver.repaired_paths} paths with weak pivots clipped"
    )
    assert wanted in str(M)


def test_bands_stay_those_of_the_matrix(backend):
    A = backend.csr(weakly_covered())
    repaired, plain = quietly(lf.tridiagonal, A), lf.tridiagonal(A, repair="none")
    for name in ("lower", "diagonal", "upper"):
        one, other = (backend.host(getattr(M.bands, name)) for M in (repaired, plain))
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("kind", ["forest", "blocks of 2"])
def test_pickles_repair_the_same_paths(backend, kind):
    M = quietly(KINDS[kind], backend.csr(weakly_covered()))
    r = backend.array(np.linspace(-1, 1, 80))
    again = pickle.loads(pickle.dumps(M))
    assert again._part.solver.repaired_couplings == M._part.solver.repaired_couplings > 0
    np.testing.assert_array_equal(backend.host(again @ r), backend.host(M @ r))


def test_states_without_repairs_are_restored():
    """As files of earlier versions have them."""
    A = lf.matrices.poisson((6, 7))
    M = lf.tridiagonal(A)
    header, arrays = packed(M)
    del header["part"]["repair"], header["part"]["repaired"]
    r = np.ones(42)
    np.testing.assert_array_equal(restore("tridiagonal", (header, arrays)) @ r, M @ r)


@pytest.mark.parametrize("kind", ["forest", "blocks of 2"])
def test_updates_decide_anew(backend, kind):
    weak = weakly_covered()
    strong = weak.copy()
    strong.setdiag(100 * np.sign(weak.diagonal()))
    M = quietly(KINDS[kind], backend.csr(strong))
    assert M._part.solver.repaired is None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        M.update(backend.csr(weak))
    assert M._part.solver.repaired is not None
    M.update(backend.csr(strong))
    assert M._part.solver.repaired is None


def test_unknown_repairs_are_refused():
    for make in (lf.tridiagonal, lf.block_tridiagonal):
        with pytest.raises(ValueError, match='repair must be "auto" or "none", got \'some\''):
            make(np.eye(3), repair="some")


@pytest.mark.slow
@pytest.mark.parametrize("name", ["hypre_tucker21935", "pyamg_local_disc_galerkin_diffusion"])
def test_not_worse_than_the_diagonal(name):
    if name not in manifest():
        skip_or_fail("matrices", f"LINFOREST_MATRICES names no folder with {name}")
    A = load_real(name)
    b = A @ np.sin(16 * np.pi * np.arange(A.shape[0]) / A.shape[0])
    counts = []
    for M in (lf.jacobi(A), lf.tridiagonal(A), lf.block_tridiagonal(A)):
        steps = []
        x, info = bicgstab(A, b, rtol=1e-8, maxiter=1000, M=M, callback=steps.append)
        assert info == 0
        counts.append(len(steps))
    assert max(counts[1:]) <= 1.1 * counts[0]
