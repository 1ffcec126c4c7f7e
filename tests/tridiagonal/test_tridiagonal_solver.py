"""The tridiagonal solver: as accurate as LAPACK on all kinds of matrices, for all right-hand sides."""

import warnings

import numpy as np
import pytest
import strategies as graphs
import tridiagonal_cases as cases
from hypothesis import given
from hypothesis import strategies as st

from linforest_precond.precond.tridiagonal.solver import TridiagonalSolver

LARGE_TYPES = "random", "toeplitz -1 2 -1", "row dominant", "graded", "alternating diagonal"
LARGE_CASES = [(name, dtype, 10**6) for name in LARGE_TYPES for dtype in graphs.DTYPES] + [
    (name, dtype, 10**7) for name in LARGE_TYPES[:2] for dtype in (np.float32, np.float64)
]
# A system that is swept, and one that is pivoted.
SWEPT_AND_PIVOTED = ("row dominant", "random")


def solve(backend, bands, b, **options):
    solver = TridiagonalSolver(*map(backend.array, bands))
    return backend.host(solver.solve(backend.array(b), **options))


def assert_accurate(backend, name, n, dtype, transpose=False):
    bands = cases.system(name, n, dtype)
    rng = np.random.default_rng(n)
    x = cases.random_values(rng, n, dtype)
    b = cases.multiply(cases.wide(*bands), cases.wide(x)[0], transpose).astype(dtype)
    ours, lapacks = solve(backend, bands, b, transpose=transpose), cases.gtsv(bands, b, transpose)
    epsilon = float(np.finfo(dtype).eps)
    backward = [cases.backward_error(bands, y, b, transpose) for y in (ours, lapacks)]
    # Solutions of few rows may happen to be exact.
    assert backward[0] <= max(10 * backward[1], 2 * epsilon), (n, backward)
    condition = cases.condition(bands)
    if epsilon * condition < 0.1:  # else no digit of the solution is determined by the system
        forward = [cases.relative_error(y, x) for y in (ours, lapacks)]
        assert forward[0] <= 10 * max(forward[1], epsilon * condition), (n, forward)


@pytest.mark.parametrize(("name", "dtype"), graphs.crossed(cases.TYPES, graphs.DTYPES))
class TestAccuracy:
    """Backward errors within 10 x those of LAPACK's gtsv, forward errors within what the matrix allows."""

    def test_as_accurate_as_gtsv(self, backend, name, dtype):
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # no pivot is perturbed
            for n in cases.sizes_of(name):
                assert_accurate(backend, name, n, dtype)

    def test_transposed(self, backend, name, dtype):
        for n in cases.sizes_of(name)[2::3]:
            assert_accurate(backend, name, n, dtype, transpose=True)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "dtype", "n"), LARGE_CASES)
def test_as_accurate_as_gtsv_on_millions_of_rows(backend, name, dtype, n):
    try:
        assert_accurate(backend, name, n, dtype)
    finally:
        cases.system.cache_clear()


@pytest.mark.parametrize("transpose", [False, True])
def test_couplings_in_one_direction(backend, transpose):
    """Independent parts begin only where both couplings between two rows vanish."""
    n, rng = 40_000, np.random.default_rng(3)
    lower, upper = rng.uniform(-1, 1, (2, n)) * rng.integers(0, 2, (2, n))
    lower[0] = upper[-1] = 0
    bands = lower, np.full(n, 4.0), upper
    assert not TridiagonalSolver(*map(backend.array, bands)).pivoted
    b = rng.standard_normal(n)
    x = solve(backend, bands, b, transpose=transpose)
    assert cases.relative_error(x, cases.gtsv(bands, b, transpose)) < 1e-12


def dense_solution(bands, b, transpose=False):
    A = cases.dense(bands).astype(np.promote_types(bands[1].dtype, np.float64))
    return np.linalg.solve(A.T if transpose else A, b)


METHODS = pytest.mark.parametrize("name", SWEPT_AND_PIVOTED)


class TestRightHandSides:
    @METHODS
    @pytest.mark.parametrize("dtype", graphs.quick(graphs.DTYPES))
    @pytest.mark.parametrize("transpose", [False, True])
    def test_of_every_shape_and_type(self, backend, name, dtype, transpose):
        bands = cases.system(name, 65, dtype)
        solver = TridiagonalSolver(*map(backend.array, bands))
        assert solver.pivoted == (name == "random")
        tolerance = 1e3 * np.finfo(dtype).eps
        rng = np.random.default_rng(5)
        for shape in ((65,), (65, 1), (65, 2), (65, 7), (65, 32), (65, 33)):
            for right in graphs.DTYPES:
                b = cases.random_values(rng, shape, right)
                x = solver.solve(backend.array(b), transpose=transpose)
                assert isinstance(x, backend.xp.ndarray)
                assert x.shape == shape and x.dtype == np.promote_types(dtype, right)
                x = backend.host(x)
                assert cases.relative_error(x, dense_solution(bands, b, transpose)) < tolerance

    @METHODS
    def test_in_any_order_of_memory(self, backend, name):
        bands = cases.system(name, 257, np.float64)
        solver = TridiagonalSolver(*map(backend.array, bands))
        b = cases.random_values(np.random.default_rng(1), (257, 6), np.float64)
        x = backend.host(solver.solve(backend.array(b)))
        wide = backend.array(np.repeat(np.repeat(b, 2, axis=0), 3, axis=1))
        for same in (
            backend.xp.asfortranarray(backend.array(b)),
            wide[::2, ::3],
            backend.array(b[::-1].copy())[::-1],
        ):
            kept = backend.host(same).copy()
            np.testing.assert_array_equal(backend.host(solver.solve(same)), x)
            np.testing.assert_array_equal(backend.host(same), kept)  # b is not modified

    @METHODS
    @pytest.mark.parametrize("columns", [1, 3])
    def test_columns_alone_and_together(self, backend, name, columns):
        bands = cases.system(name, 4097, np.float64)
        solver = TridiagonalSolver(*map(backend.array, bands))
        b = cases.random_values(np.random.default_rng(1), (4097, columns), np.float64)
        x = backend.host(solver.solve(backend.array(b)))
        for c in range(columns):
            alone = backend.host(solver.solve(backend.array(b[:, c].copy())))
            assert cases.relative_error(x[:, c], alone) < 1e-12

    @METHODS
    @pytest.mark.parametrize("index", graphs.quick(graphs.INDEX_DTYPES))
    @pytest.mark.parametrize(
        "dtypes",
        graphs.quick([[np.float64, np.float64], [np.float32, np.float64], [np.complex128, np.complex128]]),
    )
    def test_permuted(self, backend, name, index, dtypes):
        """Row i of the system is row order[i] of b and x, whatever their strides are."""
        bands = cases.system(name, 1025, dtypes[0])
        solver = TridiagonalSolver(*map(backend.array, bands))
        rng = np.random.default_rng(2)
        order = rng.permutation(1025).astype(index)
        for columns in (1, 4):
            b = cases.random_values(rng, (1025, columns), dtypes[1])
            x = backend.xp.full((columns, 1025), np.nan, dtypes[1]).T
            solver.solve_into(backend.array(b), x, backend.array(order))
            wanted = backend.host(solver.solve(backend.array(b[order])))
            np.testing.assert_allclose(
                backend.host(x)[order], wanted, rtol=1e-4 if dtypes[0] == np.float32 else 1e-9
            )

    def test_integers_and_nothing(self, backend):
        solver = TridiagonalSolver(*map(backend.array, ([0, 1, 1], [4, 4, 4], [1, 1, 0])))
        assert solver.dtype == np.float64
        b = np.array([5, 6, 5])
        np.testing.assert_allclose(backend.host(solver.solve(backend.array(b))), np.ones(3), rtol=1e-15)
        assert solver.solve(backend.xp.zeros((3, 0))).shape == (3, 0)
        nothing = TridiagonalSolver(*(backend.xp.zeros(0) for _ in range(3)))
        assert nothing.n == 0
        assert nothing.solve(backend.xp.zeros(0)).shape == (0,)
        assert nothing.solve(backend.xp.zeros((0, 4))).shape == (0, 4)

    def test_bands_of_either_length(self, backend):
        lower, diagonal, upper = cases.system("random", 33, np.float64)
        b = backend.array(np.arange(33.0))
        wanted = backend.host(
            TridiagonalSolver(*map(backend.array, (lower[1:], diagonal, upper[:-1]))).solve(b)
        )
        lower, upper = lower.copy(), upper.copy()
        lower[0] = upper[-1] = 7  # ignored
        x = TridiagonalSolver(*map(backend.array, (lower, diagonal, upper))).solve(b)
        np.testing.assert_array_equal(backend.host(x), wanted)


@st.composite
def band_systems(draw):
    """Bands of small integers, so that segments, zeros and ties are common, scaled by a power of two."""
    n = draw(st.integers(1, 40))
    dtype = draw(graphs.types(graphs.DTYPES))
    numbers = st.lists(st.integers(-3, 3), min_size=n, max_size=n)
    bands = [np.array(draw(numbers), dtype) for _ in range(3)]
    if np.dtype(dtype).kind == "c":
        bands = [(band + 1j * np.array(draw(numbers))).astype(dtype) for band in bands]
    bands[1] = bands[1] + draw(st.sampled_from((0, 0, 7, -7)))
    bands[0][0] = bands[2][-1] = 0
    scale = dtype(2.0 ** draw(st.integers(-60, 60)))
    return [(band * scale).astype(dtype) for band in bands]


@given(bands=band_systems(), seed=st.integers(0, 1000), transpose=st.booleans())
def test_random_bands(backend, bands, seed, transpose):
    """Finite in any case, a small residual where no pivot was perturbed."""
    dtype = bands[1].dtype
    b = cases.random_values(np.random.default_rng(seed), bands[1].size, dtype)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        solver = TridiagonalSolver(*map(backend.array, bands))
    x = backend.host(solver.solve(backend.array(b), transpose=transpose))
    assert np.isfinite(x).all()
    assert [w.category for w in caught] == [RuntimeWarning] * (solver.lifted > 0)
    if not solver.lifted:
        assert cases.backward_error(bands, x, b, transpose) < 20 * np.finfo(dtype).eps


BAD_BANDS = {
    "lower must have shape (3,) or (2,), got (4,)": lambda xp: (xp.ones(4), xp.ones(3), xp.ones(3)),
    "upper must have shape (3,) or (2,), got (3, 1)": lambda xp: (xp.ones(3), xp.ones(3), xp.ones((3, 1))),
    "diagonal must have shape (N,), got (3, 3)": lambda xp: (xp.ones(3), xp.ones((3, 3)), xp.ones(3)),
    "lower must be finite, got nan at lower[1]": lambda xp: (
        xp.array([0, np.nan, 1]),
        xp.ones(3),
        xp.ones(3),
    ),
    "diagonal must be finite, got inf at diagonal[2]": lambda xp: (
        xp.ones(3),
        xp.array([1, 1, np.inf]),
        xp.ones(3),
    ),
    "upper must hold float32": lambda xp: (xp.ones(3), xp.ones(3), xp.ones(3, np.float16)),
}


class TestBadInput:
    @pytest.mark.parametrize("message", BAD_BANDS)
    def test_bands(self, backend, message):
        kind = TypeError if "hold" in message else ValueError
        with pytest.raises(kind) as error:
            TridiagonalSolver(*BAD_BANDS[message](backend.xp))
        assert message in str(error.value)

    @pytest.mark.parametrize(
        ("b", "kind", "message"),
        [
            (np.ones(4), ValueError, "b must have shape (3,) or (3, k), got (4,)"),
            (np.ones((3, 2, 2)), ValueError, "b must have shape (3,) or (3, k), got (3, 2, 2)"),
            (np.ones(()), ValueError, "b must have shape (3,) or (3, k), got ()"),
            (np.ones(3, np.float16), TypeError, "b must hold float32"),
        ],
        ids=["length", "dimensions", "scalar", "half precision"],
    )
    def test_right_hand_sides(self, backend, b, kind, message):
        solver = TridiagonalSolver(*(backend.xp.ones(3) * i for i in (0, 2, 0)))
        with pytest.raises(kind) as error:
            solver.solve(backend.array(b))
        assert message in str(error.value)

    @pytest.mark.gpu
    def test_mixed_devices(self, cuda):
        ones = cuda.xp.ones(3)
        with pytest.raises(TypeError, match="one device, got diagonal on cuda and upper on cpu"):
            TridiagonalSolver(ones, ones, np.ones(3))
        with pytest.raises(TypeError, match=r"b must be on the solver's device \(cuda\), got one on cpu"):
            TridiagonalSolver(ones, 4 * ones, ones).solve(np.ones(3))


def test_prints_itself(backend):
    solver = TridiagonalSolver(*map(backend.array, cases.system("toeplitz -1 4 -1", 1025, np.float32)))
    words = ("1,025", "float32", "positive definite", "no pivoting", f"{solver.nbytes:,}")
    assert all(word in str(solver) for word in words)
    assert repr(solver) == "<tridiagonal solver; rows 1,025; dtype float32; matrix positive definite>"
