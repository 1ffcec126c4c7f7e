"""Multigrid hierarchies: levels and cycles against dense references, on both backends and in all types."""

import copy
import pickle
import sys
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
import strategies as graphs
from conftest import load_real, manifest, skip_or_fail
from multilevel_oracles import cycle, dense_levels, smoothing_matrices
from operator_cases import assert_close, assert_operator, dominant, other_values, vectors

import linforest_precond as lf
from linforest_precond.precond.multigrid.multigrid_cycle import CYCLES, twice_visited
from linforest_precond.precond.multigrid.smoothers import SMOOTHERS
from linforest_precond.precond.storage import operator_state

POSITIVE_DEFINITE = (
    "494_bus",
    "bcsstk09",
    "bcsstk13",
    "bcsstk14",
    "hypre_beam_tet_dof2475",
    "nos7",
    "pyamg_bar",
)
WAYS = {
    "roots": {"coarsening": "smoothed_aggregation"},
    "pairs": {"coarsening": "matching"},
    "smoothed": {"smooth_prolongation": True},
    "paths": {"coarsening": "paths"},
}
LINEAR = [kind for kind in CYCLES if kind != "K"]
# Approximate inverses compile for long, and have tests of their own.
QUICK_SMOOTHERS = [graphs.slow(each) if each == "approximate_inverse" else each for each in SMOOTHERS]


def small(shape=(9, 8), **options):
    return lf.matrices.poisson(shape, **options)


def neumann(side):
    """The Laplacian of a grid with Neumann boundary conditions."""
    A = lf.matrices.poisson((side, side))
    A.setdiag(0)
    A.eliminate_zeros()
    return sp.csr_array(sp.diags_array(-A.sum(axis=1)) + A)


def iterations(A, b, solver, M, **options):
    history = lf.solvers.History()
    x, info = getattr(lf.solvers, solver)(A, b, rtol=1e-8, M=M, history=history, **options)
    assert info == 0
    return len(history) - 1


def dense_cycle(backend, hierarchy, kind, sweeps=(1, 1)):
    levels = dense_levels(backend, hierarchy)
    smoothers = smoothing_matrices(backend, hierarchy._part)
    identity = np.eye(levels[0][0].shape[0], dtype=levels[0][0].dtype)
    return cycle(levels, smoothers, kind, sweeps, identity)


class TestLevels:
    @pytest.mark.parametrize("way", WAYS)
    @pytest.mark.parametrize("dtype", graphs.quick(graphs.DTYPES))
    def test_galerkin_products(self, backend, dtype, way):
        A = dominant(120, dtype)
        ml = lf.multilevel(backend.csr(A), max_coarse=10, weights="magnitude", **WAYS[way])
        assert len(ml.levels) >= 3 and not ml.stalled
        levels = dense_levels(backend, ml)
        assert_close(levels[0][0], A.toarray(), 0)
        for (fine, P, R), (coarse, *_) in zip(levels, levels[1:]):
            assert_close(R, P.conj().T, 0)
            assert_close(coarse, R @ fine @ P, 1e-4 if np.finfo(dtype).eps > 1e-10 else 1e-12)
            np.testing.assert_array_equal(coarse, coarse.conj().T)
            if way == "pairs":
                assert ((P != 0).sum(axis=1) == 1).all() and (P.max(axis=1) == 1).all()

    def test_complexities(self, backend):
        ml = lf.multilevel(backend.csr(small((40, 40))), max_coarse=20, coarsening="matching")
        unknowns, entries = zip(*((level.A.shape[0], level.A.nnz) for level in ml.levels))
        assert ml.grid_complexity() == pytest.approx(sum(unknowns) / unknowns[0])
        assert ml.operator_complexity() == pytest.approx(sum(entries) / entries[0])
        assert 1 < ml.cycle_complexity("V") < ml.cycle_complexity("F") < ml.cycle_complexity("W")
        assert ml.cycle_complexity("V") < ml.cycle_complexity() < ml.cycle_complexity("W")
        for text in ("K-cycle", "level 0", "1,600 unknowns", "jacobi", "setup"):
            assert text in str(ml)

    def test_kinds_of_matrices(self):
        A = small()
        for kind in (sp.csr_array, sp.csr_matrix, sp.csc_array, sp.coo_matrix):
            level = lf.multilevel(kind(A), max_coarse=9).levels[0]
            assert type(level.A) is type(level.P) is type(level.R) is kind
        assert type(lf.multilevel(A.toarray(), max_coarse=9).levels[1].A) is sp.csr_array

    def test_the_last_level_has_no_prolongator(self, backend):
        last = lf.multilevel(backend.csr(small())).levels[-1]
        assert not hasattr(last, "P") and not hasattr(last, "R")

    @pytest.mark.parametrize(("cycle", "weights"), [("V", "magnitude"), graphs.slow("K", "coupling")])
    @pytest.mark.parametrize(("dtype", "index_dtype"), graphs.quick(graphs.TYPES))
    def test_types(self, backend, dtype, index_dtype, cycle, weights):
        A, options = small((20, 20)), {"cycle": cycle, "weights": weights, "max_coarse": 20}
        ml = lf.multilevel(backend.csr(graphs.with_types(A, dtype, index_dtype)), **options)
        assert all(level.csr.indices.dtype == index_dtype for level in ml._part.levels)
        x = backend.host(ml.aspreconditioner() @ backend.array(np.ones(400, dtype)))
        assert x.dtype == dtype
        wanted = lf.multilevel(A, **options).aspreconditioner() @ np.ones(400)
        assert_close(x, wanted, 1e-4 if np.finfo(dtype).eps > 1e-10 else 1e-12)

    def test_matchings_and_limits(self, backend):
        A = backend.csr(small((30, 30)))
        one, two, three = (lf.multilevel(A, matchings=k, max_coarse=30).levels for k in (1, 2, 3))
        assert one[1].A.shape[0] > two[1].A.shape[0] > three[1].A.shape[0]
        assert len(lf.multilevel(A, max_levels=2, max_coarse=2).levels) == 2
        assert len(lf.multilevel(A, max_levels=1).levels) == len(lf.multilevel(A, max_coarse=900).levels) == 1

    @pytest.mark.parametrize("shape", [(200,), (30, 31), (9, 10, 11)])
    def test_uniform_stencils_do_not_stall(self, backend, shape):
        ones = np.full((3,) * len(shape), -1.0)
        ones[(1,) * len(shape)] = 3 ** len(shape) - 1
        for A in (small(shape), lf.matrices.stencil(shape, ones)):
            for coarsening, least in (("matching", 0), ("smoothed_aggregation", 50)):
                ml = lf.multilevel(backend.csr(A), max_coarse=10, coarsening=coarsening)
                sizes = [level.A.shape[0] for level in ml.levels]
                assert not ml.stalled and sizes[-1] <= 10
                pairs = zip(sizes, sizes[1:])
                assert all(coarse < 0.4 * fine for fine, coarse in pairs if fine >= least)

    def test_weak_couplings_pair_nothing(self, backend):
        A = lf.matrices.anisotropic_diffusion((16, 16), theta=0, epsilon=1e-3, scheme="differences")
        rows = np.arange(256) // 16
        for coarsening in ("smoothed_aggregation", "matching", "paths"):
            ml = lf.multilevel(backend.csr(A), max_coarse=100, coarsening=coarsening)
            P = dense_levels(backend, ml)[0][1]
            assert all(np.unique(rows[column != 0]).size == 1 for column in P.T)


@pytest.mark.parametrize("smoother", QUICK_SMOOTHERS)
class TestCycles:
    @pytest.mark.parametrize("kind", LINEAR)
    def test_against_the_dense_one(self, backend, smoother, kind):
        A = small()
        ml = lf.multilevel(backend.csr(A), smoother=smoother, max_coarse=6)
        assert len(ml.levels) >= 3
        dense = dense_cycle(backend, ml, kind)
        M = ml.aspreconditioner(kind)
        assert_operator(backend, M, dense)
        assert_close(dense, dense.T, 1e-13)
        assert np.linalg.eigvalsh((dense + dense.T) / 2).min() > 0

    @pytest.mark.parametrize("kind", LINEAR)
    @pytest.mark.parametrize("symmetric", [True, False])
    def test_transposes_on_four_levels(self, backend, smoother, kind, symmetric):
        """A transposed F-cycle visits a level by its V-cycle first; the cycle is not symmetric.

        It would be with smoothers that are exact, as approximate inverses are on levels of few unknowns.
        """
        A = small((20, 12)) if symmetric else lf.matrices.convection_diffusion((20, 12))
        ml = lf.multilevel(backend.csr(A), coarsening="matching", smoother=smoother, max_coarse=3)
        assert len(ml.levels) >= 4
        dense, M = dense_cycle(backend, ml, kind), ml.aspreconditioner(kind)
        assert_operator(backend, M, dense)
        is_symmetric = symmetric and kind != "F"
        assert np.allclose(dense, dense.T, rtol=0, atol=1e-10 * abs(dense).max()) == is_symmetric
        assert M.positive_definite == is_symmetric

    @pytest.mark.parametrize("dtype", graphs.quick(graphs.DTYPES))
    def test_nonsymmetric_in_all_types(self, backend, smoother, dtype):
        A = dominant(60, dtype, symmetric=False, seed=1)
        ml = lf.multilevel(backend.csr(A), smoother=smoother, max_coarse=8, presmooth=2, weights="magnitude")
        assert len(ml.levels) >= 2
        dense = dense_cycle(backend, ml, "V", (2, 1)).astype(dtype)
        assert_operator(backend, ml.aspreconditioner("V"), dense)

    @pytest.mark.parametrize("sweeps", [(1, 0), (0, 1), (2, 2), (3, 1)])
    def test_sweeps(self, backend, smoother, sweeps):
        options = {"presmooth": sweeps[0], "postsmooth": sweeps[1]}
        ml = lf.multilevel(backend.csr(small()), smoother=smoother, max_coarse=6, **options)
        dense = dense_cycle(backend, ml, "V", sweeps)
        assert_operator(backend, ml.aspreconditioner("V"), dense)

    @pytest.mark.filterwarnings("ignore:coarsening stalled")
    @pytest.mark.parametrize("definite", [True, False])
    def test_k_cycles(self, backend, smoother, definite):
        A = small((12, 12)) if definite else dominant(150, symmetric=False)
        ml = lf.multilevel(backend.csr(A), smoother=smoother, max_coarse=4, weights="magnitude")
        assert len(ml.levels) >= 3 and ml._part.definite == definite
        b = vectors(float, A.shape[0], 2)
        levels, smoothers = dense_levels(backend, ml), smoothing_matrices(backend, ml._part)
        wanted = [cycle(levels, smoothers, "K", (1, 1), column, definite=definite) for column in b.T]
        M = ml.aspreconditioner("K")
        assert_close(backend.host(M @ backend.array(b)), np.stack(wanted, axis=1), 1e-10)
        assert_close(backend.host(M @ backend.array(b[:, 0])), wanted[0], 1e-10)

    def test_k_cycles_of_deep_hierarchies(self, backend, smoother):
        """Seven levels: two Krylov steps on the first and the third below the finest."""
        options = {"smoother": smoother, "coarsening": "matching", "matchings": 1}
        ml = lf.multilevel(backend.csr(small((400,))), max_coarse=2, **options)
        levels, smoothers = dense_levels(backend, ml), smoothing_matrices(backend, ml._part)
        assert len(levels) == 7
        b = vectors(float, 400)
        wanted = cycle(levels, smoothers, "K", (1, 1), b)
        assert_close(backend.host(ml.aspreconditioner() @ backend.array(b)), wanted, 1e-9)
        assert ml.cycle_complexity("V") < ml.cycle_complexity("K") < ml.cycle_complexity("F")

    def test_smoothers_are_damped_enough(self, backend, smoother):
        """The spectral radius of a sweep's error propagation is below 1."""
        ml = lf.multilevel(backend.csr(small((15, 15))), smoother=smoother, max_coarse=5)
        for (A, *_), steps in zip(dense_levels(backend, ml), smoothing_matrices(backend, ml._part)):
            error = sweep_matrix(A, steps)
            assert max(abs(np.linalg.eigvals(error))) < 1


@pytest.mark.parametrize("kind", ["V", "K"])
def test_more_columns_than_a_block_has_threads(backend, kind):
    A = small((30, 20))
    M = lf.multilevel(backend.csr(A), max_coarse=30).aspreconditioner(kind)
    b = vectors(float, 600, 300)
    found = backend.host(M @ backend.array(b))
    for column in (0, 255, 256, 299):
        assert_close(found[:, column], backend.host(M @ backend.array(b[:, column])), 1e-13)


@pytest.mark.slow
@pytest.mark.parametrize("smoother", QUICK_SMOOTHERS)
def test_hermitian(backend, smoother):
    A = dominant(60, np.complex128)
    ml = lf.multilevel(backend.csr(A), smoother=smoother, max_coarse=8, weights="magnitude")
    dense = dense_cycle(backend, ml, "W")
    assert_operator(backend, ml.aspreconditioner("W"), dense)
    assert_close(dense, dense.conj().T, 1e-13)
    assert np.linalg.eigvalsh(dense).min() > 0


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["V", "K"])
@pytest.mark.parametrize("smoother", QUICK_SMOOTHERS)
def test_stored_in_single_precision(backend, smoother, kind):
    A = small((20, 20))
    M = lf.multilevel(backend.csr(A), smoother=smoother, max_coarse=20, dtype=np.float32).aspreconditioner(
        kind
    )
    assert M.stored_dtype == np.float32 and M.dtype == np.float64
    r = vectors(float, 400, 3)
    wanted = lf.multilevel(A, smoother=smoother, max_coarse=20).aspreconditioner(kind) @ r
    assert_close(backend.host(M @ backend.array(r)), wanted, 1e-4)
    x = vectors(float, 400)
    b = backend.array(A @ x)
    assert iterations(backend.csr(A), b, "fcg", M) < 30


def sweep_matrix(A, steps):
    x = before = np.eye(A.shape[0])
    for matrix, momentum in steps:
        x, before = x + momentum * (x - before) - matrix @ A @ x, x
    return x


def test_levels_that_are_visited_twice():
    short, deep = [[], [], [1], [1]], [1, 3]
    assert [twice_visited("K", last) for last in range(11)] == short + 5 * [deep] + 2 * [[*deep, 5]]
    assert [twice_visited("W", last) for last in range(4)] == [[], [], [1], [1, 2]]
    assert not any(twice_visited("V", last) for last in range(11))


class TestConvergence:
    @pytest.mark.parametrize("shapes", graphs.quick([[(32, 32), (128, 128)], [(12, 12, 12), (30, 30, 30)]]))
    def test_iterations_hardly_grow(self, shapes):
        counts = []
        for shape in shapes:
            A = lf.matrices.poisson(shape)
            ml = lf.multilevel(A, max_coarse=100)
            assert ml.operator_complexity() <= 2.2
            counts.append(iterations(A, vectors(float, A.shape[0]), "fcg", ml.aspreconditioner()))
        assert max(counts) <= 25 and counts[1] <= 1.3 * counts[0]

    def test_smoothed_prolongators_need_fewer(self, backend):
        A = lf.matrices.poisson((40, 40))
        b = backend.array(vectors(float, 1600))
        plain, smooth = (
            iterations(B := backend.csr(A), b, "cg",
                       lf.multilevel(B, max_coarse=40, coarsening="matching",
                                     smooth_prolongation=each).aspreconditioner("V"))
            for each in (False, True)
        )  # fmt: skip
        assert smooth < 0.7 * plain

    @pytest.mark.parametrize("degrees", graphs.quick([30, 0, 45]))
    def test_lines_along_strong_couplings(self, degrees):
        A = lf.matrices.anisotropic_diffusion((96, 96), theta=np.radians(degrees), epsilon=1e-3)
        b = vectors(float, A.shape[0])
        ways = {
            "pairs": {"coarsening": "matching"},
            "lines": {"smoother": "tridiagonal"},
            "blocks": {"smoother": "block_tridiagonal"},
        }
        counts = {
            way: iterations(A, b, "fcg", lf.multilevel(A, max_coarse=100, **options).aspreconditioner())
            for way, options in ways.items()
        }
        assert 2 * counts["lines"] <= counts["pairs"]
        assert 2 * counts["blocks"] <= counts["pairs"]

    @pytest.mark.parametrize("name", graphs.quick(POSITIVE_DEFINITE, 0))
    def test_real_positive_definite_matrices(self, name):
        if name not in manifest():
            skip_or_fail("matrices", f"{name} is not at hand")
        A = load_real(name)
        np.linalg.cholesky(A.toarray())
        b = A @ vectors(float, A.shape[0])
        plain = iterations(A, b, "cg", lf.jacobi(A), maxiter=10**5)
        for smoother in SMOOTHERS:
            ml = lf.multilevel(A, smoother=smoother, max_coarse=100)
            found = iterations(A, b, "cg", ml.aspreconditioner("V"), maxiter=10**5)
            assert found <= plain

    def test_lines_that_do_not_pay(self, backend):
        """The entries off the lines are small, but their sum in a row exceeds the line's."""
        A = np.full((100, 100), 0.005)
        path = np.arange(99)
        A[path, path + 1] = A[path + 1, path] = -1
        np.fill_diagonal(A, 2.02)
        assert np.linalg.eigvalsh(A).min() > 0
        B = backend.csr(sp.csr_array(A))
        ml = lf.multilevel(B, smoother="tridiagonal", max_coarse=40)
        assert "jacobi on level 0, where lines do not pay" in str(ml)
        assert ml._part.levels[0].smoother.kind == "jacobi"
        ml.update(backend.csr(sp.csr_array(A)))
        assert ml._part.levels[0].smoother.kind == "jacobi"
        b = backend.array(vectors(float, 100))
        assert iterations(B, b, "cg", ml.aspreconditioner("V")) <= iterations(B, b, "cg", lf.jacobi(B))

    def test_neumann(self, backend):
        A = neumann(24)
        ml = lf.multilevel(backend.csr(A), max_coarse=30)
        assert ml._part.centered and "constants" in str(ml)
        assert ml._part.coarsest.rank == ml.levels[-1].A.shape[0] - 1
        b = vectors(float, A.shape[0])
        b -= b.mean()
        for kind, solver in (("K", "fcg"), ("V", "cg")):
            M = ml.aspreconditioner(kind)
            assert iterations(backend.csr(A), backend.array(b), solver, M) < 60
            z = backend.host(M @ backend.array(b + 1))
            assert abs(z.mean()) < 1e-12 * abs(z).max()
        x = backend.host(ml.solve(backend.array(b), tol=1e-8, accel="fcg"))
        assert np.linalg.norm(A @ x - b) <= 1.1e-8 * np.linalg.norm(b)

    def test_several_components_without_a_boundary(self, backend):
        A = sp.csr_array(sp.block_diag([neumann(9), neumann(12)]))
        ml = lf.multilevel(backend.csr(A), max_coarse=20)
        b = A @ vectors(float, A.shape[0])
        x = backend.host(ml.solve(backend.array(b), tol=1e-8, accel="fcg"))
        assert np.linalg.norm(A @ x - b) <= 1.1e-8 * np.linalg.norm(b)
        assert abs(x).max() < 1e3

    def test_nonsymmetric_convection(self, backend):
        A = lf.matrices.convection_diffusion((40, 40), velocity=(0.3, 0.2))
        B, b = backend.csr(A), backend.array(vectors(float, 1600))
        ml = lf.multilevel(B, max_coarse=40)
        plain = iterations(B, b, "bicgstab", lf.jacobi(B))
        assert iterations(B, b, "bicgstab", ml.aspreconditioner("V")) < 0.5 * plain
        x = backend.host(ml.solve(b, tol=1e-8))
        assert np.linalg.norm(A @ x - backend.host(b)) <= 1.1e-8 * np.linalg.norm(backend.host(b))

    def test_negative_definite(self, backend):
        A = -small((20, 20))
        ml = lf.multilevel(backend.csr(A), max_coarse=30)
        assert len(ml.levels) > 1
        b = vectors(float, 400)
        x = backend.host(ml.solve(backend.array(b), tol=1e-8))
        assert np.linalg.norm(A @ x - b) <= 1.1e-8 * np.linalg.norm(b)


class TestStalling:
    @pytest.mark.parametrize("coarsening", ["smoothed_aggregation", "matching", "paths"])
    def test_nothing_to_pair(self, backend, coarsening):
        """The smoother solves a diagonal system; it takes all unknowns."""
        A = sp.csr_array(sp.diags_array(np.arange(1.0, 51)))
        ml = lf.multilevel(backend.csr(A), max_coarse=10, coarsening=coarsening)
        assert not ml.stalled and [level.A.shape[0] for level in ml.levels] == [50, 0]
        x = ml.solve(backend.array(np.ones(50)), tol=1e-12)
        assert_close(backend.host(x), 1 / np.arange(1.0, 51), 1e-12)

    def test_a_chain_of_growing_couplings(self, backend):
        """The strongest coupling of each unknown is weak for the other one."""
        size = 8.0 ** np.arange(60)
        chain = sp.csr_array(sp.diags_array([-size[1:], -size[1:]], offsets=[1, -1]))
        A = sp.csr_array(chain + sp.diags_array(-chain.sum(axis=1) * 1.001))
        ml = lf.multilevel(backend.csr(A), max_coarse=10)
        assert not ml.stalled and ml.levels[-1].A.shape[0] <= 10

    def test_dominant_rows_are_left_to_the_smoother(self, backend, tmp_path):
        A = 100 * sp.eye_array(900) + small((30, 30))
        ml = lf.multilevel(backend.csr(sp.csr_array(A)), max_coarse=10)
        assert not ml.stalled and [level.A.shape[0] for level in ml.levels] == [900, 0]
        b = vectors(float, 900)
        x, info = ml.solve(backend.array(b), tol=1e-10, return_info=True)
        assert info == 0 and np.linalg.norm(A @ backend.host(x) - b) <= 1.1e-10 * np.linalg.norm(b)
        M = ml.aspreconditioner()
        lf.save_preconditioner(M, tmp_path / "M")
        again = lf.load_preconditioner(tmp_path / "M")
        np.testing.assert_array_equal(*(backend.host(each @ backend.array(b)) for each in (M, again)))

    def test_hubs_do_not_fill_the_coarse_matrix(self, backend):
        """The graph Laplacian of a power law: smoothed prolongators would couple all neighbours of hubs."""
        rng, n = np.random.default_rng(0), 4000
        ends = rng.integers(0, n, 3 * n).astype(np.int32), (n * rng.random(3 * n) ** 4).astype(np.int32)
        links = sp.coo_array((np.ones(3 * n), ends), shape=(n, n)).tocsr()
        W = sp.csr_array(links + links.T)
        W.setdiag(0)
        A = sp.csr_array(sp.diags_array(W.sum(axis=1) + 0.01) - W)
        ml = lf.multilevel(backend.csr(A), max_coarse=100)
        assert len(ml.levels) > 1 and ml.operator_complexity() < 4
        assert set(backend.host(ml.levels[0].P.data).tolist()) == {1.0}
        b = vectors(float, n)
        x, info = ml.solve(backend.array(b), tol=1e-10, return_info=True)
        assert info == 0 and np.linalg.norm(A @ backend.host(x) - b) <= 1.1e-10 * np.linalg.norm(b)
        M, before = ml.aspreconditioner(), ml.levels[1].A
        ml.update(backend.csr(A))
        assert abs(before - ml.levels[1].A).max() == 0 and M.shape == A.shape

    def test_positive_couplings_only(self, backend):
        A = abs(small((20, 20)))
        for coarsening in ("smoothed_aggregation", "matching", "paths"):
            assert not lf.multilevel(backend.csr(A), max_coarse=10, coarsening=coarsening).stalled
        assert not lf.multilevel(backend.csr(A), max_coarse=10, weights="magnitude").stalled

    @pytest.mark.parametrize("smoother", ["jacobi", "tridiagonal"])
    def test_a_coarsest_level_too_large_to_invert(self, backend, smoother, monkeypatch):
        monkeypatch.setattr("linforest_precond.precond.multigrid.coarsest.LARGEST_DENSE", 20)
        A = small((10, 10))
        M = lf.multilevel(backend.csr(A), max_levels=2, max_coarse=2, smoother=smoother).aspreconditioner("V")
        assert "smoothed" in str(M)
        dense = backend.host(M @ backend.array(np.eye(100)))
        assert_close(dense, dense.T, 1e-12)
        assert np.linalg.eigvalsh(dense).min() > 0

    def test_a_star_is_one_aggregate(self, backend):
        n = 700
        A = sp.lil_array((n, n))
        A[0, 1:] = A[1:, 0] = -1.0
        A.setdiag(2.0)
        A[0, 0] = n
        A = sp.csr_array(A)
        ml = lf.multilevel(backend.csr(A), max_coarse=10)
        b = vectors(float, n)
        x = backend.host(ml.solve(backend.array(b), tol=1e-10))
        assert np.linalg.norm(A @ x - b) <= 1e-9 * np.linalg.norm(b)


class TestFace:
    def test_solve_as_pyamg_does(self, backend):
        A = small((30, 30))
        ml = lf.multilevel(backend.csr(A), max_coarse=30)
        b = vectors(float, 900)
        for options in ({}, {"accel": None}, {"accel": "fcg"}, {"accel": "cg", "cycle": "V"}, {"cycle": "W"}):
            residuals, seen = [5.0], []
            x, info = ml.solve(
                backend.array(b),
                tol=1e-8,
                residuals=residuals,
                callback=seen.append,
                return_info=True,
                **options,
            )
            x = backend.host(x)
            assert info == 0 and x.shape == (900,)
            assert np.linalg.norm(A @ x - b) <= 1.01e-8 * np.linalg.norm(b)
            assert residuals[0] == pytest.approx(np.linalg.norm(b))
            assert residuals[-1] <= 1e-8 * residuals[0] and len(seen) == len(residuals) - 1
            again = ml.solve(backend.array(b), x0=backend.array(x), tol=1e-7, **options)
            np.testing.assert_array_equal(backend.host(again), x)
        x, info = ml.solve(backend.array(b), tol=1e-12, maxiter=2, return_info=True)
        assert info == 2
        several = backend.host(ml.solve(backend.array(np.stack([b, 2 * b], axis=1)), tol=1e-10))
        assert_close(several[:, 1], 2 * several[:, 0], 1e-8)

    def test_solve_with_functions(self):
        from scipy.sparse.linalg import cg

        A = small((20, 20))
        ml = lf.multilevel(A, max_coarse=30, cycle="V")
        x = ml.solve(np.ones(400), tol=1e-8, accel=cg)
        assert np.linalg.norm(A @ x - 1) <= 1e-8 * 20

    def test_scipy_takes_it(self):
        from scipy.sparse.linalg import cg

        A = small((20, 20))
        x, info = cg(A, np.ones(400), M=lf.multilevel(A, max_coarse=30).aspreconditioner("V"))
        assert info == 0

    def test_bad_arguments_are_named(self, backend):
        A = backend.csr(small())
        for options, name in [
            ({"coarsening": "classical"}, "coarsening"),
            ({"coarsening": "paths", "smooth_prolongation": True}, "smooth_prolongation"),
            ({"smoother": "kaczmarz"}, "smoother"),
            ({"cycle": "X"}, "cycle"),
            ({"matchings": 0}, "matchings"),
            ({"max_coarse": 0}, "max_coarse"),
            ({"max_levels": 0}, "max_levels"),
            ({"presmooth": -1}, "presmooth"),
            ({"presmooth": 0, "postsmooth": 0}, "presmooth"),
            ({"weights": "pattern"}, "weights"),
            ({"strength": 1.5}, "strength"),
            ({"coarsening": "smoothed_aggregation", "smooth_prolongation": True}, "smooth_prolongation"),
        ]:
            with pytest.raises(ValueError, match=name):
                lf.multilevel(A, **options)
        with pytest.raises(TypeError, match="matchings"):
            lf.multilevel(A, matchings=1.5)
        with pytest.raises(ValueError, match="square"):
            lf.multilevel(backend.xp.ones((2, 3)))
        ml = lf.multilevel(A)
        with pytest.raises(ValueError, match="cycle"):
            ml.aspreconditioner("X")
        with pytest.raises(ValueError, match="accel"):
            ml.solve(backend.array(np.ones(72)), accel="sor")
        with pytest.raises(ValueError, match="b must"):
            ml.solve(backend.array(np.ones(71)))

    @pytest.mark.parametrize("size", [0, 1, 2])
    def test_small(self, backend, size):
        A = sp.csr_array(np.diag(np.arange(2.0, size + 2)).reshape(size, size))
        ml = lf.multilevel(backend.csr(A))
        assert len(ml.levels) == 1 and str(ml)
        assert_close(
            backend.host(ml.solve(backend.array(np.ones(size)))), 1 / np.arange(2.0, size + 2), 1e-12
        )

    @pytest.mark.slow
    def test_to_pyamg(self, pyamg_gallery):
        A = small((30, 30))
        for smoother in SMOOTHERS:
            ml = lf.multilevel(A, max_coarse=30, smoother=smoother)
            residuals, wanted = [], []
            ml.solve(np.ones(900), tol=1e-6, cycle="V", accel=None, residuals=residuals)
            other = ml.to_pyamg()
            other.solve(np.ones(900), tol=1e-6, residuals=wanted)
            np.testing.assert_allclose(residuals, wanted, rtol=1e-6)
            assert other.operator_complexity() == pytest.approx(ml.operator_complexity())
            for kind in ("V", "W", "F"):
                assert other.cycle_complexity(kind) == pytest.approx(ml.cycle_complexity(kind))

    def test_pyamg_is_needed(self, monkeypatch):
        ml = lf.multilevel(small())
        monkeypatch.setitem(sys.modules, "pyamg", None)
        with pytest.raises(ImportError, match="^to_pyamg needs PyAMG: pip install pyamg$"):
            ml.to_pyamg()

    @pytest.mark.gpu
    def test_pyamg_is_on_the_cpu(self, cuda):
        with pytest.raises(TypeError, match="CPU"):
            lf.multilevel(cuda.csr(small())).to_pyamg()


def described(operator):
    """What is printed but for the bytes: plans of products are made again by the first update."""
    return [line for line in str(operator).splitlines() if "bytes held" not in line]


@pytest.mark.parametrize("way", ["roots", "pairs", graphs.slow("smoothed")])
@pytest.mark.parametrize("smoother", QUICK_SMOOTHERS)
class TestUpdates:
    def test_new_values(self, backend, smoother, way):
        A = dominant(80)
        B = A.copy()
        B.data = 3 * B.data
        options = {"smoother": smoother, "max_coarse": 8, "weights": "magnitude", **WAYS[way]}
        ml = lf.multilevel(backend.csr(A), **options)
        before = ml.aspreconditioner()
        r = backend.array(vectors(float, 80))
        old = backend.host(before @ r)
        kept = dense_levels(backend, ml)[:-1]
        ml.update(backend.csr(B))
        for (_, P, _), (_, same, _) in zip(kept, dense_levels(backend, ml), strict=False):
            assert_close(P, same, 0 if way == "pairs" else 1e-12)
        assert_close(backend.host(ml.levels[0].A.toarray()), B.toarray(), 0)
        fresh = lf.multilevel(backend.csr(B), **options)
        assert_close(
            backend.host(ml.aspreconditioner() @ r), backend.host(fresh.aspreconditioner() @ r), 1e-12
        )
        np.testing.assert_array_equal(backend.host(before @ r), old)
        ml.update(backend.csr(A))
        # Patterns that grow are eliminated in another order than those that are kept.
        allowed = 1e-12 if smoother == "approximate_inverse" else 0
        assert_close(backend.host(ml.aspreconditioner() @ r), old, allowed)
        with pytest.raises(ValueError, match="shape"):
            ml.update(backend.csr(dominant(81)))

    @pytest.mark.parametrize("stored", graphs.quick([np.float64, np.float32]))
    def test_round_trips(self, backend, smoother, way, stored, tmp_path):
        A = dominant(80, symmetric=False)
        ml = lf.multilevel(
            backend.csr(A),
            smoother=smoother,
            max_coarse=8,
            dtype=stored,
            weights="magnitude",
            **WAYS[way],
        )
        M = ml.aspreconditioner("W")
        lf.save_preconditioner(M, tmp_path / "M")
        r = backend.array(vectors(float, 80, 2))
        for again in (
            pickle.loads(pickle.dumps(M)),
            copy.deepcopy(M),
            lf.load_preconditioner(tmp_path / "M"),
        ):
            assert described(again) == described(M) and again.kind == "multilevel"
            for one, other in ((M, again), (M.H, again.H)):
                np.testing.assert_array_equal(backend.host(one @ r), backend.host(other @ r))
        twin = pickle.loads(pickle.dumps(ml))
        assert described(twin) == described(ml) and type(twin.levels[0].A) is type(ml.levels[0].A)
        for each in (ml, twin):
            each.update(backend.csr(other_values(A)))
        one, other = (backend.host(each.aspreconditioner() @ r) for each in (ml, twin))
        np.testing.assert_array_equal(one, other)


def test_a_file_from_before_couplings_were_kept(backend, tmp_path):
    """It is loaded, and the first update finds them again."""
    A = small()
    ml = lf.multilevel(backend.csr(A), max_coarse=9)
    M = ml.aspreconditioner()
    r = backend.array(vectors(float, A.shape[0]))
    expected = backend.host(M @ r)
    for level in M._part.levels[:-1]:
        object.__setattr__(level.transfer.smoothed, "kept", None)
    lf.save_preconditioner(M, tmp_path / "M")
    with np.load(tmp_path / "M") as file:
        assert not any("kept" in name for name in file.files)
    again = lf.load_preconditioner(tmp_path / "M")
    for _ in range(2):
        np.testing.assert_array_equal(backend.host(again @ r), expected)
        again.update(backend.csr(A))
        assert all(level.transfer.smoothed.kept is not None for level in again._part.levels[:-1])


@pytest.mark.gpu
def test_a_pickle_from_the_gpu_opens_on_the_cpu(cuda, monkeypatch):
    ml = lf.multilevel(cuda.csr(small()), max_coarse=9)
    pickled = pickle.dumps(ml)
    monkeypatch.setattr(operator_state, "cuda_status", lambda: (False, "none here"))
    with pytest.warns(RuntimeWarning, match="none here"):
        again = pickle.loads(pickled)
    assert isinstance(again.levels[0].A, sp.csr_array)
    b = np.ones(72)
    assert_close(again.aspreconditioner() @ b, cuda.host(ml.aspreconditioner() @ cuda.array(b)), 1e-12)


class TestSameAnswers:
    @pytest.mark.gpu
    @pytest.mark.filterwarnings("ignore:coarsening stalled")
    @pytest.mark.parametrize("matrix", ["grid", "random", "complex"])
    @pytest.mark.parametrize("coarsening", ["smoothed_aggregation", "matching", "paths"])
    def test_levels_are_the_same_on_both_backends(self, cuda, matrix, coarsening):
        A = {
            "grid": lambda: small((40, 41)),
            "random": lambda: dominant(500, symmetric=False),
            "complex": lambda: dominant(500, np.complex128),
        }[matrix]()
        one, other = (lf.multilevel(B, max_coarse=20, coarsening=coarsening) for B in (A, cuda.csr(A)))
        for here, there in zip(one._part.levels, other._part.levels, strict=True):
            for name in ("indptr", "indices", "data"):
                np.testing.assert_array_equal(getattr(here.csr, name), cuda.host(getattr(there.csr, name)))

    def test_repeated(self, backend):
        A = backend.csr(small((40, 40)))
        b = backend.array(vectors(float, 1600))
        found = []
        for _ in range(2):
            M = lf.multilevel(A, max_coarse=30).aspreconditioner()
            x, _ = lf.solvers.fcg(A, b, rtol=1e-8, M=M)
            found += [backend.host(x), backend.host(M @ b)]
        np.testing.assert_array_equal(found[0], found[2])
        np.testing.assert_array_equal(found[1], found[3])

    def test_seeds(self):
        A = small((30, 30))
        for coarsening in ("smoothed_aggregation", "matching", "paths"):
            one, other = (
                lf.multilevel(A, max_coarse=30, coarsening=coarsening, seed=seed).levels[0].P
                for seed in (0, 1)
            )
            assert one.shape != other.shape or (one != other).nnz

    def test_nothing_is_said(self, backend):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            ml = lf.multilevel(backend.csr(small((30, 30))), max_coarse=30)
            _, info = ml.solve(backend.array(np.ones(900)), accel="fcg", return_info=True)
        assert info == 0 and not ml.stalled
