"""Iterations of Krylov solvers with each preconditioner, on the paper's grids and on real matrices."""

import functools
import statistics

import numpy as np
import pytest
import scipy.sparse.linalg
from conftest import load_real, real_matrices, skip_or_fail

import linforest_precond as lf

SIDE = 300

JACOBI, ORIGINAL, PATHS, BLOCKS = range(4)
MAKE = {
    JACOBI: lf.jacobi,
    ORIGINAL: lambda A: lf.tridiagonal(A, "original"),
    PATHS: lf.tridiagonal,
    BLOCKS: lf.block_tridiagonal,
}


def iterations(A, M, solver="cg", rows=None):
    """SciPy's iterations until the residual is 1e-8 of b = A x, where x[i] = sin(16 pi i / N)."""
    n = A.shape[0]
    x_t = np.sin(16 * np.pi * np.arange(n) / n)
    count = 0

    def step(_):
        nonlocal count
        count += 1

    b = A @ (x_t if rows is None else x_t[rows])
    solve = getattr(scipy.sparse.linalg, solver)
    _, info = solve(A, b, rtol=1e-8, M=M, callback=step, maxiter=5000)
    assert info == 0
    return count


@functools.cache
def cg_iterations(problem, kind):
    A = lf.matrices.aniso(problem, SIDE)
    return iterations(A, MAKE[kind](A))


@pytest.mark.slow
class TestGrids:
    @pytest.mark.parametrize(
        ("problem", "kind", "wanted"),
        [
            (1, JACOBI, 564), (1, ORIGINAL, 337), (1, PATHS, 337),
            (2, JACOBI, 511), (2, ORIGINAL, 512), (2, PATHS, 282),
        ],
    )  # fmt: skip
    def test_conjugate_gradients(self, problem, kind, wanted):
        assert cg_iterations(problem, kind) == pytest.approx(wanted, rel=0.03)

    @pytest.mark.parametrize("problem", [1, 2])
    def test_blocks_take_fewer(self, problem):
        assert cg_iterations(problem, BLOCKS) < 0.95 * cg_iterations(problem, PATHS)

    def test_single_precision_inside(self):
        A = lf.matrices.aniso(2, SIDE)
        found = iterations(A, lf.tridiagonal(A, dtype=np.float32))
        assert found == pytest.approx(cg_iterations(2, PATHS), rel=0.03)

    def test_bicgstab(self):
        """Its counts are sensitive to rounding: medians over random permutations of the rows."""
        A = lf.matrices.aniso(2, SIDE)
        counts = {JACOBI: [], PATHS: []}
        for seed in range(5):
            rows = np.random.default_rng(seed).permutation(A.shape[0])
            B = A[rows][:, rows]
            for kind, found in counts.items():
                found.append(iterations(B, MAKE[kind](B), "bicgstab", rows))
        assert statistics.median(counts[PATHS]) < 0.65 * statistics.median(counts[JACOBI])


class TestRealMatrices:
    @pytest.mark.parametrize(
        ("name", "with_jacobi"), [pytest.param("bcsstk13", 1278, marks=pytest.mark.slow), ("bcsstk14", 296)]
    )
    def test_stiffness_matrices(self, name, with_jacobi):
        """Their tridiagonal parts are indefinite, and repaired."""
        if name not in real_matrices():
            skip_or_fail("matrices", f"{name} is not available")
        A = load_real(name)
        M = lf.tridiagonal(A)
        assert "clipped" in str(M)
        for operator in (M, lf.block_tridiagonal(A)):
            assert iterations(A, operator) < with_jacobi

    def test_a_network(self):
        """No entry is clipped where the tridiagonal part is positive definite."""
        if "494_bus" not in real_matrices():
            skip_or_fail("matrices", "494_bus is not available")
        A = load_real("494_bus")
        M = lf.tridiagonal(A)
        assert "clipped" not in str(M)
        assert iterations(A, M) < 100


@pytest.mark.gpu
@pytest.mark.parametrize("kind", MAKE)
def test_cupyx_takes_as_many_iterations(cuda, kind):
    from cupyx.scipy.sparse.linalg import cg

    A = lf.matrices.aniso(2, 60)
    B = cuda.csr(A)
    b = A @ np.ones(A.shape[0])
    counts = [0, 0]

    def count(i):
        counts[i] += 1

    scipy.sparse.linalg.cg(A, b, rtol=1e-8, M=MAKE[kind](A), callback=lambda _: count(0))
    cg(B, cuda.array(b), rtol=1e-8, M=MAKE[kind](B), callback=lambda _: count(1))
    assert abs(counts[0] - counts[1]) <= 1
