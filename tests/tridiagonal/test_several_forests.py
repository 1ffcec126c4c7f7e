"""Several forests and polynomials: against the dense formulas, symmetric, definite, and as operators."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
import strategies as graphs
from conftest import CPU
from operator_cases import dominant, other_values

import linforest_precond as lf
from linforest_precond.precond.multigrid.eigenvalue_estimates import chebyshev_steps
from linforest_precond.precond.tridiagonal.several_forests import LOWEST_SHARE, MOST_FORESTS

COMBINATIONS = "multiplicative", "additive"


def random_definite(n=60, seed=0, dtype=np.float64):
    """Hermitian and positive definite, far from diagonally dominant."""
    rng = np.random.default_rng(seed)
    G = sp.random_array((n, n), density=4 / n, rng=rng, data_sampler=rng.standard_normal).toarray()
    if np.dtype(dtype).kind == "c":
        G = G * np.exp(2j * np.pi * rng.random((n, n)))
    A = G @ G.conj().T
    return sp.csr_array((A + A.conj().T) / 2 + 0.05 * np.diag(1 + rng.random(n))).astype(dtype)


def systems(backend, M):
    """The tridiagonal matrices of all forests in A's order, scaled, from their solutions."""
    identity = np.eye(M.shape[0], dtype=M.dtype)
    found = []
    for part in M._part.parts:
        x = backend.array(np.zeros_like(identity))
        part.solve_into(backend.array(identity), x, False)
        found.append(np.linalg.inv(backend.host(x)))
    return found


def sweep(A, systems):
    """M of the symmetric sweep: x += T^-1 (b - A x) for every column of b."""
    b, x = np.eye(A.shape[0]), np.zeros_like(A)
    for T in [*systems, *systems[-2::-1]]:
        x = x + np.linalg.solve(T, b - A @ x)
    return x


def polynomial(A, M, steps):
    b, x, before = np.eye(A.shape[0]), np.zeros_like(A), np.zeros_like(A)
    for momentum, factor in steps:
        x, before = x + momentum * (x - before) + factor * M @ (b - A @ x), x
    return x


def dense(backend, M):
    return backend.host(M @ backend.array(np.eye(M.shape[0], dtype=M.dtype)))


def assert_close(found, wanted, tolerance=1e-10):
    assert abs(found - wanted).max() <= tolerance * abs(wanted).max()


class TestFormulas:
    @pytest.mark.parametrize("forests", [1, 2, 3])
    @pytest.mark.parametrize("combine", COMBINATIONS)
    @pytest.mark.parametrize("symmetric", [True, False])
    @pytest.mark.parametrize("dtype", graphs.quick([np.float64, np.complex128]))
    def test_sweeps_sums_and_polynomials(self, backend, forests, combine, symmetric, dtype):
        A = dominant(symmetric=symmetric, dtype=dtype, seed=3)
        full = A.toarray()
        for steps in (1, 2, 3):
            options = {"forests": forests, "combine": combine, "polynomial": steps}
            if forests == steps == 1:
                continue
            M = lf.tridiagonal(backend.csr(A), **options)
            own = systems(backend, M)
            assert len(own) == forests
            base = sweep(full, own) if combine == "multiplicative" else sum(map(np.linalg.inv, own))
            wanted = polynomial(full, base, M._part.steps) if steps > 1 else base
            assert_close(dense(backend, M), wanted)
            for view, matrix in ((M.T, wanted.T), (M.H, wanted.conj().T)):
                assert_close(backend.host(view @ backend.array(np.eye(len(full), dtype=dtype))), matrix)

    def test_chebyshev_for_definite_matrices_alone(self, backend):
        M = lf.tridiagonal(backend.csr(dominant()), forests=2, polynomial=3)
        first = M._part.steps[0][1]
        largest = 2 / (first * (1 + LOWEST_SHARE))
        np.testing.assert_allclose(M._part.steps, chebyshev_steps(largest, LOWEST_SHARE, 3))
        M = lf.tridiagonal(backend.csr(dominant(symmetric=False)), forests=2, polynomial=3)
        assert len(M._part.steps) == 3 and M._part.steps[0][0] == 0
        assert "truncated Neumann series" in str(M)

    def test_each_forest_is_of_what_those_before_have_left(self, backend):
        A = dominant(symmetric=False, seed=5)
        left = abs(A.toarray()) + abs(A.toarray()).T
        np.fill_diagonal(left, 0)
        for part in lf.tridiagonal(backend.csr(A), forests=3)._part.parts:
            wanted = lf.linear_forest(sp.csr_array(left))
            neighbors = backend.host(part.forest.neighbors)
            np.testing.assert_array_equal(np.sort(neighbors), np.sort(wanted.neighbors))
            for v, w in zip(*np.nonzero(neighbors >= 0), strict=True):
                left[v, neighbors[v, w]] = 0

    @pytest.mark.gpu
    def test_the_same_forests_on_both_backends(self, cuda):
        A = lf.matrices.aniso(2, 40)
        made = [lf.tridiagonal(backend.csr(A), forests=3)._part.parts for backend in (CPU, cuda)]
        for one, other in zip(*made, strict=True):
            np.testing.assert_array_equal(one.forest.order, cuda.host(other.forest.order))


class TestDefinite:
    @pytest.mark.parametrize("combine", COMBINATIONS)
    @pytest.mark.parametrize("steps", [1, 2, 3])
    def test_symmetric_and_definite(self, backend, combine, steps):
        """Though T^-1 A has eigenvalues above 2 for some of the forests."""
        scaled = 0
        for seed in range(6):
            A = random_definite(seed=seed)
            M = lf.tridiagonal(backend.csr(A), forests=3, combine=combine, polynomial=steps)
            found = dense(backend, M)
            assert_close(found, found.T, 1e-11)
            assert np.linalg.eigvalsh((found + found.T) / 2)[0] > 0
            scaled += any(abs(np.diag(T) - A.diagonal()).max() > 1e-6 for T in systems(backend, M))
        assert scaled > 0

    @pytest.mark.slow
    def test_hermitian(self, backend):
        A = random_definite(dtype=np.complex128)
        found = dense(backend, lf.tridiagonal(backend.csr(A), forests=3, polynomial=2))
        assert_close(found, found.conj().T, 1e-11)
        assert np.linalg.eigvalsh(found)[0] > 0

    def test_fewer_iterations(self, backend):
        A = backend.csr(lf.matrices.aniso(2, 40))
        b, counts = A @ backend.array(np.ones(1600)), []
        for options in ({}, {"forests": 2}, {"forests": 3}, {"forests": 3, "polynomial": 2}):
            history = lf.solvers.History()
            _, info = lf.solvers.cg(A, b, rtol=1e-8, M=lf.tridiagonal(A, **options), history=history)
            assert info == 0
            counts.append(len(history))
        assert counts == sorted(counts, reverse=True) and counts[-1] < 0.4 * counts[0]


class TestOperator:
    OPTIONS = {"forests": 2, "polynomial": 2}

    def test_columns_types_and_layouts(self, backend):
        A = dominant(symmetric=False)
        M = lf.tridiagonal(backend.csr(A), **self.OPTIONS)
        wanted, rng = dense(backend, M), np.random.default_rng(0)
        for dtype in (np.float64, np.float32, np.complex128):
            R = rng.standard_normal((50, 300)).astype(dtype)  # more columns than one iteration takes
            for order in "CF":
                product = backend.host(M @ backend.array(np.asarray(R, order=order)))
                assert_close(product, wanted @ R, 1e-6 if dtype == np.float32 else 1e-12)

    @pytest.mark.slow
    def test_stored_in_single_precision(self, backend):
        A = backend.csr(dominant(symmetric=False))
        M, narrow = (lf.tridiagonal(A, dtype=dtype, **self.OPTIONS) for dtype in (None, np.float32))
        assert narrow.stored_dtype == np.float32 and narrow.dtype == np.float64
        assert_close(dense(backend, narrow), dense(backend, M), 1e-5)

    @pytest.mark.parametrize("combine", COMBINATIONS)
    def test_updates(self, backend, combine):
        A = dominant(symmetric=False)
        B = other_values(A)
        M = lf.tridiagonal(backend.csr(A), combine=combine, **self.OPTIONS)
        forests, own = [part.forest for part in M._part.parts], backend.csr(B)
        M.update(own)
        assert [part.forest for part in M._part.parts] == forests
        T = systems(backend, M)
        base = sweep(B.toarray(), T) if combine == "multiplicative" else sum(map(np.linalg.inv, T))
        assert_close(dense(backend, M), polynomial(B.toarray(), base, M._part.steps))

    @pytest.mark.parametrize("options", [OPTIONS, {"forests": 3, "combine": "additive"}, {"polynomial": 3}])
    def test_files_and_pickles(self, backend, options, tmp_path):
        M = lf.tridiagonal(backend.csr(dominant(symmetric=False)), **options)
        lf.save_preconditioner(M, tmp_path / "M.npz")
        wanted = dense(backend, M)
        for again in (pickle.loads(pickle.dumps(M)), lf.load_preconditioner(tmp_path / "M.npz")):
            np.testing.assert_array_equal(dense(backend, again), wanted)
            assert str(again).splitlines()[:-1] == str(M).splitlines()[:-1]  # all but the setup time
            again.update(backend.csr(other_values(dominant(symmetric=False))))

    def test_other_orderings_have_polynomials_too(self, backend):
        A = backend.csr(dominant())
        M = lf.tridiagonal(A, "original", polynomial=2)
        base = np.linalg.inv(systems(backend, M)[0])
        assert_close(dense(backend, M), polynomial(dominant().toarray(), base, M._part.steps))

    def test_cost_is_printed(self, backend):
        A = lf.matrices.poisson((30, 30))
        M = lf.tridiagonal(backend.csr(A), forests=3, polynomial=2)
        text, part = str(M), M._part
        assert "3, swept 1-2-3-2-1" in text and "10 tridiagonal solves, 9 products with A" in text
        n, nnz, bands = 900, A.nnz, 2 if backend.name == "cuda" else 3
        product = 12 * nnz + 4 * (n + 1) + 16 * n
        solves = 10 * n * (8 * bands + 16 + 4)
        vectors = 2 * 4 * 3 + 1 + 3 + 4  # sums in two sweeps of five solves, and two steps
        assert part.cost == (10, 9, solves + 9 * (product + 8 * n) + 8 * n * vectors)
        assert M.coverage == pytest.approx(sum(own.coverage for own in part.parts))

    @pytest.mark.parametrize("n", [0, 1, 2])
    def test_tiny_and_diagonal_matrices(self, backend, n):
        """Fewer forests where no edges are left."""
        M = lf.tridiagonal(backend.csr(sp.csr_array(2.0 * np.eye(n))), forests=3, polynomial=2)
        assert len(M._part.parts) == 1
        assert_close(dense(backend, M), dense(backend, M).T) if n else None
        assert (M @ backend.array(np.ones(n))).shape == (n,)

    @pytest.mark.slow
    @pytest.mark.parametrize("dtype", graphs.DTYPES)
    def test_wide_indices_and_other_types(self, backend, dtype):
        A = graphs.with_types(dominant(dtype=dtype), dtype, np.int64)
        M = lf.tridiagonal(backend.csr(A), **self.OPTIONS)
        base = sweep(A.toarray(), systems(backend, M))
        tolerance = 1e-4 if np.finfo(dtype).eps > 1e-10 else 1e-10
        assert_close(dense(backend, M), polynomial(A.toarray(), base, M._part.steps), tolerance)

    @pytest.mark.parametrize(
        ("options", "words"),
        [
            ({"forests": 0}, r"forests must lie in \[1, 8\], got 0"),
            ({"forests": MOST_FORESTS + 1}, "forests must lie in"),
            ({"polynomial": 9}, r"polynomial must lie in \[1, 8\], got 9"),
            (
                {"forests": 2, "combine": "both"},
                'combine must be "multiplicative" or "additive", got \'both\'',
            ),
            ({"forests": 2, "ordering": "rcm"}, 'forests must be 1 unless ordering is "forest"'),
        ],
    )
    def test_bad_options(self, options, words):
        with pytest.raises(ValueError, match=words):
            lf.tridiagonal(np.eye(3), **options)
        with pytest.raises(TypeError, match="forests must be an integer, got 1.5"):
            lf.tridiagonal(np.eye(3), forests=1.5)
