"""Scalings and matchings to the diagonal: against SciPy's exact matching, their duals, and dense formulas."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
import strategies as graphs
from operator_cases import assert_close, assert_operator, dominant, other_values, state, wanted_inverse
from scipy.sparse.csgraph import maximum_bipartite_matching, min_weight_full_bipartite_matching

import linforest_precond as lf
from linforest_precond.backends.cpu.matching import auction
from linforest_precond.backends.cpu.matrix import log_scaling
from linforest_precond.backends.cpu.matrix.log_scaling import UNIT
from linforest_precond.matrix.checked import checked

FINEST = 2.0**-20
KINDS = {
    "jacobi": lf.jacobi,
    "block jacobi": lambda A, **options: lf.block_jacobi(A, 3, **options),
    "forest": lf.tridiagonal,
    "original": lambda A, **options: lf.tridiagonal(A, "original", **options),
    "blocks": lf.block_tridiagonal,
    "direct": lf.direct,
}


def matchable(n, seed=0, per_row=4, spread=8.0, dtype=np.float64):
    """A random matrix with a perfect matching off the diagonal, and entries of many magnitudes."""
    rng = np.random.default_rng(seed)
    rows, cols = np.tile(np.arange(n), per_row), rng.integers(0, n, per_row * n)
    cols[:n] = rng.permutation(n)
    values = np.exp(spread * rng.standard_normal(rows.size)) * rng.choice([-1, 1], rows.size)
    if np.dtype(dtype).kind == "c":
        values = values * np.exp(2j * np.pi * rng.random(rows.size))
    A = sp.csr_array(sp.coo_array((values.astype(dtype), (rows, cols)), shape=(n, n)))
    return graphs.with_types(A, dtype, np.int32)


def indefinite(n, seed=0):
    """A symmetric matrix with zeros on most of the diagonal."""
    A = matchable(n, seed, spread=2.0).toarray()
    A = A + A.T
    np.fill_diagonal(A, np.where(np.arange(n) % 3 == 0, np.diag(A), 0))
    return sp.csr_array(A)


def fixed_weights(A):
    """log2 of the magnitudes in the auction's units."""
    return np.rint(np.log2(abs(A.data)) * UNIT)


def best_product(A):
    """SciPy's optimum of the sum of weights; integers, because it does not end on some inexact ones."""
    weights = fixed_weights(A)
    costs = sp.csr_array((weights.max() - weights + 1, A.indices, A.indptr), shape=A.shape)
    rows, cols = min_weight_full_bipartite_matching(costs)
    return np.log2(abs(A.toarray()[rows, cols])).sum()


def dense_scaled(backend, scaling, A):
    row, column = backend.host(scaling.row), backend.host(scaling.column)
    scaled = row[:, None] * A.toarray() * column
    return scaled if scaling.permutation is None else scaled[backend.host(scaling.permutation)]


def singular(n, missing):
    """`missing` rows have their only entry in one column that another row needs, too."""
    A = sp.lil_array(matchable(n, 3))
    for row in range(missing + 1):
        A[row] = 0
        A[row, 0] = 1.0
    A[:, 0] = np.r_[np.ones(missing + 1), np.zeros(n - missing - 1)].reshape(-1, 1)
    A = sp.csr_array(A)
    A.eliminate_zeros()
    return A


class TestMatching:
    @pytest.mark.parametrize("seed", range(4))
    def test_product_is_that_of_scipys_matching(self, backend, seed):
        A = matchable(60, seed)
        scaling = lf.scaling(backend.csr(A), tolerance=FINEST)
        product = np.log2(abs(A.toarray()[backend.host(scaling.permutation), np.arange(60)])).sum()
        assert product == pytest.approx(best_product(A), abs=60 * 3 * FINEST)

    def test_duals_are_feasible_and_tight(self, backend):
        A = matchable(200, 7)
        scaling = lf.scaling(backend.csr(A))
        B = abs(dense_scaled(backend, scaling, A))
        assert B.max() <= 2.0**2.0**-9 * (1 + 1e-5)
        np.testing.assert_allclose(np.diag(B), 1, rtol=1e-14)

    def test_augmenting_paths_keep_slackness(self, monkeypatch):
        # Without an auction every row is matched by paths.
        A = matchable(80, 5)
        monkeypatch.setattr(auction, "MOST_ROUNDS", 0)
        monkeypatch.setattr(auction, "LAST_BIDS_PER_ROW", 0)
        scaling = lf.scaling(A)
        assert abs(scaling.apply(A)).max() <= 1 + 1e-5
        product = np.log2(abs(A.toarray()[scaling.permutation, np.arange(80)])).sum()
        assert product == pytest.approx(best_product(A), abs=80 * 3 * FINEST)

    def test_permuted_diagonal_is_found(self, backend):
        order = np.random.default_rng(2).permutation(300)
        A = sp.csr_array(lf.matrices.poisson(300)[order])
        found = backend.host(lf.scaling(backend.csr(A)).permutation)
        np.testing.assert_array_equal(found[order], np.arange(300))

    @pytest.mark.parametrize("missing", [1, 7])
    def test_structurally_singular(self, backend, missing):
        A = singular(50, missing)
        assert (maximum_bipartite_matching(A) < 0).sum() == missing
        with pytest.raises(ValueError, match=f"{missing} of 50 rows cannot be matched"):
            lf.scaling(backend.csr(A))
        with pytest.warns(RuntimeWarning, match="the diagonal of A has zeros"):
            assert "matching" not in str(lf.jacobi(backend.csr(A), scaling="auto"))

    def test_empty_rows_and_explicit_zeros_match_nothing(self, backend):
        A = sp.csr_array(np.eye(3))
        A.data[:] = [1, 0, 2]
        with pytest.raises(ValueError, match="1 of 3 rows"):
            lf.scaling(backend.csr(A))

    @pytest.mark.parametrize("dtype", graphs.quick([np.float64, np.float32, np.complex64, np.complex128]))
    def test_types(self, backend, dtype):
        A = matchable(40, 1, dtype=dtype, spread=3.0)
        scaling = lf.scaling(backend.csr(A))
        B = scaling.apply(backend.csr(A))
        assert B.dtype == dtype and type(B) is type(backend.csr(A))
        wanted = dense_scaled(backend, scaling, A)
        assert_close(backend.host(B.toarray()), wanted, 1e-6 if np.finfo(dtype).eps > 1e-10 else 1e-14)
        np.testing.assert_allclose(abs(wanted.diagonal()), 1, rtol=1e-5)

    @pytest.mark.parametrize("n", [0, 1])
    def test_smallest(self, backend, n):
        A = backend.csr(sp.csr_array(4.0 * np.eye(n)))
        for method in ("matching", "equilibrate", "jacobi"):
            scaling = lf.scaling(A, method)
            assert scaling.n == n and "rows" in str(scaling)
            np.testing.assert_allclose(backend.host(scaling.apply(A).toarray()), np.eye(n), rtol=1e-14)

    def test_the_last_bids_go_on_where_the_others_stop(self, monkeypatch):
        monkeypatch.setattr(auction, "LAST_BIDS_PER_ROW", 1000)
        A = matchable(200, 9)
        csr, pattern = checked(A), (A.indptr, A.indices)
        weights = log_scaling.fixed_logarithms(abs(A.data))
        found = []
        for stop in (0, 5, 20):
            duals = log_scaling.maxima(*pattern, weights)[1], *np.full((2, csr.n), -1, A.indices.dtype)
            auction.bid(*pattern, weights, *duals, UNIT, stop)
            auction.bid_last(*pattern, weights, *duals, UNIT)
            found.append(np.concatenate(duals))
        np.testing.assert_array_equal(found[0], found[1])
        np.testing.assert_array_equal(found[0], found[2])

    @pytest.mark.gpu
    @pytest.mark.parametrize(("n", "per_row"), [(50, 3), (3000, 5), (40_000, 6), (400, 200)])
    def test_backends_agree(self, cuda, n, per_row):
        A = matchable(n, 11, per_row)
        one, other = lf.scaling(A), lf.scaling(cuda.csr(A))
        for name in ("row", "column", "permutation"):
            np.testing.assert_array_equal(getattr(one, name), cuda.host(getattr(other, name)))
        for name in ("data", "indices", "indptr"):
            found = cuda.host(getattr(other.apply(cuda.csr(A)), name))
            np.testing.assert_array_equal(getattr(one.apply(A), name), found)
        one, other = lf.scaling(A, "equilibrate"), lf.scaling(cuda.csr(A), "equilibrate")
        np.testing.assert_array_equal(one.row, cuda.host(other.row))
        np.testing.assert_array_equal(one.column, cuda.host(other.column))

    @pytest.mark.slow
    @pytest.mark.parametrize("weights", ["random", "ones"])
    def test_large_grid(self, backend, weights):
        A = sp.csr_array(lf.matrices.poisson((30, 30, 30)))
        A.setdiag(0)
        A.eliminate_zeros()
        if weights == "random":
            A.data = np.exp(np.random.default_rng(1).standard_normal(A.nnz))
        scaling = lf.scaling(backend.csr(A), symmetric=False)
        B = abs(backend.host(scaling.apply(backend.csr(A)).data))
        assert B.max() <= 2.0**2.0**-9 * (1 + 1e-5)

    def test_real_matrix(self, small_real_name):
        A = lf.matrices.load(small_real_name)
        try:
            scaling = lf.scaling(A, symmetric=False)
        except ValueError as error:
            assert f"{(maximum_bipartite_matching(_nonzeros(A)) < 0).sum()} of" in str(error)
            return
        B = abs(scaling.apply(A))
        assert B.max() <= 2.0**2.0**-9 * (1 + 1e-5)
        np.testing.assert_allclose(B.diagonal(), 1, rtol=1e-6)


def _nonzeros(A):
    A = sp.csr_array(A)
    A.eliminate_zeros()
    return A


class TestSymmetric:
    def test_stays_symmetric(self, backend):
        A = indefinite(90)
        scaling = lf.scaling(backend.csr(A))
        assert scaling.permutation is None and scaling.is_symmetric
        B = backend.host(scaling.apply(backend.csr(A)).toarray())
        np.testing.assert_array_equal(B, B.T)
        assert abs(B).max() <= 1.01

    def test_partners_have_entries_of_magnitude_one(self, backend):
        A = indefinite(90)
        scaling = lf.scaling(backend.csr(A), tolerance=FINEST)
        partners = backend.host(scaling.partners)
        paired = np.flatnonzero(partners >= 0)
        assert paired.size > 30
        np.testing.assert_array_equal(partners[partners[paired]], paired)
        B = abs(backend.host(scaling.apply(backend.csr(A)).toarray()))
        np.testing.assert_allclose(B[paired, partners[paired]], 1, rtol=1e-4)

    @pytest.mark.filterwarnings("ignore:the tridiagonal system:RuntimeWarning")
    def test_partners_are_the_pairs_of_the_block_forest(self, backend):
        A = backend.csr(indefinite(90))
        M, partners = lf.block_tridiagonal(A, scaling="matching"), backend.host(lf.scaling(A).partners)
        blocks = {tuple(sorted(pair)) for pair in backend.host(M.forest.members).reshape(-1, 2).tolist()}
        assert {(v, w) for v, w in enumerate(partners.tolist()) if v < w} <= blocks

    def test_refused_for_a_nonsymmetric_matrix(self, backend):
        with pytest.raises(ValueError, match="symmetric"):
            lf.scaling(backend.csr(matchable(9)), symmetric=True)


class TestOtherMethods:
    def test_equilibrated_norms(self, backend):
        A = matchable(100, 4, spread=20.0)
        scaling = lf.scaling(backend.csr(A), "equilibrate")
        for factors in (scaling.row, scaling.column):
            np.testing.assert_array_equal(np.frexp(backend.host(factors))[0], 0.5)  # powers of two
        B = abs(backend.host(scaling.apply(backend.csr(A)).toarray()))
        for norms in (B.max(axis=0), B.max(axis=1)):
            assert norms.min() > 0.4 and norms.max() < 2.5

    def test_equilibrated_symmetric(self, backend):
        A = indefinite(50)
        scaling = lf.scaling(backend.csr(A), "equilibrate")
        assert scaling.is_symmetric

    def test_jacobi(self, backend):
        A = dominant()
        B = backend.host(lf.scaling(backend.csr(A), "jacobi").apply(backend.csr(A)).toarray())
        np.testing.assert_allclose(np.diag(B), 1, rtol=1e-14)
        np.testing.assert_array_equal(B, B.T)
        zero = sp.csr_array(np.array([[0.0, 2.0], [2.0, 9.0]]))
        np.testing.assert_array_equal(backend.host(lf.scaling(backend.csr(zero), "jacobi").row), [1, 1 / 3])


@pytest.mark.parametrize("method", ["matching", "equilibrate", "jacobi"])
def test_the_inverted_scaling_gives_the_matrix_back(backend, method):
    A = dominant(symmetric=False, seed=5)[np.random.default_rng(0).permutation(50)]
    A = sp.csr_array(A if method == "matching" else A + sp.eye_array(50))
    scaling = lf.scaling(backend.csr(A), method)
    B = scaling.inverted().apply(scaling.apply(backend.csr(A)))
    np.testing.assert_allclose(backend.host(B.toarray()), A.toarray(), rtol=1e-12)


class TestPreconditioners:
    @pytest.mark.parametrize("method", ["matching", "equilibrate", "jacobi"])
    @pytest.mark.parametrize("kind", KINDS)
    def test_product_is_the_dense_formula(self, backend, kind, method):
        A = dominant(symmetric=False, seed=5)
        if method == "matching":
            A = A[np.random.default_rng(0).permutation(50)]
        scaling = lf.scaling(backend.csr(A), method)
        inner = KINDS[kind](scaling.apply(backend.csr(A)))
        B = sp.csr_array(dense_scaled(backend, scaling, A))
        inverse = wanted_inverse(backend, B, inner)
        if scaling.permutation is not None:
            order = backend.host(scaling.permutation)
            moved = np.zeros_like(inverse)
            moved[:, order] = inverse
            inverse = moved
        inverse = backend.host(scaling.column)[:, None] * inverse * backend.host(scaling.row)
        M = KINDS[kind](backend.csr(A), scaling=method)
        assert "scaling" in str(M) and method in str(M)
        assert_operator(backend, M, inverse)

    @pytest.mark.parametrize(
        ("dtype", "stored"), graphs.quick([(np.float64, np.float32), (np.complex128, np.complex64)])
    )
    def test_stored_in_single_precision(self, backend, dtype, stored):
        A = backend.csr(matchable(60, 2, dtype=dtype, spread=2.0))
        M, wide = (lf.jacobi(A, dtype=each, scaling="matching") for each in (stored, dtype))
        x = backend.array(np.ones((60, 2)))
        assert M.stored_dtype == stored
        np.testing.assert_allclose(backend.host(M @ x), backend.host(wide @ x), rtol=1e-5)

    def test_no_scaling_changes_no_bits(self, backend):
        A = backend.csr(dominant())
        assert state(backend, lf.tridiagonal(A, scaling=None)) == state(backend, lf.tridiagonal(A))
        assert state(backend, lf.tridiagonal(A, scaling="auto")) == state(backend, lf.tridiagonal(A))

    def test_auto_matches_where_the_diagonal_has_zeros(self, backend):
        A = backend.csr(matchable(60, 2))
        assert state(backend, lf.jacobi(A, scaling="auto")) == state(
            backend, lf.jacobi(A, scaling="matching")
        )

    def test_update_keeps_the_scaling(self, backend):
        A = dominant(seed=3, symmetric=False)
        B = other_values(A)
        M = lf.tridiagonal(backend.csr(A), scaling="matching")
        M.update(backend.csr(B))
        wanted = lf.tridiagonal(backend.csr(A), scaling=lf.scaling(backend.csr(A)))
        wanted.update(backend.csr(B))
        assert state(backend, M) == state(backend, wanted)
        x = np.random.default_rng(1).standard_normal(50)
        assert np.isfinite(backend.host(M @ backend.array(x))).all()

    @pytest.mark.parametrize("kind", KINDS)
    def test_pickles_and_files(self, backend, kind, tmp_path):
        A = backend.csr(matchable(60, 2, spread=1.0))
        M = KINDS[kind](A, scaling="matching")
        lf.save_preconditioner(M, tmp_path / "M.npz")
        for restored in (pickle.loads(pickle.dumps(M)), lf.load_preconditioner(tmp_path / "M.npz")):
            assert state(backend, restored) == state(backend, M)

    def test_symmetric_pairs_are_stored(self, backend):
        M = lf.block_tridiagonal(backend.csr(indefinite(40)), scaling="matching")
        assert state(backend, pickle.loads(pickle.dumps(M))) == state(backend, M)

    def test_solves_what_nothing_else_does(self, backend):
        heavy = sp.csr_array(sp.diags_array(np.full(400, 50.0)))[np.random.default_rng(0).permutation(400)]
        A = backend.csr(sp.csr_array(heavy + matchable(400, 8, per_row=3, spread=0.5)))
        b = A @ backend.array(np.ones(400))
        x, info = lf.solvers.bicgstab(A, b, M=lf.tridiagonal(A, scaling="auto"), rtol=1e-10, maxiter=200)
        assert info == 0 and np.allclose(backend.host(x), 1)


class TestHierarchies:
    """`scaling=` of `multilevel`: cycles of the scaled matrix, solutions of the given one."""

    @staticmethod
    def shuffled(backend):
        """A diffusion matrix whose rows are out of place and out of scale."""
        rng = np.random.default_rng(3)
        A = sp.csr_array(lf.matrices.poisson((30, 30)))
        A = sp.csr_array(sp.diags_array(10.0 ** rng.integers(-3, 4, 900)) @ A)[rng.permutation(900)]
        return backend.csr(graphs.with_types(A, np.float64, np.int32))

    def test_cycle_is_that_of_the_scaled_matrix(self, backend):
        A = self.shuffled(backend)
        scaling, r = lf.scaling(A), np.random.default_rng(0).standard_normal(900)
        inner = lf.multilevel(scaling.apply(A)).aspreconditioner()
        row, column, order = map(backend.host, (scaling.row, scaling.column, scaling.permutation))
        wanted = column * backend.host(inner @ backend.array((row * r)[order]))
        M = lf.multilevel(A, scaling="matching").aspreconditioner()
        np.testing.assert_allclose(backend.host(M @ backend.array(r)), wanted, rtol=1e-12)

    @pytest.mark.parametrize("accel", ["auto", None])
    def test_solves_the_given_system(self, backend, accel):
        A = self.shuffled(backend)
        ml, b = lf.multilevel(A, scaling="auto", cycle="V"), A @ backend.array(np.ones(900))
        x, info = ml.solve(b, tol=1e-9, maxiter=200, accel=accel, return_info=True)
        assert info == 0 and "matching" in str(ml)
        residual = backend.host(b - A @ x)
        assert np.linalg.norm(residual) <= 1.01e-9 * np.linalg.norm(backend.host(b))

    def test_symmetric_scaling_keeps_conjugate_gradients(self, backend):
        D = sp.diags_array(2.0 ** np.random.default_rng(0).integers(-9, 9, 900))
        A = backend.csr(sp.csr_array(D @ lf.matrices.poisson((30, 30)) @ D))
        history, M = lf.solvers.History(), lf.multilevel(A, scaling="equilibrate").aspreconditioner()
        x, info = lf.solvers.cg(A, A @ backend.array(np.ones(900)), M=M, rtol=1e-10, history=history)
        assert info == 0 and history.iterations[-1] < 40

    def test_update_pickle_and_levels(self, backend):
        A = self.shuffled(backend)
        ml = lf.multilevel(A, scaling="matching")
        ml.update(2 * A)
        restored = pickle.loads(pickle.dumps(ml))
        r = backend.array(np.random.default_rng(0).standard_normal(900))
        np.testing.assert_array_equal(
            backend.host(restored.aspreconditioner() @ r), backend.host(ml.aspreconditioner() @ r)
        )
        B = backend.host(ml.levels[0].A.todense())
        np.testing.assert_allclose(abs(np.diag(B)), 2, rtol=2**-8)

    def test_refused_with_candidates(self, backend):
        A = self.shuffled(backend)
        with pytest.raises(ValueError, match="scaling must be None with B"):
            lf.multilevel(A, scaling="matching", B=backend.array(np.ones(900)))
        with pytest.raises(ValueError, match="scaling"):
            lf.multilevel(A, scaling="best")


class TestErrors:
    @pytest.mark.parametrize("wrong", ["match", 3, np.ones(3)])
    def test_unknown_scaling(self, backend, wrong):
        with pytest.raises(ValueError, match="scaling must be None"):
            lf.jacobi(backend.csr(dominant()), scaling=wrong)

    def test_unknown_method_or_tolerance(self, backend):
        A = backend.csr(dominant())
        with pytest.raises(ValueError, match="method must be"):
            lf.scaling(A, "auto")
        with pytest.raises(ValueError, match="tolerance must lie"):
            lf.scaling(A, tolerance=0)

    def test_scaling_of_another_matrix(self, backend):
        scaling = lf.scaling(backend.csr(dominant(20)))
        with pytest.raises(ValueError, match="scaling.row must have one number for each of A's 50 rows"):
            lf.jacobi(backend.csr(dominant()), scaling=scaling)

    @pytest.mark.parametrize(
        ("field", "wrong"),
        [
            ("row", np.zeros(50)),
            ("column", np.full(50, np.nan)),
            ("permutation", np.zeros(50, np.int32)),
            ("permutation", np.full(50, 99)),
            ("partners", np.zeros(50, np.int32)),
        ],
    )
    def test_altered_records(self, backend, field, wrong):
        A = backend.csr(dominant())
        values = {"method": "matching", "row": np.ones(50), "column": np.ones(50), field: wrong}
        scaling = lf.MatrixScaling(
            **{name: backend.array(each) if name != "method" else each for name, each in values.items()}
        )
        with pytest.raises(ValueError, match=f"scaling.{field} must"):
            lf.block_tridiagonal(A, scaling=scaling)
        with pytest.raises(ValueError, match=f"scaling.{field} must"):
            scaling.apply(A)
