"""Block tridiagonal systems of 2 x 2 and 4 x 4 blocks, compared with dense solves and the scalar solver."""

import warnings

import numpy as np
import pytest
import strategies as graphs
import tridiagonal_cases as cases
from hypothesis import given
from hypothesis import strategies as st

from linforest_precond.precond.tridiagonal.solver import BlockTridiagonalSolver, TridiagonalSolver

KINDS = ("dominant", "definite", "any")
BLOCK_SIZES = (1, 2, 4)


def block_bands(kind, n, b, dtype, seed=0):
    """Random blocks: diagonally dominant, Hermitian positive definite, or neither."""
    rng = np.random.default_rng(seed)
    lower, diagonal, upper = (cases.random_values(rng, (n, b, b), dtype) for _ in range(3))
    lower[0] = upper[-1] = 0
    if kind == "dominant":
        diagonal += 5 * b * np.eye(b, dtype=dtype)
    if kind == "definite":
        # L L^H, where L is block bidiagonal.
        lower /= b
        factor = np.tril(diagonal) / b + 2 * np.eye(b, dtype=dtype)
        adjoint = factor.conj().swapaxes(1, 2)
        diagonal = factor @ adjoint + lower @ lower.conj().swapaxes(1, 2)
        diagonal = (diagonal + diagonal.conj().swapaxes(1, 2)) / 2
        lower[1:] = lower[1:] @ adjoint[:-1]
        upper[:-1] = lower[1:].conj().swapaxes(1, 2)
    return lower, diagonal, upper


def make(backend, bands, **options):
    return BlockTridiagonalSolver(*map(backend.array, bands), **options)


def assert_solves(backend, bands, b, x, transpose=False, factor=1):
    """A residual of a few rounding errors."""
    A = cases.dense(bands)
    A = A.T if transpose else A
    wide = [array.astype(np.promote_types(array.dtype, np.complex128)) for array in (A, x, b)]
    residual = abs(wide[0] @ wide[1] - wide[2]).max()
    scale = abs(A).sum(axis=1).max() * abs(x).max() + abs(b).max()
    assert residual <= factor * 20 * np.finfo(bands[1].dtype).eps * scale


@pytest.mark.parametrize("dtype", graphs.quick(graphs.DTYPES))
@pytest.mark.parametrize("b", BLOCK_SIZES)
@pytest.mark.parametrize("kind", KINDS)
class TestAccuracy:
    def test_against_the_dense_matrix(self, backend, kind, b, dtype):
        for n in (1, 2, 3, 8, 17, 33, 65, 100):
            bands = block_bands(kind, n, b, dtype, n)
            solver = make(backend, bands)
            assert solver.n == n * b and solver.block_size == b and solver.dtype == dtype
            assert kind == "any" or not solver.pivoted
            assert kind != "definite" or solver.positive_definite
            rng = np.random.default_rng(n)
            for shape in ((n * b,), (n * b, 3)):
                right = cases.random_values(rng, shape, dtype)
                for transpose in (False, True):
                    x = solver.solve(backend.array(right), transpose=transpose)
                    assert x.shape == shape and x.dtype == dtype
                    assert_solves(backend, bands, right, backend.host(x), transpose)

    def test_wider_right_hand_sides(self, backend, kind, b, dtype):
        bands = block_bands(kind, 20, b, dtype)
        solver = make(backend, bands)
        for right in graphs.DTYPES:
            columns = cases.random_values(np.random.default_rng(1), (20 * b, 2), right)
            x = backend.host(solver.solve(backend.array(columns)))
            assert x.dtype == np.promote_types(dtype, right)
            assert_solves(backend, bands, columns, x)


@pytest.mark.parametrize("b", [2, 4])
@pytest.mark.parametrize("n", [1000, 4097])
def test_long_systems(backend, n, b):
    rng = np.random.default_rng(3)
    lower, diagonal, upper = block_bands("dominant", n, b, np.float64)
    lower[500] = upper[499] = 0  # two segments
    x = rng.standard_normal((n, b))
    right = np.einsum("nrc,nc->nr", diagonal, x)
    right[1:] += np.einsum("nrc,nc->nr", lower[1:], x[:-1])
    right[:-1] += np.einsum("nrc,nc->nr", upper[:-1], x[1:])
    solved = make(backend, (lower, diagonal, upper)).solve(backend.array(right.reshape(-1)))
    np.testing.assert_allclose(backend.host(solved).reshape(n, b), x, atol=1e-13)


@pytest.mark.parametrize("name", ["row dominant", "toeplitz -1 2 -1", "strong diagonal"])
@pytest.mark.parametrize("b", BLOCK_SIZES)
def test_scalar_systems_in_blocks(backend, name, b):
    """Scalar bands cut into blocks have the same solution."""
    n = 64
    bands = cases.system(name, n, np.float64)
    A = cases.dense(bands).reshape(n // b, b, n // b, b)
    diagonal = np.stack([A[i, :, i] for i in range(n // b)])
    lower, upper = np.zeros_like(diagonal), np.zeros_like(diagonal)
    for i in range(1, n // b):
        lower[i], upper[i - 1] = A[i, :, i - 1], A[i - 1, :, i]
    right = np.random.default_rng(0).standard_normal(n)
    scalar = backend.host(TridiagonalSolver(*map(backend.array, bands)).solve(backend.array(right)))
    x = backend.host(make(backend, (lower, diagonal, upper)).solve(backend.array(right)))
    np.testing.assert_allclose(x, scalar, rtol=1e-9, atol=1e-9 * abs(scalar).max())


@pytest.mark.parametrize("kind", ["dominant", "any"])
@pytest.mark.parametrize("b", [2, 4])
@pytest.mark.parametrize("columns", [1, 3])
def test_permuted_with_ghosts(backend, kind, b, columns):
    """A ghost row has a diagonal entry of 1 and no couplings; it does not change the solution."""
    n = 50
    rng = np.random.default_rng(4)
    bands = [band.reshape(n, b, b) for band in block_bands(kind, n, b, np.float64)]
    ghosts = rng.choice(n * b, 17, replace=False)
    for block, row in zip(*divmod(ghosts, b), strict=True):
        for band in bands:
            band[block, row] = 0
        bands[1][block, :, row] = 0
        bands[1][block, row, row] = 1
        if block > 0:
            bands[2][block - 1, :, row] = 0
        if block + 1 < n:
            bands[0][block + 1, :, row] = 0
    order = np.full(n * b, -1, np.int32)
    real = np.setdiff1d(np.arange(n * b), ghosts)
    order[real] = rng.permutation(real.size)
    right = rng.standard_normal((real.size, columns))
    x = backend.xp.full((real.size, columns), np.nan)
    make(backend, bands).solve_into(backend.array(right), x, backend.array(order))
    A = cases.dense(bands)[np.ix_(real, real)]
    wanted = np.linalg.solve(A, right[order[real]])
    np.testing.assert_allclose(backend.host(x)[order[real]], wanted, rtol=1e-9, atol=1e-9)


class TestRepairs:
    @pytest.mark.parametrize("dtype", graphs.quick(graphs.DTYPES))
    @pytest.mark.parametrize("b", [2, 4])
    def test_made_definite(self, backend, b, dtype):
        for seed in range(5):
            lower, diagonal, upper = block_bands("any", 12, b, dtype, seed)
            diagonal = diagonal + diagonal.conj().swapaxes(1, 2)
            diagonal[:, range(b), range(b)] = np.random.default_rng(seed).uniform(0.5, 1.5, (12, b))
            lower[1:] = upper[:-1].conj().swapaxes(1, 2)
            bands = lower, diagonal, upper
            assert np.linalg.eigvalsh(cases.dense(bands))[0] < 0
            assert not make(backend, bands).positive_definite
            solver = make(backend, bands, make_definite=True)
            assert solver.clipped and solver.positive_definite and not solver.pivoted
            inverse = backend.host(solver.solve(backend.array(np.eye(12 * b, dtype=dtype))))
            condition = abs(inverse).max() * abs(bands[1]).max()
            assert cases.relative_error(inverse, inverse.conj().T) < 10 * np.finfo(dtype).eps * condition
            assert np.linalg.eigvalsh(inverse)[0] > 0
            # Clipping does not change diagonal entries.
            T = np.linalg.inv(inverse.astype(np.promote_types(dtype, np.float64)))
            kept = np.diag(cases.dense(bands))
            assert cases.relative_error(np.diag(T), kept) < 10 * np.finfo(dtype).eps * condition

    @pytest.mark.parametrize("b", [2, 4])
    def test_empty_rows(self, backend, b):
        lower, diagonal, upper = block_bands("dominant", 30, b, np.float64)
        for band in (lower, diagonal, upper):
            band[7, 1] = 0
        with pytest.warns(RuntimeWarning, match=r"\(pivots perturbed: 1\)"):
            solver = make(backend, (lower, diagonal, upper))
        assert solver.lifted == 1
        assert np.isfinite(backend.host(solver.solve(backend.array(np.ones(30 * b))))).all()

    @pytest.mark.slow
    def test_a_complex_pivot_that_vanishes_below_a_negative_entry(self, backend):
        diagonal = np.eye(4, dtype=complex)
        diagonal[:2, :2] = [[1, 1], [-1, -1]]
        zeros = np.zeros((1, 4, 4), complex)
        with pytest.warns(RuntimeWarning, match=r"\(pivots perturbed: 1\)"):
            solver = make(backend, (zeros, diagonal[None], zeros))
        assert np.isfinite(backend.host(solver.solve(backend.array(np.ones(4, complex))))).all()


@given(data=st.data(), b=st.sampled_from(BLOCK_SIZES), n=st.integers(1, 12), seed=st.integers(0, 10**6))
def test_random_blocks(backend, data, b, n, seed):
    """Finite in any case, a small residual where no pivot was perturbed."""
    rng = np.random.default_rng(seed)
    bands = rng.integers(-2, 3, (3, n, b, b)).astype(float)
    bands[0, 0] = bands[2, -1] = 0
    bands[1] += data.draw(st.sampled_from((0, 20))) * np.eye(b)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        solver = make(backend, bands)
    right = rng.standard_normal(n * b)
    x = backend.host(solver.solve(backend.array(right)))
    assert np.isfinite(x).all()
    if not solver.lifted:
        # Without pivoting between blocks, residuals grow with the inverses of the pivots: by 8, or it pivots.
        assert_solves(backend, bands, right, x, factor=8)


@pytest.mark.parametrize(
    ("shapes", "message"),
    [
        (((3, 3, 3),) * 3, "diagonal must have shape (N/b, b, b) with b in (1, 2, 4), got (3, 3, 3)"),
        (((3, 2, 4),) * 3, "diagonal must have shape (N/b, b, b) with b in (1, 2, 4), got (3, 2, 4)"),
        (((6,),) * 3, "diagonal must have shape (N/b, b, b) with b in (1, 2, 4), got (6,)"),
        (((1, 2, 2), (3, 2, 2), (3, 2, 2)), "lower must have shape (3, 2, 2) or (2, 2, 2), got (1, 2, 2)"),
        (((3, 2, 2), (3, 2, 2), (3, 4, 4)), "upper must have shape (3, 2, 2) or (2, 2, 2), got (3, 4, 4)"),
    ],
)
def test_bad_shapes(backend, shapes, message):
    with pytest.raises(ValueError) as error:
        BlockTridiagonalSolver(*(backend.xp.ones(shape) for shape in shapes))
    assert message in str(error.value)


def test_bad_numbers(backend):
    bands = block_bands("dominant", 5, 2, np.float64)
    bands[2][3, 0, 1] = np.nan
    with pytest.raises(ValueError, match=r"upper must be finite, got nan at upper\[3, 0, 1\]"):
        make(backend, bands)


def test_nothing(backend):
    solver = BlockTridiagonalSolver(*(backend.xp.zeros((0, 2, 2)) for _ in range(3)))
    assert solver.n == 0 and solver.solve(backend.xp.zeros((0, 3))).shape == (0, 3)
    assert "blocks of 2" in str(solver)
