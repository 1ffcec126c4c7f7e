"""ILU(0) and IC(0): against the textbook algorithm, in all orders."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
import strategies as graphs
from hypothesis import given
from hypothesis import strategies as st
from ilu_oracles import incomplete_lu, levels_in_order, product_in_order
from operator_cases import assert_close, dominant, other_values, vectors

import linforest_precond as lf
from linforest_precond.backends.cuda.ilu.triangular import tiles_of
from linforest_precond.precond.ilu.row_orders import ORDERS
from linforest_precond.precond.preconditioner import packed, restore

# Symmetric positive definite, without incomplete Cholesky factors (Kershaw 1978).
KERSHAW = np.array([[3.0, -2, 0, 2], [-2, 3, -2, 0], [0, -2, 3, -2], [2, 0, -2, 3]])


def dense(backend, M):
    return backend.host(M @ backend.array(np.eye(M.shape[0], dtype=M.dtype)))


def triangles(backend, M):
    """L and D (I + U) as dense matrices, rows sorted by level, and the order."""
    part = M._part
    n, pivots = part.n, 1 / backend.host(part.inverse)
    lower, upper = (
        sp.csr_array(tuple(map(backend.host, (data, indices, indptr))), shape=(n, n)).toarray()
        for indptr, indices, data in (part.lower, part.upper)
    )
    return lower + np.eye(n), pivots[:, None] * (upper + np.eye(n)), backend.host(M.ordering.order)


def wide_range(rng, A):
    """A with rows and columns scaled, which ILU(0) does not notice."""
    scales = 10.0 ** rng.integers(-8, 9, (2, A.shape[0]))
    return sp.csr_array(sp.diags_array(scales[0]) @ A @ sp.diags_array(scales[1]))


@pytest.mark.parametrize("order", ORDERS)
class TestFactors:
    @pytest.mark.parametrize("symmetric", [True, False])
    def test_textbook(self, backend, order, symmetric):
        A = dominant(symmetric=symmetric, seed=3)
        M = lf.ilu(backend.csr(A), ordering=order)
        L, U, rows = triangles(backend, M)
        wanted = incomplete_lu(A[rows][:, rows])
        assert_close(L, wanted[0], 1e-13)
        assert_close(U, wanted[1], 1e-13)
        assert_close(dense(backend, M), np.linalg.inv(product_in_order(A, rows)), 1e-13)

    def test_the_product_is_a_on_its_pattern(self, backend, order):
        A = wide_range(np.random.default_rng(1), dominant(symmetric=False, seed=5))
        L, U, rows = triangles(backend, lf.ilu(backend.csr(A), ordering=order))
        wanted = A.toarray()[rows][:, rows]
        stored = wanted != 0
        np.testing.assert_allclose((L @ U)[stored], wanted[stored], rtol=1e-10)

    def test_levels(self, backend, order):
        A = sp.csr_array(sp.triu(lf.matrices.poisson((8, 9))) + sp.eye_array(72))  # not symmetric
        M = lf.ilu(backend.csr(A), ordering=order)
        starts, rank = backend.host(M._part.starts), backend.host(M.ordering.rank)
        level = np.searchsorted(starts, rank, side="right") - 1
        for i, j in zip(*sp.coo_array(A).coords):
            assert i == j or level[i] != level[j]
        if order == "colors":
            colors = lf.graph.vertex_coloring(backend.csr(A), "LDF")
            np.testing.assert_array_equal(level, backend.host(colors))
        else:
            np.testing.assert_array_equal(level, levels_in_order(A, own_order(backend, A, order)))

    def test_sorting_by_level_does_not_change_the_factors(self, backend, order):
        """They are those of the order that the levels come from."""
        A = dominant(symmetric=False, seed=7)
        M = lf.ilu(backend.csr(A), ordering=order)
        wanted = np.linalg.inv(product_in_order(A, own_order(backend, A, order)))
        assert_close(dense(backend, M), wanted, 1e-13)

    def test_exact_where_nothing_is_dropped(self, backend, order):
        path = np.random.default_rng(2).permutation(20)
        A = sp.diags_array([-1.0, 3, -1.5], offsets=[-1, 0, 1], shape=(20, 20)).toarray()
        full = dominant(12, symmetric=False).toarray() + 0.1
        cases = [full] if order == "colors" else [full, A]
        cases += [A[np.ix_(path, path)]] if order in ("rcm", "forest", "minimum_degree") else []
        for B in cases:
            M = lf.ilu(backend.csr(sp.csr_array(B)), ordering=order)
            assert_close(dense(backend, M) @ B, np.eye(len(B)), 1e-12)
            assert M._part.findings.dropped < 1e-12

    @pytest.mark.gpu
    @pytest.mark.parametrize("dtype", graphs.DTYPES)
    def test_both_backends_give_the_same_bits(self, cuda, order, dtype):
        for A in (
            dominant(300, dtype, symmetric=False),
            dominant(300, dtype),
            graphs.with_types(lf.matrices.aniso(2, 60), dtype),
        ):
            one, other = lf.ilu(A, ordering=order)._part, lf.ilu(cuda.csr(A), ordering=order)._part
            pairs = [(one.starts, other.starts), (one.ordering.order, other.ordering.order)]
            pairs += [*zip(one.lower, other.lower), *zip(one.upper, other.upper)]
            for here, there in (*pairs, (one.inverse, other.inverse)):
                np.testing.assert_array_equal(here, cuda.host(there))


def own_order(backend, A, order):
    """The order that the levels come from, by other public functions."""
    B = backend.csr(A)
    if order == "natural":
        return np.arange(A.shape[0])
    if order == "forest":
        return backend.host(lf.linear_forest(B).order)
    if order == "rcm":
        return backend.host(lf.graph.reverse_cuthill_mckee(B))
    if order == "minimum_degree":
        return backend.host(lf.graph.minimum_degree(B))
    return np.argsort(backend.host(lf.graph.vertex_coloring(B, "LDF")), kind="stable")


class TestCholesky:
    @pytest.mark.parametrize("dtype", graphs.quick([np.float64, np.complex128, np.complex64]))
    def test_hermitian(self, backend, dtype):
        A = dominant(dtype=dtype, seed=2)
        M = lf.ilu(backend.csr(A), ordering="natural")
        inverse = dense(backend, M)
        assert M._part.cholesky and "IC(0)" in str(M) and "repairs            none" in str(M)
        assert_close(inverse, inverse.conj().T, 1e-6 if dtype == np.complex64 else 1e-14)
        assert np.linalg.eigvalsh(inverse).min() > 0
        L, U, rows = triangles(backend, M)
        np.testing.assert_allclose(L * np.diag(U).real, U.conj().T, rtol=1e-5)

    @pytest.mark.parametrize("order", ORDERS)
    def test_breakdown(self, backend, order):
        M = lf.ilu(backend.array(KERSHAW), ordering=order)
        _, shift, breakdowns, _ = M._part.findings
        assert M._part.cholesky
        if order == "natural":
            assert shift > 0 and breakdowns > 0
            assert f"shifted by {shift:g}" in str(M) and f"{breakdowns} breakdowns" in str(M)
        rows = backend.host(M.ordering.order)
        wanted = product_in_order(sp.csr_array(KERSHAW + shift * np.diag(np.diag(KERSHAW))), rows)
        assert_close(dense(backend, M), np.linalg.inv(wanted), 1e-12)
        assert np.linalg.eigvalsh(dense(backend, M)).min() > 0

    def test_scaling_does_not_matter(self, backend):
        """Neither for breakdowns nor for pivots that count as tiny."""
        scales = np.diag([1.0, 2.0**30, 2.0**-30, 1.0])
        A = scales @ KERSHAW @ scales
        M, scaled = (lf.ilu(backend.array(B), ordering="natural") for B in (KERSHAW, A))
        assert scaled._part.findings == M._part.findings
        inverse = np.linalg.inv(scales)
        np.testing.assert_allclose(dense(backend, scaled), inverse @ dense(backend, M) @ inverse, rtol=1e-12)

    def test_a_singular_matrix(self, backend):
        A = sp.diags_array([-1.0, 2, -1], offsets=[-1, 0, 1], shape=(9, 9)).tolil()
        A[0, 0] = A[8, 8] = 1.0
        with pytest.warns(RuntimeWarning, match="1 pivot of") as told:
            M = lf.ilu(backend.csr(sp.csr_array(A)), ordering="natural")
        assert len(told) == 1 and M._part.cholesky
        assert np.linalg.eigvalsh(dense(backend, M)).min() > 0

    def test_an_indefinite_matrix(self, backend):
        """A positive diagonal, but couplings so strong that a shift of the diagonal is of no use."""
        A = np.array([[1e-3, 1.0, 0], [1, 1e-3, 1], [0, 1, 1e-3]])
        M = lf.ilu(backend.array(A), ordering="natural")
        assert not M._part.cholesky and M._part.findings.shift == 0
        assert "no Cholesky factors" in str(M) and "not for CG" in str(M)
        assert_close(dense(backend, M) @ A, np.eye(3), 1e-8)

    def test_what_is_not_definite(self, backend):
        A = dominant()
        A.setdiag(-A.diagonal())
        assert not lf.ilu(backend.csr(A))._part.cholesky
        skew = dominant().toarray()
        skew[0, 1], skew[1, 0] = 1.0, -1.0
        M = lf.ilu(backend.array(skew))
        assert not M._part.cholesky and "not for CG" in str(M)


class TestPivots:
    def test_zeros_on_the_diagonal(self, backend):
        """Stored or not, a tiny pivot becomes sqrt(eps) times the largest entry of its row."""
        A = sp.csr_array(np.array([[0.0, 2, 0], [1, 5, 1], [0, 4, 0]]))
        with pytest.warns(RuntimeWarning, match="1 pivot of the incomplete factorization was tiny") as told:
            M = lf.ilu(backend.csr(A), ordering="natural")
        assert len(told) == 1 and told[0].filename == __file__
        repaired = A.toarray()
        repaired[0, 0] = 2 * 2.0**-26
        # The last row has the pivot -4 u_12 / u_11.
        assert_close(dense(backend, M) * 1e-8, np.linalg.inv(repaired) * 1e-8, 1e-6)
        assert "1 pivots perturbed" in str(M)
        with pytest.warns(RuntimeWarning) as told:
            lf.ilu(backend.csr(A))
        assert len(told) == 1  # whichever orders were tried

    @pytest.mark.parametrize("size", [1, 3])
    def test_empty_rows(self, backend, size):
        with pytest.warns(RuntimeWarning, match=f"{size} pivots? of"):
            M = lf.ilu(backend.csr(sp.csr_array((size, size))))
        np.testing.assert_array_equal(dense(backend, M), np.eye(size))

    def test_no_rows(self, backend):
        for order in ("auto", *ORDERS):
            M = lf.ilu(backend.csr(sp.csr_array((0, 0))), ordering=order)
            assert (M @ backend.array(np.ones(0))).shape == (0,) and "levels" in str(M)

    def test_growth_until_entries_overflow(self, backend):
        """Pivots of 1e-12 by rows of ones multiply entries by 1e12, from row to row."""
        n = 60
        A = sp.diags_array([np.ones(n - 1), np.full(n, 1e-12), np.ones(n - 1), np.ones(n - 2)],
                           offsets=[-1, 0, 1, -2]).toarray()  # fmt: skip
        A[:, -1] = A[-1] = 1.0
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            M = lf.ilu(backend.array(A), ordering="natural")
        assert np.isfinite(dense(backend, M)).all()

    @given(A=graphs.matrices(max_size=12, dtypes=(np.float64,)), order=st.sampled_from(ORDERS))
    def test_any_matrix(self, backend, A, order):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            M = lf.ilu(backend.csr(A), ordering=order)
        assert sorted(backend.host(M.ordering.order).tolist()) == list(range(A.shape[0]))
        part = M._part
        for indptr, indices, data in (part.lower, part.upper):
            assert backend.host(indptr)[-1] == indices.size == data.size
            assert np.isfinite(backend.host(data)).all()
        if not part.findings.perturbed and not part.findings.shift:
            L, U, rows = triangles(backend, M)
            wanted = np.ldexp(A.toarray()[rows][:, rows], -M._applied.exponent)
            stored = wanted != 0
            size = (abs(L) @ abs(U)).max(initial=1.0)
            assert abs((L @ U - wanted)[stored]).max(initial=0.0) <= 1e-12 * size


class TestSolves:
    def test_sweeps(self, backend):
        A = backend.csr(dominant(symmetric=False))
        exact = lf.ilu(A, ordering="natural")
        levels = exact._part.starts.size - 1
        enough = lf.ilu(A, ordering="natural", sweeps=levels)
        assert_close(dense(backend, enough), dense(backend, exact), 1e-13)
        assert_close(dense(backend, enough.T), dense(backend, exact).T, 1e-13)
        assert f"{levels} Jacobi sweeps" in str(enough)

    @pytest.mark.parametrize("sweeps", [0, 1, 2, 3])
    def test_few_sweeps(self, backend, sweeps):
        M = lf.ilu(backend.csr(dominant(symmetric=False)), ordering="natural", sweeps=sweeps)
        L, U, rows = triangles(backend, M)
        pivots = np.diag(U)
        series = [
            sum(np.linalg.matrix_power(-N, k) for k in range(sweeps + 1))
            for N in (L - np.eye(len(L)), U / pivots[:, None] - np.eye(len(L)))
        ]
        found = dense(backend, M)[np.ix_(rows, rows)]
        assert_close(found, series[1] / pivots @ series[0], 1e-13)

    @pytest.mark.parametrize("order", ["natural", "colors"])
    @pytest.mark.parametrize("columns", [1, 2, 7])
    def test_many_and_few_levels(self, backend, order, columns):
        """On the GPU, one launch for all rows, or one for each level."""
        A = lf.matrices.poisson((15, 21))
        M = lf.ilu(backend.csr(A), ordering=order)
        R = vectors(float, A.shape[0], columns)
        rows = backend.host(M.ordering.order)
        T = sp.csr_array(product_in_order(A, rows))
        for operator, matrix in ((M, T), (M.T, T.T)):
            assert_close(matrix @ backend.host(operator @ backend.array(R)), R, 1e-12)

    @pytest.mark.slow
    @pytest.mark.parametrize("order", ORDERS)
    def test_levels_that_threads_share(self, order):
        """The same bits as without threads."""
        from linforest_precond.backends.cpu.ilu import incomplete_factors, triangular
        from linforest_precond.backends.cpu.runtime.jit import serial_version

        A = lf.matrices.poisson((31, 32, 33) if order != "colors" else (170, 170))
        M = lf.ilu(A, ordering=order)
        R = vectors(float, A.shape[0], 3)
        product, part = M @ R, M._part
        with pytest.MonkeyPatch.context() as patch:
            for module in (incomplete_factors, triangular):
                patch.setattr(module, "by_levels", lambda kernel, starts: serial_version(kernel))
            again = lf.ilu(A, ordering=order)
            np.testing.assert_array_equal(again @ R, product)
        np.testing.assert_array_equal(again._part.upper[2], part.upper[2])

    @pytest.mark.parametrize("rows", [1, 4, 32])
    def test_tiles_of_levels(self, rows):
        """Every tile has at most `size` rows, all in one level."""
        starts = np.cumsum([0, 1, 33, 64, 2, 31, 32, 100])
        tiles = tiles_of(starts, rows)
        assert tiles[0] == 0 and tiles[-1] == starts[-1]
        assert ((np.diff(tiles) > 0) & (np.diff(tiles) <= rows)).all()
        assert np.isin(starts, tiles).all()
        assert tiles.size - 1 == sum(-(-size // rows) for size in np.diff(starts))

    @pytest.mark.gpu
    @pytest.mark.parametrize("order", ORDERS)
    def test_solvers_capture_it(self, cuda, order):
        A = cuda.csr(lf.matrices.poisson((60, 60)))
        b = cuda.array(vectors(float, 3600))
        x, info = lf.solvers.cg(A, b, M=lf.ilu(A, ordering=order), rtol=1e-10)
        assert info == 0 and float(abs(A @ x - b).max()) < 1e-7

    @pytest.mark.gpu
    def test_right_hand_sides_with_nan(self, cuda):
        """A NaN of any bits reaches all that depends on it, and nobody waits for it."""
        A = cuda.csr(lf.matrices.poisson((40, 40)))
        for bits in (0xFFFFFFFFFFFFFFFF, 0x7FF8000000000000):
            b = cuda.array(np.where(np.arange(1600) == 7, np.uint64(bits).view(np.float64), 1.0))
            assert cuda.xp.isnan(lf.ilu(A, ordering="natural") @ b).any()


class TestUpdate:
    def test_the_order_and_the_levels_stay(self, backend):
        A = dominant()
        for order in ORDERS:
            M = lf.ilu(backend.csr(A), ordering=order)
            ordering, starts = M._part.ordering, M._part.starts
            M.update(backend.csr(other_values(A)))
            assert M._part.ordering is ordering and M._part.starts is starts and not M._part.cholesky
            wanted = product_in_order(other_values(A), backend.host(ordering.order))
            assert_close(dense(backend, M), np.linalg.inv(wanted), 1e-12)
            M.update(backend.csr(A))
            assert M._part.cholesky


class TestFiles:
    @pytest.mark.parametrize("symmetric", [True, False])
    def test_rows_that_would_wait_for_each_other(self, symmetric):
        """Levels that hold neighbours are refused: threads of a GPU would wait for ever."""
        M = lf.ilu(dominant(symmetric=symmetric), ordering="natural")
        header, arrays = packed(M)
        starts = arrays["part.starts"]
        arrays["part.starts"] = np.delete(starts, starts.size // 2)
        with pytest.raises(lf.PreconditionerFileError, match=r"part\.(lower|upper) must have its entries in"):
            restore(M.kind, (header, arrays))

    def test_lower_triangles(self):
        """Stored where they are not the adjoints of the upper ones, and only there."""
        for symmetric in (True, False):
            M = lf.ilu(dominant(symmetric=symmetric), ordering="natural")
            header, arrays = packed(M)
            assert ("part.lower.data" in arrays) != symmetric
            header["part"]["cholesky"] = not symmetric
            with pytest.raises(lf.PreconditionerFileError, match=r"part\.lower must be null"):
                restore(M.kind, (header, arrays))


class TestAuto:
    def test_it_finds_an_order_that_drops_nothing(self, backend):
        path = np.random.default_rng(2).permutation(300)
        A = sp.diags_array([-1.0, 3, -1.5], offsets=[-1, 0, 1], shape=(300, 300)).tocsr()[path][:, path]
        M = lf.ilu(backend.csr(sp.csr_array(A)))
        assert lf.ilu(backend.csr(sp.csr_array(A)), ordering="natural")._part.findings.dropped > 0.01
        assert M._part.findings.dropped < 1e-12 or backend.name == "cuda"

    def test_it_repeats(self, backend):
        A = backend.csr(lf.matrices.aniso(3, 15))
        one, other = lf.ilu(A), lf.ilu(A)
        assert one._part.order == other._part.order in ORDERS
        assert str(one).splitlines()[:-1] == str(other).splitlines()[:-1]


class TestArguments:
    def test_what_is_refused(self, backend):
        A = backend.csr(dominant())
        with pytest.raises(ValueError, match='ordering must be "auto", "natural"'):
            lf.ilu(A, ordering="original")
        for wrong in (-1, 10**6):
            with pytest.raises(ValueError, match="sweeps"):
                lf.ilu(A, sweeps=wrong)
        for options in ({"sweeps": 1.5}, {"seed": "x"}, {"sweeps": True}):
            with pytest.raises(TypeError, match=next(iter(options))):
                lf.ilu(A, **options)
        with pytest.raises(TypeError, match="dtype"):
            lf.ilu(A, dtype=np.complex128)

    def test_the_matrix_is_not_modified(self, backend):
        A = sp.csr_array(np.array([[0.0, 2, 0], [1, 5, 1], [0, 4, 3]]))
        B = backend.csr(A.copy())
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            lf.ilu(B)
        for name in ("indptr", "indices", "data"):
            np.testing.assert_array_equal(backend.host(getattr(B, name)), getattr(A, name))
