"""Sparse direct factorizations: accurate solutions of any nonsingular system, and errors for the others."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
import strategies as graphs
from conftest import load_real
from operator_cases import dominant, other_values, vectors
from scipy.sparse.csgraph import structural_rank
from scipy.sparse.linalg import splu

import linforest_precond as lf
from linforest_precond.backends.cpu.runtime import calibration
from linforest_precond.matrix.checked import checked
from linforest_precond.precond.direct.orders import triangular_order
from linforest_precond.precond.direct.refinement import Residuals, refined


def random_matrix(n, dtype=np.float64, *, density=0.05, diagonal=1.0, seed=0):
    """A random matrix with a permutation's worth of entries added, so that it is nonsingular."""
    rng = np.random.default_rng(seed)
    A = sp.random_array((n, n), density=density, rng=rng, dtype=np.float64)
    A = A + diagonal * sp.eye_array(n) + sp.csr_array((np.full(n, 2.0), (rng.permutation(n), np.arange(n))))
    A = sp.csr_array(A)
    if np.dtype(dtype).kind == "c":
        A = A + 1j * sp.csr_array((rng.standard_normal(A.nnz), A.indices, A.indptr), shape=A.shape)
    return graphs.with_types(sp.csr_array(A), dtype, np.int32)


def saddle_point(n=60, m=20, seed=0):
    """[[K, B^T], [B, 0]]: a zero block on the diagonal."""
    K = lf.matrices.poisson(n)
    B = sp.random_array((m, n), density=0.2, rng=np.random.default_rng(seed)) + sp.eye_array(m, n)
    return sp.csr_array(sp.block_array([[K, B.T], [B, None]]))


def backward_error(A, x, b):
    with np.errstate(invalid="ignore"):
        return np.nanmax(abs(b - A @ x) / (abs(A) @ abs(x) + abs(b)))


def solve_refined(A, M, b):
    """The refined solutions for the columns of b by M, and the largest backward error."""
    xp, residuals, most = A.backend.xp, Residuals(A), A.backend.multigrid.vector_ops.MOST_COLUMNS
    columns = b.reshape(A.n, -1)
    x, errors = xp.empty(columns.shape, A.dtype), [0.0]
    with np.errstate(all="ignore"):
        for first in range(0, columns.shape[1] if A.n else 0, most):
            part = xp.ascontiguousarray(columns[:, first : first + most], dtype=A.dtype)
            x[:, first : first + most], error = refined(residuals, M.matmat, part)
            errors.append(error)
    return x.reshape(b.shape), max(errors)


def line(M, name):
    return next(each for each in str(M).splitlines() if each.lstrip().startswith(name)).split(maxsplit=1)[1]


@pytest.mark.parametrize("dtype", graphs.quick([np.float64, np.complex128, np.float32, np.complex64]))
@pytest.mark.parametrize("options", [{}, {"pivoting": "partial"}, {"ordering": "natural"}], ids=str)
def test_random_systems(backend, dtype, options):
    A = random_matrix(80, dtype)
    b = vectors(dtype, 80, 3)
    M = lf.direct(backend.csr(A), **options)
    found = backend.host(M @ backend.array(b))
    eps = np.finfo(dtype).eps
    assert np.linalg.norm(A @ found - b) <= 1e5 * eps * np.linalg.norm(b)
    x, error = solve_refined(checked(backend.csr(A)), M, backend.array(b))
    assert error <= 4 * eps and backward_error(A, backend.host(x), b) <= 8 * eps
    found = backend.host(M.T @ backend.array(b))
    assert np.linalg.norm(A.T @ found - b) <= 1e5 * eps * np.linalg.norm(b)


@pytest.mark.parametrize("form", ["csr", "csc", "coo", "dense"])
def test_formats(form):
    A = random_matrix(30)
    given = A.toarray() if form == "dense" else A.asformat(form)
    assert np.array_equal(lf.direct(given) @ np.ones(30), lf.direct(A) @ np.ones(30))


@pytest.mark.parametrize(
    "make",
    [
        saddle_point,
        lambda: sp.csr_array(random_matrix(80)[np.random.default_rng(1).permutation(80)]),
        lambda: sp.csr_array(np.array([[0.0, 1.0], [1.0, 0.0]])),
        lambda: sp.csr_array(random_matrix(80, diagonal=1e-14)),
        lambda: sp.csr_array(np.triu(np.ones((40, 40)))),
    ],
    ids=["saddle point", "permuted rows", "swap", "tiny diagonal", "triangular"],
)
def test_bad_diagonals(backend, make):
    A = make()
    b = A @ np.ones(A.shape[0])
    x = backend.host(lf.direct(backend.csr(A)) @ backend.array(b))
    assert backward_error(A, x, b) <= 1e-12


def test_diagonal_pivots_that_fail_are_found():
    """Growth of 2**n with diagonal pivots: the classical example of Wilkinson, transposed."""
    n = 70
    A = np.eye(n) - np.tril(np.full((n, n), 1.0), -1) * 600
    A[:, -1] = 1
    A = sp.csr_array(A)
    b = A @ np.linspace(1, 2, n)
    M = lf.direct(A)
    assert solve_refined(checked(A), M, b)[1] <= 1e-15
    bad = lf.direct(A, pivoting="diagonal", ordering="natural")
    assert not bad._part.is_accurate


def test_patterns_without_symmetry_get_partial_pivoting():
    A = sp.csr_array(
        sp.eye_array(300) * 2 + sp.random_array((300, 300), density=0.02, rng=np.random.default_rng(0))
    )
    assert line(lf.direct(A), "order") == "colamd" and line(lf.direct(A), "pivots").startswith("partial")


@pytest.mark.parametrize("pivoting", ["auto", "diagonal", "partial"])
@pytest.mark.parametrize("order", ["auto", "colamd", "minimum_degree", "natural", "given"])
def test_options(backend, order, pivoting):
    A = dominant(symmetric=False)
    n = A.shape[0]
    given = np.random.default_rng(0).permutation(n) if order == "given" else order
    M = lf.direct(backend.csr(A), ordering=given, pivoting=pivoting)
    x = backend.host(M @ backend.array(A @ np.ones(n)))
    assert abs(x - 1).max() < 1e-12
    if order == "given":
        assert np.array_equal(backend.host(M.ordering.order), given)


class TestTriangularOrder:
    @pytest.mark.parametrize("seed", range(4))
    def test_found_if_there_is_one(self, backend, seed):
        rng, n = np.random.default_rng(seed), 400
        A = sp.triu(sp.random_array((n, n), density=3 / n, rng=rng), 1) + sp.eye_array(n)
        order = rng.permutation(n)
        A = sp.csr_array(A.tocsr()[order][:, order])
        found = backend.host(triangular_order(checked(backend.csr(A))))
        np.testing.assert_array_equal(np.sort(found), np.arange(n))
        assert sp.tril(A[found][:, found], -1).nnz == 0

    def test_none_with_a_cycle(self, backend):
        A = sp.csr_array(np.array([[1.0, 2.0, 0.0], [0.0, 1.0, 2.0], [2.0, 0.0, 1.0]]))
        assert triangular_order(checked(backend.csr(A))) is None


class TestPrediction:
    def test_fill_is_that_of_the_symbolic_factorization(self):
        """But for entries of supernodes that are zeros."""
        A = lf.matrices.poisson((40, 40))
        M = lf.direct(A)
        predicted = lf.graph.fill(A, M.ordering.order)
        assert predicted.lu_entries <= M._part.factors.entries <= 1.3 * predicted.lu_entries
        assert line(M, "operations") == f"{predicted.lu_flops:.3g}"

    def test_factors_that_do_not_fit_are_refused(self, monkeypatch):
        A = lf.matrices.poisson((40, 40))
        needed = lf.graph.fill(A, lf.graph.minimum_degree(A)).memory(lu=True)
        monkeypatch.setattr(calibration, "free_bytes", lambda: needed - 1)
        with pytest.raises(MemoryError, match=f"need {needed:,} bytes, and {needed - 1:,} are free"):
            lf.direct(A)
        lf.direct(A, dtype=np.float32)


class TestSingular:
    @pytest.mark.parametrize(
        ("dense", "cause"),
        [
            (np.diag([1.0, 0, 2]), "row 1 has no nonzero"),
            (np.array([[1.0, 0], [2, 0]]), "column 1 has no nonzero"),
            (np.array([[0.0, 0, 1], [0, 0, 1], [1, 1, 1]]), "structurally"),
            (np.array([[1.0, 2], [2, 4]]), "column of zeros"),
        ],
        ids=["row", "column", "structure", "numbers"],
    )
    def test_the_cause_is_named(self, backend, dense, cause):
        with pytest.raises(np.linalg.LinAlgError, match=f"A must be nonsingular.*{cause}"):
            lf.direct(backend.csr(sp.csr_array(dense)))

    def test_an_update_leaves_the_operator(self):
        A = dominant()
        M = lf.direct(A)
        before = M @ np.ones(A.shape[0])
        B = A.copy()
        B.data[:] = 0
        with pytest.raises(np.linalg.LinAlgError, match="A must be nonsingular"):
            M.update(B)
        assert np.array_equal(M @ np.ones(A.shape[0]), before)


class TestUpdate:
    @pytest.mark.parametrize("options", [{}, {"pivoting": "partial"}, {"scaling": "equilibrate"}], ids=str)
    def test_same_as_factored_anew(self, backend, options):
        A = dominant(symmetric=False)
        B = other_values(A)
        M = lf.direct(backend.csr(A), **options)
        M.update(backend.csr(B))
        anew = lf.direct(backend.csr(B), **options)
        r = backend.array(vectors(A.dtype, A.shape[0]))
        np.testing.assert_allclose(backend.host(M @ r), backend.host(anew @ r), rtol=1e-12)

    def test_pivots_that_became_bad_are_found(self):
        """Partial pivoting follows, and stays."""
        A = dominant(symmetric=False)
        B = other_values(A)
        B.setdiag(1e-20 * (1 + np.arange(A.shape[0])))
        M = lf.direct(A, ordering="natural")
        for values in (B, A, B):
            M.update(values)
            b = values @ np.ones(A.shape[0])
            assert solve_refined(checked(values), M, b)[1] <= 1e-14

    def test_values_of_the_user_may_change(self):
        A = dominant(symmetric=False)
        M = lf.direct(A)
        b = A @ np.ones(A.shape[0])
        A.data[:] = np.nan
        assert abs(pickle.loads(pickle.dumps(M)) @ b - 1).max() < 1e-12


def test_partial_pivoting_is_stored(tmp_path):
    A = random_matrix(80)
    M = lf.direct(A, pivoting="partial")
    lf.save_preconditioner(M, tmp_path / "M.npz")
    again = lf.load_preconditioner(tmp_path / "M.npz")
    assert np.array_equal(again @ np.ones(80), M @ np.ones(80)) and str(again) == str(M)


def test_single_precision_factors_are_refined_to_double():
    A = lf.matrices.poisson((20, 20))
    M = lf.direct(A, dtype=np.float32)
    b = A @ np.linspace(0, 1, 400)
    x, error = solve_refined(checked(A), M, b)
    assert error <= 1e-15 and abs(x - np.linspace(0, 1, 400)).max() <= 1e-12


def test_negligible_components_do_not_spoil_the_backward_error():
    """The solution decays to 1e-200: only relative to its largest component is it accurate."""
    A = sp.csr_array(sp.diags_array([-1.0, 1e4, -1.0], offsets=(-1, 0, 1), shape=(60, 60)))
    b = np.eye(60)[:, :1].copy()
    x = np.linalg.solve(A.toarray(), b)
    assert Residuals(checked(A)).of(b, x)[1] <= 1e-14


def test_bad_arguments_are_named():
    A = lf.matrices.poisson(5)
    for options, error, words in [
        ({"ordering": "metis"}, ValueError, "ordering must be one of"),
        ({"ordering": [0, 1, 2, 3, 3]}, ValueError, "ordering must be a permutation"),
        ({"pivoting": "rook"}, ValueError, "pivoting must be"),
        ({"dtype": np.complex64}, TypeError, "dtype"),
    ]:
        with pytest.raises(error, match=words):
            lf.direct(A, **options)


def test_no_rows(backend):
    M = lf.direct(backend.csr(sp.csr_array((0, 0))))
    assert (M @ backend.array(np.zeros(0))).shape == (0,)


def solved_by_superlu(A, b):
    """With partial pivoting; None for a singular matrix, on which SuperLU may crash."""
    if structural_rank(A) < A.shape[0]:
        return None
    try:
        return splu(A.tocsc()).solve(b)
    except RuntimeError:
        return None


@pytest.mark.slow
def test_real_matrices(backend, medium_real_name):
    """As accurate as SuperLU with partial pivoting, which is the reference here."""
    A = load_real(medium_real_name)
    A = sp.csr_array(A, dtype=np.promote_types(A.dtype, np.float64))
    b = A @ np.ones(A.shape[0])
    theirs = solved_by_superlu(A, b)
    if theirs is None:
        with pytest.raises(np.linalg.LinAlgError, match="A must be nonsingular"):
            lf.direct(backend.csr(A))
        return
    M = lf.direct(backend.csr(A))
    x, error = solve_refined(checked(backend.csr(A)), M, backend.array(b))
    assert error <= 1e-12
    assert backward_error(A, backend.host(x), b) <= max(1e-12, 10 * backward_error(A, theirs, b))
