"""Scaled and permuted matrices over ranks: those of one process, bit for bit, and so are their operators."""

import numpy as np
import pytest
import scipy.sparse as sp
from parallel_cases import jumps, random_matrix, random_offsets, vector
from strategies import slow

import linforest_precond as lf
from linforest_precond import distributed
from linforest_precond.distributed import scatter, simulate
from linforest_precond.distributed.partition import scaling as rank_scaling
from linforest_precond.distributed.partition.scaling import RankScaling

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")


def shifted_rows(n=60, dtype=np.float64):
    """Large entries are beside the diagonal, in rows and columns of different sizes."""
    A = random_matrix(n, 0.05, 3, dtype)
    rng = np.random.default_rng(1)
    large = sp.csr_array((rng.uniform(5, 9, n), (np.arange(n), (np.arange(n) + 7) % n)), shape=(n, n))
    D = sp.diags_array(10.0 ** rng.integers(-3, 4, n))
    return sp.csr_array((D @ (A + large)).astype(dtype))


MATRICES = {
    "large entries beside the diagonal": shifted_rows,
    "symmetric": lambda: jumps((8, 9)),
    "large numbers": lambda: 1e200 * shifted_rows(),
    "single": lambda: shifted_rows(dtype=np.float32),
    "complex": lambda: shifted_rows(dtype=np.complex128),
}
NAMES = [slow(name) if name in ("single", "complex") else name for name in MATRICES]


def offsets_of(A, size):
    return random_offsets(A.shape[0], size, size)


@pytest.mark.parametrize("method", ["matching", "equilibrate", "jacobi"])
@pytest.mark.parametrize("name", [each for each in NAMES if each != "large numbers"])
def test_the_scaled_matrix_is_that_of_one_process(name, method):
    A = MATRICES[name]()
    wanted = lf.scaling(A, method).apply(A).tocsr()

    def rows(comm, offsets):
        own = scatter(A, comm, offsets)
        B = RankScaling.of(own, method).applied(own)
        found = B.rows.copy()
        found.indices = B.columns[B.rows.indices]
        return np.diff(found.indptr), found.indices, found.data

    for size in (1, 4):
        parts = zip(*simulate(size, rows, offsets_of(A, size)))
        lengths, columns, data = (np.concatenate(arrays) for arrays in parts)
        assert np.array_equal(lengths, np.diff(wanted.indptr)) and np.array_equal(columns, wanted.indices)
        assert data.dtype == wanted.dtype and data.tobytes() == wanted.data.tobytes()


def words_of(M):
    """What `print(M)` says of the scaling."""
    return next(line for line in str(M).splitlines() if line.startswith("  scaling")).split(maxsplit=1)[1]


def products(A, kind, offsets, **options):
    """The joined products of M and M.T, that of M after an update, and what is printed of the scaling."""
    r = vector(A.shape[0], 5, A.dtype)

    def multiply(comm):
        own = scatter(A, comm, offsets)
        M = getattr(distributed, kind)(own, **options)
        M = M.aspreconditioner() if hasattr(M, "aspreconditioner") else M
        part = r[own.first : own.first + own.n_local]
        found = [M @ part, M.T @ part]
        M.update(scatter(2 * A, comm, offsets))
        return [*found, M @ part, [words_of(M)] * own.n_local]

    return [np.concatenate(parts) for parts in zip(*simulate(len(offsets) - 1, multiply))]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("kind", ["tridiagonal", "approximate_inverse", "multilevel"])
@pytest.mark.parametrize("scaling", ["matching", slow("equilibrate"), slow("auto")])
def test_operators_are_those_of_one_process(kind, name, scaling):
    A = MATRICES[name]()
    options = {"scaling": scaling, **({"smoother": "l1_jacobi"} if kind == "multilevel" else {})}
    M = getattr(lf, kind)(A, **options)
    M = M.aspreconditioner() if hasattr(M, "aspreconditioner") else M
    r = vector(A.shape[0], 5, A.dtype)
    wanted = [M @ r, M.T @ r]
    M.update(2 * A)
    wanted.append(M @ r)
    tolerance = 1e-3 if np.finfo(A.dtype).bits == 32 else 1e-9
    for size in (1, 3):
        *found, words = products(A, kind, offsets_of(A, size), **options)
        for x, y in zip(found, wanted):
            np.testing.assert_allclose(x, y, rtol=0, atol=tolerance * abs(y).max())
            if kind == "approximate_inverse":
                assert np.array_equal(x, y)
        assert {words_of(M)} == {*words.tolist()}


def test_ilu_factors_the_blocks_of_the_scaled_matrix():
    A = shifted_rows()
    r = vector(60, 5)
    M = lf.ilu(A, scaling="matching", ordering="natural")
    found = products(A, "ilu", np.array([0, 60]), scaling="matching", ordering="natural")
    assert np.array_equal(found[0], M @ r) and np.array_equal(found[1], M.T @ r)
    assert np.isfinite(products(A, "ilu", offsets_of(A, 3), scaling="matching")[0]).all()


def test_systems_with_zeros_on_the_diagonal_are_solved():
    A = sp.csr_array(lf.matrices.poisson((12, 12)) + 4 * sp.eye_array(144))[(np.arange(144) + 5) % 144]

    def info(comm):
        own = scatter(A, comm)
        M = distributed.tridiagonal(own, scaling="matching")
        return distributed.bicgstab(own, np.ones(own.n_local), M=M, maxiter=30)[1]

    assert simulate(3, info) == [0, 0, 0]


def test_errors(monkeypatch):
    A = shifted_rows()
    with pytest.raises(ValueError, match='scaling over ranks must be "auto", "matching", "equilibrate" or'):
        simulate(2, lambda comm: distributed.tridiagonal(scatter(A, comm), scaling="ruiz"))
    singular = sp.csr_array((A.data, A.indices * 0, np.arange(61) * 0 + np.arange(61)), shape=(60, 60))
    with pytest.raises(ValueError, match="structurally singular"):
        simulate(2, lambda comm: distributed.ilu(scatter(singular, comm), scaling="matching"))
    monkeypatch.setattr(rank_scaling, "MOST_GATHERED", 50)
    with pytest.raises(ValueError, match=r"at most 50 entries, got .*; scale the matrix in the application"):
        simulate(2, lambda comm: distributed.tridiagonal(scatter(A, comm), scaling="matching"))
