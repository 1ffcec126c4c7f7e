"""The properties that the tridiagonal solver detects, its perturbed pivots and its clipped couplings."""

import warnings

import numpy as np
import pytest
import strategies as graphs
import tridiagonal_cases as cases
from conftest import CPU
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csgraph

from linforest_precond.backends import backend_of
from linforest_precond.backends.array_libraries import on_host
from linforest_precond.backends.returns import PivotFinding
from linforest_precond.precond.tridiagonal.segments import segments_of
from linforest_precond.precond.tridiagonal.solver import TridiagonalSolver, solver_of
from linforest_precond.records.forest import Bands

DOMINANT = (
    "strong diagonal",
    "toeplitz -1 2 -1",
    "toeplitz -1 4 1",
    "row dominant",
    "column dominant",
    "inverse kms",
)


def make(backend, bands, **options):
    """The solver, and the warnings it gave."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        solver = TridiagonalSolver(*map(backend.array, bands), **options)
    return solver, [str(w.message) for w in caught if w.category is RuntimeWarning]


def segments(*parts):
    """Independent systems, concatenated."""
    return [np.concatenate(bands) for bands in zip(*parts, strict=True)]


def path(lower, diagonal, upper):
    bands = [np.array(band, float) for band in (lower, diagonal, upper)]
    bands[0][0] = bands[2][-1] = 0
    return bands


def neumann(n):
    diagonal = np.full(n, 2.0)
    diagonal[[0, -1]] = 1 if n > 1 else 0
    return path(-np.ones(n), diagonal, -np.ones(n))


def zero_diagonal(n):
    return path(np.ones(n), np.zeros(n), np.ones(n))


def random_segments(lengths, seed=0):
    """Diagonally dominant segments of these lengths."""
    rng = np.random.default_rng(seed)
    n = sum(lengths)
    lower, upper = rng.uniform(-1, 1, (2, n))
    ends = np.cumsum(lengths)
    lower[np.append(0, ends[:-1])] = upper[ends - 1] = 0
    return lower, abs(lower) + abs(upper) + rng.uniform(0.1, 1, n), upper


class TestPivots:
    @pytest.mark.parametrize("dtype", graphs.quick(graphs.DTYPES))
    @pytest.mark.parametrize("name", DOMINANT)
    def test_follow_the_recurrence(self, backend, name, dtype):
        for n in (1, 2, 17, 64, 65, 257, 4097):
            self.follow_the_recurrence(backend, name, n, dtype)

    @pytest.mark.gpu
    def test_of_several_launches_follow_the_recurrence(self, cuda):
        """More rows than one cooperative launch factors."""
        self.follow_the_recurrence(cuda, DOMINANT[0], 2**18 + 4097, np.float64)

    def follow_the_recurrence(self, backend, name, n, dtype):
        lower, diagonal, upper = cases.system(name, n, dtype)
        factor = backend_of(backend.array(diagonal)).tridiagonal.pivots.factor
        inverse, _ = factor(*map(backend.array, (lower, diagonal, upper)))
        w = backend.host(inverse).astype(np.promote_types(dtype, np.float64))
        pivots = diagonal.astype(w.dtype)
        pivots[1:] -= lower[1:] * w[:-1] * upper[:-1]
        sizes = np.maximum(np.maximum(abs(lower), abs(diagonal)), abs(upper))
        assert (abs(pivots - 1 / w) <= 32 * np.finfo(dtype).eps * sizes).all(), (name, n)

    @pytest.mark.gpu
    @pytest.mark.parametrize("dtype", graphs.DTYPES)
    @pytest.mark.parametrize("name", cases.TYPES)
    def test_are_found_alike_on_both_backends(self, cuda, name, dtype):
        for n in (1, 2, 33, 257):
            if n not in cases.sizes_of(name) and name not in DOMINANT:
                continue
            bands = cases.system(name, n, dtype)
            found = []
            for backend in (CPU, cuda):
                factor = backend_of(backend.array(bands[1])).tridiagonal.pivots.factor
                inverse, report = factor(*map(backend.array, bands))
                found.append((backend.host(inverse), on_host(report) > 0))
            exact = slice(PivotFinding.NOT_ROW_DOMINANT, PivotFinding.NOT_POSITIVE + 1)
            np.testing.assert_array_equal(found[0][1][exact], found[1][1][exact])
            if name in DOMINANT:
                np.testing.assert_allclose(found[1][0], found[0][0], rtol=1e3 * np.finfo(dtype).eps)
                np.testing.assert_array_equal(found[0][1], found[1][1])


class TestFindings:
    @pytest.mark.parametrize("dtype", graphs.quick(graphs.DTYPES))
    def test_symmetric_and_definite(self, backend, dtype):
        n = 300
        phases = np.exp(2j * np.pi * np.random.default_rng(0).random(n)) if np.dtype(dtype).kind == "c" else 1
        upper = (-0.9 * phases * np.ones(n)).astype(dtype)
        lower = np.append(0, upper[:-1].conj()).astype(dtype)
        upper[-1] = 0
        solver, caught = make(backend, (lower, np.full(n, 2, dtype), upper))
        assert (
            solver.hermitian and solver.positive_definite and not (solver.pivoted or solver.clipped or caught)
        )
        assert solver.symmetric == (np.dtype(dtype).kind != "c")
        other, _ = make(backend, (lower, np.full(n, -2, dtype), upper))
        assert other.hermitian and not other.positive_definite and not other.pivoted
        upper[7] *= 1.5
        assert not make(backend, (lower, np.full(n, 2, dtype), upper))[0].hermitian

    def test_pivoting_only_where_it_is_needed(self, backend):
        for name in cases.TYPES:
            solver, _ = make(backend, cases.system(name, 64, np.float64))
            if name in DOMINANT:
                assert not solver.pivoted, name
            if name in ("random", "zero diagonal", "tiny diagonal", "toeplitz tiny", "alternating diagonal"):
                assert solver.pivoted, name

    def test_short_segments_and_a_long_one(self, backend):
        rng = np.random.default_rng(1)
        lengths = [*rng.integers(1, 9, 3000), 20_000, *rng.integers(1, 100, 300)]
        bands = random_segments(lengths)
        x = rng.standard_normal(bands[1].size)
        solver, caught = make(backend, bands)
        y = backend.host(solver.solve(backend.array(cases.multiply(bands, x))))
        assert not caught and abs(x - y).max() < 1e-12


SINGULAR = {
    "a zero row": (zero_diagonal(1), 1),
    "zero rows": (segments(*[zero_diagonal(1)] * 5), 5),
    "a path without ends held": (neumann(40), 1),
    "three such paths": (segments(neumann(3), neumann(16), neumann(2)), 3),
    "an odd path of zeros": (zero_diagonal(3), 1),
    "a long odd path of zeros": (zero_diagonal(5001), 1),
    "parallel rows": (path([0, 2], [1, -4], [-2, 0]), 1),
    "good and bad segments": (
        segments(
            random_segments([50, 3]), zero_diagonal(17), random_segments([20]), neumann(9), zero_diagonal(1)
        ),
        3,
    ),
    "even paths of zeros beside": (segments(zero_diagonal(8), zero_diagonal(7), zero_diagonal(64)), 1),
}


class TestSingular:
    @pytest.mark.parametrize("dtype", graphs.quick(graphs.DTYPES))
    @pytest.mark.parametrize("name", SINGULAR)
    def test_pivots_are_perturbed_with_one_warning(self, backend, name, dtype):
        bands, count = SINGULAR[name]
        bands = [band.astype(dtype) for band in bands]
        solver, caught = make(backend, bands)
        assert solver.lifted == count
        assert len(caught) == 1 and caught[0].endswith(f"(pivots perturbed: {count:,})")
        b = cases.random_values(np.random.default_rng(0), (bands[1].size, 2), dtype)
        for transpose in (False, True):
            assert np.isfinite(backend.host(solver.solve(backend.array(b), transpose=transpose))).all()

    def test_segments_beside_are_not_touched(self, backend):
        good = random_segments([50, 3, 9])
        bands = segments(zero_diagonal(17), good, neumann(8))
        solver, _ = make(backend, bands)
        b = np.random.default_rng(0).standard_normal(bands[1].size)
        x = backend.host(solver.solve(backend.array(b)))[17:-8]
        np.testing.assert_allclose(cases.multiply(good, x), b[17:-8], rtol=1e-12, atol=1e-13)

    @pytest.mark.parametrize("dtype", graphs.quick(graphs.DTYPES))
    @pytest.mark.parametrize("at", [0, 6, 13, 14, 15, 16, 33])
    def test_parallel_rows_among_empty_ones(self, backend, at, dtype):
        """Solutions do not grow from row to row, and the other rows are unchanged."""
        lower, diagonal, upper = np.zeros((3, 36), dtype)
        lower[at + 1] = diagonal[at : at + 2] = upper[at : at + 2] = 1
        solver, caught = make(backend, (lower, diagonal, upper))
        assert solver.lifted >= 34 and len(caught) == 1
        b = cases.random_values(np.random.default_rng(0), 36, dtype)
        apart = abs(np.arange(36) - at - 1) > 1
        epsilon = np.finfo(dtype).eps
        for transpose in (False, True):
            x = backend.host(solver.solve(backend.array(b), transpose=transpose))
            assert abs(x).max() < 10 / np.sqrt(epsilon)
            assert abs(x - b)[apart].max() < 10 * epsilon * abs(x).max()

    @pytest.mark.parametrize("dtype", graphs.quick(graphs.DTYPES))
    def test_rows_that_hold_only_the_one_before(self, backend, dtype):
        lower, diagonal, upper = np.zeros((3, 100), dtype)
        lower[1:] = 1
        solver, caught = make(backend, (lower, diagonal, upper))
        assert 0 < solver.lifted < 100 and len(caught) == 1
        b = cases.random_values(np.random.default_rng(0), 100, dtype)
        for transpose in (False, True):
            assert np.isfinite(backend.host(solver.solve(backend.array(b), transpose=transpose))).all()

    @pytest.mark.parametrize("dtype", graphs.quick(graphs.DTYPES))
    def test_solved_in_either_direction(self, backend, dtype):
        """An unknown that vanishes from the transposed system only: its pivot is perturbed, or none is."""
        bands = path([0, 1, 0], [1, 1, -1], [1, -2, 0])
        bands = [band.astype(dtype) for band in bands]
        solver, _ = make(backend, bands)
        b = cases.random_values(np.random.default_rng(0), 3, dtype)
        for transpose in (False, True):
            x = backend.host(solver.solve(backend.array(b), transpose=transpose))
            error = cases.backward_error(bands, x, b, transpose)
            assert error < 20 * (np.sqrt(np.finfo(dtype).eps) if solver.lifted else np.finfo(dtype).eps)

    def test_all_numbers_are_tiny(self, backend):
        """Numbers whose reciprocals overflow count as zeros."""
        bands = [np.full(5, value) for value in (0.0, 1e-310, 0.0)]
        solver, caught = make(backend, bands)
        assert solver.lifted == 5 and len(caught) == 1
        assert np.isfinite(backend.host(solver.solve(backend.array(np.ones(5))))).all()


def indefinite(n, dtype, seed=0):
    """Hermitian with a positive diagonal, but not positive definite."""
    rng = np.random.default_rng(seed)
    upper = cases.random_values(rng, n, dtype)
    upper[-1] = 0
    lower = np.append(np.zeros(1, dtype), upper[:-1].conj())
    return lower, rng.uniform(0.1, 0.4, n).astype(dtype), upper


class TestMadeDefinite:
    @pytest.mark.parametrize("dtype", graphs.quick(graphs.DTYPES))
    @pytest.mark.parametrize("n", [2, 3, 40, 257])
    def test_by_clipped_couplings(self, backend, n, dtype):
        bands = indefinite(n, dtype)
        assert np.linalg.eigvalsh(cases.dense(bands).astype(complex))[0] < 0
        solver, caught = make(backend, bands, make_definite=True)
        assert solver.clipped and solver.positive_definite and not (solver.pivoted or caught)
        inverse = backend.host(solver.solve(backend.array(np.eye(n, dtype=dtype))))
        condition = abs(inverse).max() * abs(bands[1]).max()
        assert cases.relative_error(inverse, inverse.conj().T) < 10 * np.finfo(dtype).eps * condition
        assert np.linalg.eigvalsh(inverse)[0] > 0
        T = np.linalg.inv(inverse.astype(np.promote_types(dtype, np.float64)))
        roots = np.sqrt(bands[1].real)
        wanted = bands[2][:-1] * np.minimum(1, 0.4995 * roots[:-1] * roots[1:] / abs(bands[2][:-1]))
        tolerance = 10 * np.finfo(dtype).eps * condition
        assert cases.relative_error(np.diag(T, 1), wanted) < tolerance
        assert cases.relative_error(np.diag(T), bands[1]) < tolerance

    def test_only_where_asked(self, backend):
        bands = indefinite(100, np.float64)
        solver, _ = make(backend, bands)
        assert not solver.clipped and not solver.positive_definite
        b = np.ones(100)
        assert cases.backward_error(bands, backend.host(solver.solve(backend.array(b))), b) < 1e-15

    def test_only_where_needed(self, backend):
        bands = cases.system("toeplitz -1 2 -1", 1000, np.float64)
        solver, _ = make(backend, bands, make_definite=True)
        assert solver.positive_definite and not solver.clipped
        negative = indefinite(50, np.float64)
        negative[1][3] = -1  # not clipped: the diagonal is not positive
        solver, _ = make(backend, negative, make_definite=True)
        assert not solver.clipped and not solver.positive_definite

    def test_operators_ask_for_it(self, backend):
        bands = Bands(*map(backend.array, indefinite(60, np.float64)))
        assert solver_of(bands).clipped
        wanted = indefinite(60, np.float64)
        for band, same in zip((bands.lower, bands.diagonal, bands.upper), wanted, strict=True):
            np.testing.assert_array_equal(backend.host(band), same)  # the user's bands are not modified

    @given(n=st.integers(2, 60), seed=st.integers(0, 10**6), scale=st.floats(0.1, 4))
    def test_whatever_the_couplings(self, backend, n, seed, scale):
        lower, diagonal, upper = indefinite(n, np.float64, seed)
        solver, caught = make(backend, (scale * lower, diagonal, scale * upper), make_definite=True)
        assert solver.positive_definite and not caught


@pytest.mark.parametrize("b", [1, 2])
def test_a_segment_is_a_component_of_the_bands(backend, b):
    """A coupling in one direction joins two (block) rows."""
    n, random = 200, np.random.default_rng(b)
    lower, diagonal, upper = random.random((3, n, b, b)) < 0.3
    lower[0] = upper[-1] = False
    coupled = lower[1:].any(axis=(1, 2)) | upper[:-1].any(axis=(1, 2))
    count, expected = csgraph.connected_components(np.diag(coupled, 1), directed=False)
    bands = (band.astype(float) if b > 1 else band.astype(float).ravel() for band in (lower, diagonal, upper))
    segments, starts = segments_of(tuple(map(backend.array, bands)))
    assert backend.host(segments).tolist() == expected.tolist() and 10 < count == starts.size
    assert expected[backend.host(starts)].tolist() == list(range(count))
