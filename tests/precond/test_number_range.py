"""Numbers at the edge of the range: preconditioners and solves of matrices scaled by powers of two."""

import pickle
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
import strategies as graphs
from conftest import load_real, real_matrices, skip_or_fail

import linforest_precond as lf
from linforest_precond.matrix.value_range import NO_EXPONENT, column_exponents, exponent_of, shift, shifted

SMOOTHERS = "jacobi", "l1_jacobi", "chebyshev", "tridiagonal", "block_tridiagonal"
KINDS = {
    "jacobi": lf.jacobi,
    "block jacobi": lambda A: lf.block_jacobi(A, 5),
    "forest": lf.tridiagonal,
    "original": lambda A: lf.tridiagonal(A, "original"),
    "blocks of 2": lf.block_tridiagonal,
    "blocks of 4": lambda A: lf.block_tridiagonal(A, 4),
    "ilu": lambda A: lf.ilu(A, ordering="natural"),
    "gauss seidel": lambda A: lf.gauss_seidel(A, sweeps=2),
    "direct": lf.direct,
    **{
        f"multilevel {smoother}": lambda A, smoother=smoother: one_cycle(A, smoother=smoother)
        for smoother in SMOOTHERS
    },
    "smoothed": lambda A: one_cycle(A, smooth_prolongation=True),
    "candidates": lambda A: one_cycle(A, B="adaptive"),
}
# That compile for long.
SLOW = "candidates", "multilevel jacobi", "smoothed", "multilevel tridiagonal", "multilevel block_tridiagonal"
SOLVERS = {solver.__name__: solver for solver in (lf.solvers.cg, lf.solvers.bicgstab, lf.solvers.fcg)}
NARROW = np.dtype(np.float64), np.dtype(np.float32)


def one_cycle(A, **options):
    return lf.multilevel(A, max_coarse=8, **options).aspreconditioner()


def grid(backend, power=0):
    A = lf.matrices.poisson((7, 7))
    A.data = np.ldexp(A.data, power)
    return backend.csr(A)


def noise(n, power=0):
    return np.ldexp(np.random.default_rng(0).standard_normal(n), power)


@pytest.fixture
def strict():
    """No warning at all."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


class TestExponents:
    @pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex64, np.complex128])
    def test_every_number(self, backend, dtype):
        info = np.finfo(dtype)
        for number in (info.max, info.tiny, info.smallest_subnormal, 0.75, 0.0):
            values = np.array([0, -number], dtype)
            wanted = np.frexp(np.float64(number))[1] if number else NO_EXPONENT
            assert exponent_of(backend.array(values)) == wanted
            if number:
                there = shifted(backend.array(values), -int(wanted))
                assert exponent_of(there) == 0
                np.testing.assert_array_equal(backend.host(shifted(there, int(wanted))), values)

    def test_columns(self, backend):
        values = np.array([[1.0, 0, 2.0**-1074], [3.0, 0, 0]])
        assert column_exponents(backend.array(values)).tolist() == [2, NO_EXPONENT, -1073]
        there = backend.host(shifted(backend.array(values), np.array([1, 5, 1074])))
        np.testing.assert_array_equal(there, [[2, 0, 1], [6, 0, 0]])

    def test_in_place(self, backend):
        values = backend.array(np.array([[1.0 + 2j, 4], [8, 16]]))
        shift(values[:, :1], -1)
        np.testing.assert_array_equal(backend.host(values), [[0.5 + 1j, 4], [4, 16]])


class TestPreconditioners:
    @pytest.mark.parametrize("kind", [graphs.slow(kind) if kind in SLOW else kind for kind in KINDS])
    @pytest.mark.parametrize("power", [-1070, -1022, -500, 500, 1000, 1021])
    def test_scaled_matrices(self, backend, strict, kind, power):
        """A 2**k gives the products of A, scaled: the same bits wherever these are representable, but not of
        cuDSS."""
        b = backend.array(noise(49, -100 if power < 0 else 100))
        M, scaled = (KINDS[kind](grid(backend, each)) for each in (0, power))
        found, wanted = np.ldexp(backend.host(scaled @ b), power), backend.host(M @ b)
        if "cuDSS" in str(M):
            np.testing.assert_allclose(found, wanted, rtol=1e-13)
        else:
            np.testing.assert_array_equal(found, wanted)

    @pytest.mark.parametrize("kind", ["forest", "multilevel jacobi"])
    def test_what_is_shown_has_the_matrix_scale(self, backend, kind):
        A = grid(backend, -1060)
        M = KINDS[kind](A)
        assert 0 < M.coverage <= 1
        if M.bands is not None:
            assert set(np.abs(backend.host(M.bands.diagonal)).tolist()) == {4 * 2.0**-1060}
        hierarchy = lf.multilevel(A, max_coarse=8)
        np.testing.assert_array_equal(
            backend.host(hierarchy.levels[0].A.toarray()), backend.host(A.toarray())
        )

    def test_pickled_and_updated(self, backend, strict):
        M = lf.tridiagonal(grid(backend, -1070))
        b = backend.array(noise(49, -500))
        x = backend.host(M @ b)
        np.testing.assert_array_equal(backend.host(pickle.loads(pickle.dumps(M)) @ b), x)
        M.update(grid(backend, 1000))
        np.testing.assert_array_equal(
            backend.host(M @ b), backend.host(lf.tridiagonal(grid(backend, 1000)) @ b)
        )

    @pytest.mark.parametrize("power", [-1070, 1000])
    def test_hierarchies_solve(self, backend, strict, power):
        b = backend.array(noise(49, power // 2))
        x, info = lf.multilevel(grid(backend, power), max_coarse=8).solve(b, tol=1e-8, return_info=True)
        x = np.ldexp(backend.host(x), power - power // 2)
        assert info == 0
        assert np.linalg.norm(lf.matrices.poisson((7, 7)) @ x - noise(49)) <= 2e-8 * np.linalg.norm(noise(49))

    @pytest.mark.parametrize("power", [-500, 500])
    def test_padded_blocks(self, backend, strict, power):
        """The last block has fewer rows; what fills it up has the scale of A."""
        lf.block_jacobi(grid(backend, power), 5)

    @pytest.mark.slow
    def test_largest_numbers(self, backend, strict):
        """Sums of magnitudes overflow, in A's graph, its rows and its coarse matrices."""
        A = lf.matrices.poisson((7, 7))
        A.data = np.where(A.data > 0, 1, -1) * np.finfo(float).max
        for kind in KINDS.values():
            with warnings.catch_warnings():
                warnings.filterwarnings("ignore", "coarsening stalled|.* pivot|the tridiagonal system")
                M = kind(backend.csr(A))
            assert 0 <= M.coverage <= 1
            assert np.isfinite(backend.host(M @ backend.array(noise(49)))).all()


class TestGrowth:
    def test_null_vector_that_decays_towards_the_perturbed_pivot(self, backend):
        """Solutions have a multiple of the null vector: 1 in the last row, 4**500 in the first."""
        n = 1001
        diagonal = np.full(n, 0.0)
        lower = upper = np.tile([1.0, 4.0], n // 2)
        A = sp.csr_array(sp.diags_array([lower, diagonal, upper], offsets=[-1, 0, 1]))
        for make in (lambda A: lf.tridiagonal(A, "original"), lambda A: lf.block_tridiagonal(A, 4)):
            with pytest.warns(RuntimeWarning, match="singular"):
                M = make(backend.csr(A))
            for transpose in (False, True):
                x = backend.host((M.T if transpose else M) @ backend.array(noise(n)))
                assert np.isfinite(x).all() and abs(x).max() < 1e12
            if backend.name == "cpu":  # the elimination on the GPU perturbs another pivot, and nothing grows
                assert "regularized" in str(M)

    def test_laser(self, backend):
        if "laser" not in real_matrices():
            skip_or_fail("matrices", "LINFOREST_MATRICES names no folder with laser")
        A = load_real("laser")
        # The elimination on the GPU perturbs other pivots, and nothing grows.
        repair = "rows regularized" if backend.name == "cpu" else "pivots perturbed"
        with pytest.warns(RuntimeWarning, match=repair):
            M = lf.block_tridiagonal(backend.csr(A), 4)
        assert np.isfinite(backend.host(M @ backend.array(noise(A.shape[0])))).all()


class TestSolvers:
    @pytest.mark.parametrize("solver", SOLVERS)
    @pytest.mark.parametrize("kind", [None, "jacobi", "multilevel jacobi"])
    @pytest.mark.parametrize(
        ("of_matrix", "of_b"),
        [(-1070, -1000), (-1022, -100), (500, 1000), (1000, 0), (-100, -1060), (0, 1020)],
    )
    def test_scaled_systems(self, backend, strict, solver, kind, of_matrix, of_b):
        """The iteration is that of the healthy system, scaled."""
        M = {power: kind and KINDS[kind](grid(backend, power)) for power in (0, of_matrix)}
        b = noise(49)
        if of_b < -1000:
            b = np.rint(b * 2**10) * 2.0**-10  # exact when it is scaled
        x, info = SOLVERS[solver](grid(backend), backend.array(b), M=M[0])
        y, same = SOLVERS[solver](grid(backend, of_matrix), backend.array(np.ldexp(b, of_b)), M=M[of_matrix])
        assert info == same == 0
        wanted = np.ldexp(backend.host(x), of_b - of_matrix)
        np.testing.assert_array_equal(backend.host(y), wanted)

    @pytest.mark.parametrize("solver", SOLVERS)
    def test_an_unknown_that_no_equation_has(self, backend, solver):
        """x overflows where A has an empty column; the residual does not see it."""
        A = sp.csr_array(np.array([[1e-200, 0.0], [0, 0]]))
        M = backend.array(np.array([[1.0, 0], [1e300, 1]]))
        with pytest.warns(RuntimeWarning):
            x, info = SOLVERS[solver](backend.csr(A), backend.array(np.array([1.0, 0])), M=M, maxiter=5)
        assert info != 0 and np.isfinite(backend.host(x)).all()

    @pytest.mark.parametrize("solver", SOLVERS)
    def test_a_solution_too_small_to_be_accurate(self, backend, solver):
        """info is 0 only where x, rounded to a subnormal number, still meets the tolerance."""
        A = backend.csr(sp.csr_array(np.diag([3 * 2.0**1000, 2.0**1000])))
        with pytest.warns(RuntimeWarning, match="stagnat"):
            _, info = SOLVERS[solver](A, backend.array(np.array([2.0**-72, 2.0**-72])), rtol=1e-6)
        assert info == lf.solvers.Status.STAGNATED

    @pytest.mark.parametrize("solver", SOLVERS)
    @pytest.mark.parametrize("power", [-1070, 900, 1020])
    def test_initial_guesses(self, backend, solver, power):
        """A guess whose residual exceeds b by all digits is replaced by 0."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            warnings.filterwarnings("error", message=".*encountered.*")
            x, info = SOLVERS[solver](
                grid(backend), backend.array(noise(49)), backend.array(noise(49, power) / 4)
            )
        assert np.isfinite(backend.host(x)).all() and info == 0


class TestCoverages:
    @pytest.mark.parametrize("power", [-1074, -1000, 1000, 1021])
    def test_they_are_shares(self, backend, power):
        A = grid(backend, power)
        wanted = grid(backend)
        for function in (lf.graph.factor, lf.linear_forest, lf.graph.matching):
            assert function(A).coverage == function(wanted).coverage
        assert lf.graph.identity_coverage(A) == lf.graph.identity_coverage(wanted)
