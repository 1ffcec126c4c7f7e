"""Solvers over ranks: the same iterations, bit for bit, for any number of ranks."""

import numpy as np
import pytest
import scipy.sparse as sp
from parallel_cases import random_offsets
from scipy.sparse.linalg import LinearOperator
from strategies import quick

import linforest_precond as lf
from linforest_precond import distributed
from linforest_precond.backends import backend_of
from linforest_precond.distributed import scatter, simulate
from linforest_precond.distributed.partition.matrix import with_values
from linforest_precond.distributed.partition.scatter import equal_shares
from linforest_precond.matrix.checked import checked

# Ranks without convergence warn; `catch_warnings` is not safe in several threads.
pytestmark = pytest.mark.filterwarnings("ignore:.* stopped after")
SYMMETRIC = ("cg", "fcg", "minres")


def system(method, dtype, seed=3, shape=(7, 6)):
    """A matrix that suits the method, and a right-hand side."""
    rng = np.random.default_rng(seed)
    A = lf.matrices.poisson(shape).tocsr()
    n = A.shape[0]
    if method not in SYMMETRIC:
        A = A + 0.3 * sp.random_array((n, n), density=0.05, rng=rng)
        A = A * (1 + 0.2j) if np.dtype(dtype).kind == "c" else A
    b = rng.standard_normal(n) + (1j * rng.standard_normal(n) if np.dtype(dtype).kind == "c" else 0)
    return sp.csr_array(A).astype(dtype), b.astype(dtype)


def jacobi(A):
    """The inverse of the local diagonal."""
    inverse = 1 / A.diagonal()

    def apply(x):
        return (inverse * x.T).T

    return LinearOperator((A.n_local, A.n_local), apply, matmat=apply, dtype=A.dtype)


def solved(size, method, A, b, offsets=None, preconditioned=True, **options):
    """The joined solution, and what every rank has seen."""
    offsets = equal_shares(A.shape[0], size) if offsets is None else offsets

    def solve(comm):
        parts, history = scatter(A, comm, offsets), lf.solvers.History()
        M = jacobi(parts) if preconditioned else None
        own = slice(offsets[comm.rank], offsets[comm.rank + 1])
        x, info = getattr(distributed, method)(parts, b[own], M=M, history=history, **options)
        return x, (str(info), history.residuals.tobytes(), str(history.true_residuals), str(history.status))

    parts = simulate(size, solve)
    assert len({seen for _, seen in parts}) == 1
    return np.concatenate([x for x, _ in parts]), parts[0][1]


@pytest.mark.parametrize("method", ["cg", "fcg", "bicgstab"])
def test_histories_are_equal_on_some_numbers_of_ranks(method):
    A, b = system(method, np.float64)
    for preconditioned in (True, False):
        x, seen = solved(1, method, A, b, preconditioned=preconditioned, maxiter=12)
        for size in (2, 3, 8):
            offsets = random_offsets(A.shape[0], size, size)
            found = solved(size, method, A, b, offsets, preconditioned, maxiter=12)
            assert np.array_equal(found[0], x) and found[1] == seen


@pytest.mark.slow
@pytest.mark.parametrize("preconditioned", [True, False], ids=["jacobi", "identity"])
@pytest.mark.parametrize("method", ["cg", "fcg", "bicgstab"])
def test_histories_are_equal_from_one_to_eight_ranks(method, preconditioned):
    A, b = system(method, np.float64, shape=(12, 11))
    x, seen = solved(1, method, A, b, preconditioned=preconditioned, rtol=1e-10)
    assert np.linalg.norm(A @ x - b) <= 1.01e-10 * np.linalg.norm(b)
    for size in range(2, 9):
        for offsets in (None, random_offsets(A.shape[0], size, size)):
            found = solved(size, method, A, b, offsets, preconditioned, rtol=1e-10)
            assert np.array_equal(found[0], x) and found[1] == seen


@pytest.mark.slow
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex64, np.complex128])
@pytest.mark.parametrize("method", ["cg", "fcg", "bicgstab", "gmres", "fgmres", "minres"])
def test_histories_are_equal_for_every_type(method, dtype):
    A, b = system(method, dtype, shape=(23, 19))
    b = np.stack([b, b[::-1], 0 * b], axis=1)
    for chosen in (b[:, 0], b):
        x, seen = solved(1, method, A, chosen, maxiter=40)
        for size in (2, 3, 5, 8):
            found = solved(size, method, A, chosen, random_offsets(A.shape[0], size, size), maxiter=40)
            assert np.array_equal(found[0], x) and found[1] == seen


@pytest.mark.slow
def test_the_matrices_of_the_paper():
    for A in (lf.matrices.aniso(2, 60), lf.matrices.poisson((16, 15, 14)), lf.matrices.aniso(1, 60)):
        b = np.random.default_rng(1).standard_normal(A.shape[0])
        x, seen = solved(1, "cg", A, b, rtol=1e-9)
        for size in (2, 3, 4, 7):
            found = solved(size, "cg", A, b, rtol=1e-9)
            assert np.array_equal(found[0], x) and found[1] == seen


def test_the_solution_is_that_of_the_plain_solver():
    A, b = system("cg", np.float64)
    x, _ = lf.solvers.cg(A, b, rtol=1e-12)
    assert np.allclose(solved(3, "cg", A, b, rtol=1e-12)[0], x, rtol=1e-9)


def test_the_solvers_of_one_rank_take_the_operator_and_the_inner_product():
    A, b = system("cg", np.float64)

    def solve(comm):
        parts = scatter(A, comm)
        own = b[parts.first : parts.first + parts.n_local]
        return lf.solvers.cg(parts.operator, own, inner=parts.inner)

    found = simulate(3, solve)
    assert [info for _, info in found] == [0, 0, 0]
    assert np.array_equal(
        np.concatenate([x for x, _ in found]), solved(2, "cg", A, b, preconditioned=False)[0]
    )


def test_errors_and_norms_are_those_of_all_ranks():
    A, x = system("cg", np.float64)
    b = A @ x

    def solve(comm):
        parts = scatter(A, comm, [0, 30, 30, 42])
        own = slice(parts.first, parts.first + parts.n_local)
        history = lf.solvers.History(x_true=x[own])
        distributed.cg(parts, b[own], history=history)
        return history.errors

    first, *others = simulate(3, solve)
    assert first[0] == 1.0 and first[-1] < 1e-4
    assert all(np.array_equal(errors, first) for errors in others)


def test_a_limit_counts_the_unknowns_of_all_ranks():
    # Without convergence, every rank stops after 10 n iterations of the whole matrix.
    A = sp.csr_array(np.diag([1.0, 2.0, 3.0, 4.0]) + np.diag([0.3, 0.2, 0.1], 1))
    for size in (1, 3):
        _, seen = solved(size, "bicgstab", A, np.ones(4), rtol=0.0, atol=0.0)
        assert seen == solved(1, "bicgstab", A, np.ones(4), rtol=0.0, atol=0.0)[1]


def test_a_solution_that_overflows_on_one_rank_ends_on_all():
    # The last unknown is not coupled, and overflows when the system is scaled back.
    A = sp.csr_array(np.diag([1.0, 1.0, 1e-200]))
    b = np.array([1.0, 1.0, 1e200])
    x, seen = solved(1, "cg", A, b, preconditioned=False)
    found = solved(3, "cg", A, b, preconditioned=False)
    assert np.array_equal(found[0], x) and found[1] == seen
    assert np.isfinite(x).all() and "nonfinite" in str(seen)


@pytest.mark.parametrize("scale", [1e-300, 1e300])
def test_the_edges_of_the_number_range(scale):
    A, b = system("cg", np.float64)
    x, seen = solved(1, "cg", A, scale * b)
    found = solved(4, "cg", A, scale * b)
    assert np.array_equal(found[0], x) and found[1] == seen
    assert np.allclose(A @ (x / scale), b, atol=1e-4)


def test_empty_systems_and_zero_right_hand_sides():
    A = lf.matrices.poisson((3, 3))
    assert not solved(3, "cg", A, np.zeros(9))[0].any()
    assert solved(2, "cg", sp.csr_array((0, 0)), np.zeros(0))[0].size == 0
    assert solved(2, "cg", A, np.zeros((9, 0)))[0].shape == (9, 0)


def refused(size, function):
    """The one message that all ranks raise."""

    def caught(comm):
        with pytest.raises((TypeError, ValueError)) as error:
            function(comm)
        return str(error.value)

    found = simulate(size, caught)
    assert len(set(found)) == 1
    return found[0]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            lambda r: {"b": np.ones(8, [np.float64, np.float32][r])},
            "the columns and the dtype of b must be the",
        ),
        (lambda r: {"b": np.ones((8, 2) if r else 8)}, "the columns and the dtype of b must be the same"),
        (lambda r: {"b": np.ones(8 + r)}, r"rank 1: b must have the shape (8,) or (8, k), got (9,)"),
        (
            lambda r: {"b": np.array([1.0] * 7 + [[1.0, np.nan][r]])},
            "rank 1: b must be finite, got nan at b[7]",
        ),
        (lambda r: {"x0": np.ones(8) if r else None}, "the dtype of x0 must be the same on all ranks"),
        (lambda r: {"rtol": 10.0 ** (-5 - r)}, "the options of a solver must be the same on all ranks"),
        (lambda r: {"rtol": -1.0}, "rtol must be a nonnegative number, got -1.0"),
        (lambda r: {"speed": 3}, "cg() has no argument 'speed'"),
        (lambda r: {"M": sp.eye_array(8) if r else None}, "the options of a solver must be the same"),
        (lambda r: {"M": sp.eye_array(8 + r)}, "rank 1: M must have the shape (8, 8), got (9, 9)"),
    ],
)
def test_arguments_that_differ_are_refused_on_all_ranks(arguments, message):
    A = lf.matrices.poisson((4, 4))
    given = lambda comm: {"b": np.ones(8), **arguments(comm.rank)}  # noqa: E731
    assert message in refused(2, lambda comm: distributed.cg(scatter(A, comm), **given(comm)))


def test_a_matrix_of_one_rank_is_refused():
    with pytest.raises(TypeError, match=r"A must be a distributed\.Matrix, got csr_array"):
        distributed.cg(lf.matrices.poisson((3, 3)), np.ones(9))


class TestVerifiedResiduals:
    """As in one process: residuals in twice the working precision, and zero rows before any iteration."""

    A = sp.csr_array([[0.001, 1, 0], [0, 0.001, 1], [0, 0, 0.001]])
    b = np.array([1.0, 3, -1])

    @pytest.mark.parametrize("method", ["gmres", "fgmres", "bicgstab"])
    def test_a_tolerance_that_cannot_be_verified(self, method):
        with pytest.warns(RuntimeWarning, match="unattainable"):
            expected = getattr(lf.solvers, method)(self.A, self.b, rtol=1e-15)[1]
        x, seen = solved(1, method, self.A, self.b, preconditioned=False, rtol=1e-15)
        assert expected == int(seen[0]) == lf.solvers.Status.UNATTAINABLE
        for size in (2, 3, 5):
            found = solved(size, method, self.A, self.b, preconditioned=False, rtol=1e-15)
            assert np.array_equal(found[0], x) and found[1] == seen

    @pytest.mark.parametrize("dtype", quick([np.float64, np.complex128, np.float32, np.complex64]))
    def test_residuals_have_the_bits_of_one_process(self, dtype):
        A, _ = system("bicgstab", dtype, shape=(9, 8))
        A = sp.csr_array(A + sp.csr_array(np.outer(np.arange(72) == 30, np.ones(72)).astype(dtype)))  # long
        rng = np.random.default_rng(0)
        b, x = (1e6 * rng.standard_normal((2, 72, 2))).astype(dtype)
        b = (A @ x).astype(dtype)
        product = backend_of(A).krylov.spmv.Product(checked(A), b.dtype, is_csr=True)
        expected = np.empty_like(b)
        product.residual(b, x, expected)

        def residual(comm):
            parts = scatter(A, comm, random_offsets(72, comm.size, 4))
            own = slice(parts.first, parts.first + parts.n_local)
            target, entries = np.empty_like(b[own]), parts.operator.rank_entries
            entries.residual(b[own], x[own], target)
            return target, entries.magnitudes(x[own])

        for size in (1, 2, 5, 80):
            targets, sizes = zip(*simulate(size, residual), strict=True)
            assert np.array_equal(np.concatenate(targets), expected)
            assert np.array_equal(np.concatenate(sizes), product.magnitudes(x))

    @pytest.mark.parametrize("method", ["cg", "fcg", "bicgstab", "gmres", "fgmres", "minres"])
    def test_zero_rows_are_found_before_any_iteration(self, method):
        A = sp.csr_array(sp.diags_array((np.arange(50) != 7).astype(float)) @ lf.matrices.poisson((50,)))
        b = np.ones((50, 2))
        b[7, 1] = 0

        def solve(comm, callback):
            parts = scatter(A, comm)
            own = b[parts.first : parts.first + parts.n_local]
            return getattr(distributed, method)(parts, own[:, :1], callback=callback)

        for size in (1, 3, 60):  # rank 0 of 60 has no row, and others neither
            iterates = []
            with pytest.warns(RuntimeWarning, match="Row 7 of A is zero, and b is not zero there"):
                found = simulate(size, solve, iterates.append)
            assert not iterates and {info for _, info in found} == {lf.solvers.Status.SINGULAR}
            assert not np.concatenate([x for x, _ in found]).any()
            info = solved(size, method, A, b, preconditioned=False, maxiter=3)[1][0].strip("[]").split()
            assert int(info[0]) == lf.solvers.Status.SINGULAR != int(info[1])

    def test_new_values_have_new_zero_rows(self):
        A = lf.matrices.poisson((4, 4))

        def solve(comm):
            parts = scatter(A, comm)
            first = distributed.cg(parts, np.ones(parts.n_local))[1]
            return first, distributed.cg(with_values(parts, 0 * parts.rows.data), np.ones(parts.n_local))[1]

        assert set(simulate(2, solve)) == {(0, int(lf.solvers.Status.SINGULAR))}

    def test_a_start_that_is_too_far(self):
        A, b = system("cg", np.float64)
        far = 1e300 * np.arange(len(b))  # 0 on the rank of the first row

        def solve(comm):
            parts = scatter(A, comm, np.array([0, 1, len(b)] if comm.size == 2 else [0, 1, 20, len(b)]))
            own = slice(parts.first, parts.first + parts.n_local)
            return distributed.cg(parts, b[own], far[own])

        for size in (2, 3):
            found = simulate(size, solve)
            assert {info for _, info in found} == {0}
            assert np.allclose(np.concatenate([x for x, _ in found]), solved(1, "cg", A, b)[0], rtol=1e-4)

    def test_an_overflow_on_one_rank(self):
        """The last iterate that is finite on all ranks; row 2 multiplies no unknown of the others."""
        A = [[0, 3e-2 + 2e-2j, 0], [0.3 - 0.2j, 0, 0], [-3e-7 + 6e-7j, 5e-8 + 1e-7j, 0]]
        A, b = sp.csr_array(np.array(A, np.complex64)), np.array([-0.58, -0.36, 0.51], np.complex64)
        x, seen = solved(1, "bicgstab", A, b, preconditioned=False, rtol=5e-3, maxiter=100)
        assert np.isfinite(x).all() and int(seen[0]) == lf.solvers.Status.NONFINITE
        for offsets in ([0, 2, 3], [0, 0, 1, 3, 3]):
            found = solved(len(offsets) - 1, "bicgstab", A, b, offsets, False, rtol=5e-3, maxiter=100)
            assert np.array_equal(found[0], x) and found[1] == seen

    def test_a_start_whose_residual_overflows(self):
        A, b = system("cg", np.float32)
        x, _ = solved(1, "cg", A, b, preconditioned=False)

        def solve(comm):
            parts = scatter(A, comm)
            own = slice(parts.first, parts.first + parts.n_local)
            return distributed.cg(parts, b[own], np.full(parts.n_local, np.finfo(np.float32).max))

        for size in (1, 3):
            assert np.array_equal(np.concatenate([part for part, _ in simulate(size, solve)]), x)
