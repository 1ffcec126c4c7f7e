"""Preconditioners over ranks: the operator of one rank up to rounding, and its iterations."""

import numpy as np
import pytest
import scipy.sparse as sp
from conftest import load_real
from hypothesis import given
from hypothesis import strategies as st
from parallel_cases import random_matrix, random_offsets
from rank_tridiagonal_cases import dense
from strategies import matrices, quick

import linforest_precond as lf
from linforest_precond import distributed
from linforest_precond.distributed import scatter, simulate

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")
KINDS = "tridiagonal", "block_tridiagonal", "jacobi"


def products(A, kind, offsets, right, other=None, **options):
    """The joined products of M, of M.T and of M.H, and what `print(M)` shows, after an update if `other`."""

    def multiply(comm):
        own = scatter(A, comm, offsets)
        M = getattr(distributed, kind)(own, **options)
        if other is not None:
            M.update(scatter(other, comm, offsets))
        r = right[own.first : own.first + own.n_local]
        return M @ r, M.T @ r, M.H @ r, [str(M)] * own.n_local

    return [np.concatenate(parts) for parts in zip(*simulate(len(offsets) - 1, multiply))]


def wanted_products(A, kind, right, **options):
    M = getattr(lf, kind)(A, **options)
    return M, [M @ right, M.T @ right, M.H @ right]


def assert_like_one_rank(A, kind, offsets, tolerance=1e-9, **options):
    right = np.random.default_rng(0).standard_normal((A.shape[0], 2))
    M, wanted = wanted_products(A, kind, right, **options)
    *found, text = products(A, kind, offsets, right, **options)
    scale = max((abs(each).max() for each in wanted if each.size), default=1)
    for x, y in zip(found, wanted):
        assert x.dtype == y.dtype
        np.testing.assert_allclose(x, y, rtol=0, atol=tolerance * scale)
    return M, text


@pytest.mark.parametrize("kind", KINDS)
def test_operator_and_printed_findings_are_those_of_one_rank(kind):
    A = lf.matrices.aniso(2, 12)
    for size in (1, 3, 7):
        M, text = assert_like_one_rank(A, kind, random_offsets(144, size, size), tolerance=1e-13)
        seen = str(text[0]).splitlines()
        shared = ("rows", "numbers", "paths", "longest", "coverage", "solved", "repairs")
        for line in str(M).splitlines():
            assert line.strip().split(" ")[0] not in shared or line.split() in [each.split() for each in seen]


@given(A=matrices(max_size=24), size=st.integers(1, 5), seed=st.integers(0, 2**32 - 1))
def test_any_matrix(A, size, seed):
    offsets = random_offsets(A.shape[0], size, seed)
    M = lf.tridiagonal(A)
    if M._part.solver.lifted or not A.shape[0]:  # singular or empty: it must end
        products(A, "tridiagonal", offsets, np.ones((A.shape[0], 1)))
    else:
        condition = np.linalg.cond(dense((M.bands.lower, M.bands.diagonal, M.bands.upper)))
        assert_like_one_rank(A, "tridiagonal", offsets, 1e-12 * condition)


def test_update_takes_new_values_and_refuses_other_patterns():
    A, rng = lf.matrices.aniso(1, 9), np.random.default_rng(2)
    other = sp.csr_array((A.data * rng.uniform(0.9, 1.1, A.nnz), A.indices, A.indptr), shape=A.shape)
    right, offsets = rng.standard_normal((81, 1)), np.array([0, 30, 30, 81])
    M = lf.tridiagonal(A)
    M.update(other)
    found = products(A, "tridiagonal", offsets, right, other)[0]
    np.testing.assert_allclose(found, M @ right, rtol=1e-12)
    for wrong, message in (
        (A + sp.diags_array([1.0], offsets=[40], shape=A.shape), "pattern"),
        (A.astype(np.float32), "dtype"),
    ):
        with pytest.raises(ValueError, match=message):
            products(A, "tridiagonal", offsets, right, sp.csr_array(wrong))


def test_options_are_checked_on_all_ranks():
    A = lf.matrices.poisson((4, 4))

    def seeds(comm):
        return distributed.tridiagonal(scatter(A, comm), seed=comm.rank)

    def scopes(comm):
        return distributed.tridiagonal(scatter(A, comm), scope="all")

    with pytest.raises(ValueError, match="must be the same on all ranks"):
        simulate(2, seeds)
    with pytest.raises(ValueError, match='scope must be "global" or "local"'):
        simulate(2, scopes)
    with pytest.raises(TypeError, match=r"distributed\.Matrix"):
        distributed.tridiagonal(A)


def test_local_scope_solves_with_each_ranks_own_block():
    A = lf.matrices.aniso(2, 8)
    right = np.random.default_rng(0).standard_normal((64, 1))
    found = products(A, "tridiagonal", np.array([0, 20, 20, 64]), right, scope="local")[0]
    wanted = [
        lf.tridiagonal(sp.csr_array(A[part, part])) @ right[part] for part in (slice(20), slice(20, 64))
    ]
    assert np.array_equal(found, np.concatenate(wanted))


def iterations(A, size, kind, method="cg", rtol=1e-8, **options):
    """The residuals of a solver over ranks, and the joined solution."""

    def solve(comm):
        own, history = scatter(A, comm), lf.solvers.History()
        b = np.ones(own.n_local, A.dtype)
        M = getattr(distributed, kind)(own, **options)
        solver = getattr(distributed, method)
        x, info = solver(own, b, M=M, history=history, rtol=rtol, maxiter=2000)
        return history.residuals.tolist(), info, x

    histories, infos, parts = zip(*simulate(size, solve))
    assert all(each == histories[0] for each in histories) and len(set(infos)) == 1
    return histories[0], np.concatenate(parts)


def test_iterations_do_not_depend_on_the_number_of_ranks():
    A = lf.matrices.aniso(2, 14)
    histories = [iterations(A, size, "tridiagonal")[0] for size in (1, 2, 4, 7)]
    local = [iterations(A, size, "tridiagonal", scope="local")[0] for size in (1, 4)]
    assert all(history == histories[0] for history in histories)  # bit for bit
    assert local[0] == histories[0] and len(local[1]) > len(local[0])


@pytest.mark.parametrize("dtype", quick([np.float64, np.complex64]))
def test_incomplete_factors_are_those_of_each_block(dtype):
    A = random_matrix(60, 0.1, 3, dtype)
    A = sp.csr_array(A + sp.diags_array(abs(A).sum(axis=1) + 1.0).astype(dtype))
    right, other = np.random.default_rng(0).standard_normal((60, 2)), sp.csr_array(2 * A)
    for ordering in ("natural", "auto"):
        blocks = [A[:20, :20], A[20:, 20:]]
        expected = [lf.ilu(block, ordering=ordering) for block in blocks]
        parts = right[:20], right[20:]
        for changed, factor in ((None, 1.0), (other, 0.5)):
            *found, text = products(A, "ilu", np.array([0, 20, 20, 60]), right, changed, ordering=ordering)
            for view, product in zip(("", "T", "H"), found):
                whole = [(getattr(M, view) if view else M) @ part for M, part in zip(expected, parts)]
                np.testing.assert_allclose(product, factor * np.concatenate(whole), rtol=1e-5)
        assert "for each rank's own block" in text[0] and "no exchange" in text[0]


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["tridiagonal", "block_tridiagonal"])
@pytest.mark.parametrize(
    ("name", "method"),
    [("aniso1", "cg"), ("aniso2", "cg"), ("poisson3d", "cg"), ("delaunay", "cg"), ("convection", "bicgstab")],
)
def test_iterations_of_larger_matrices(name, method, kind):
    A = named(name)
    histories = [iterations(A, size, kind, method, 1e-6)[0] for size in (1, 2, 3, 4, 7)]
    assert all(history == histories[0] for history in histories)


def named(name):
    if name == "poisson3d":
        return lf.matrices.poisson((12, 12, 12))
    if name == "delaunay":
        return laplacian(lf.matrices.delaunay(3000))
    if name == "convection":
        A = lf.matrices.aniso(2, 50)
        return sp.csr_array(A + sp.diags_array([0.3 * np.ones(2499), -0.3 * np.ones(2499)], offsets=[1, -1]))
    return lf.matrices.aniso(int(name[-1]), 60)


def laplacian(G):
    weights = abs(sp.csr_array(G))
    weights.setdiag(0)
    return sp.csr_array(sp.diags_array(weights.sum(axis=1) + 0.01) - weights)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.complex128, np.complex64])
@pytest.mark.parametrize("repair", ["auto", "none"])
def test_types_and_repairs(kind, dtype, repair):
    options = {} if kind == "jacobi" else {"repair": repair}
    for seed in range(6):
        A = random_matrix(40, 0.1, seed, dtype)
        A = sp.csr_array(A + sp.diags_array(np.full(40, 3.0 + seed)).astype(dtype))
        tolerance = 1e-9 if np.finfo(dtype).eps < 1e-10 else 1e-3
        assert_like_one_rank(A, kind, random_offsets(40, 4, seed), tolerance, **options)


@pytest.mark.slow
@pytest.mark.parametrize("exponent", [600, -600, 900])
def test_matrices_at_the_edge_of_the_number_range(exponent):
    A = lf.matrices.aniso(2, 10)
    A = sp.csr_array((np.ldexp(A.data, exponent), A.indices, A.indptr), shape=A.shape)
    for kind in KINDS:
        assert_like_one_rank(A, kind, np.array([0, 33, 66, 100]), 1e-12)


@pytest.mark.slow
def test_stored_in_single_precision_and_applied_to_double():
    A = lf.matrices.aniso(1, 12)
    for kind in KINDS:
        assert_like_one_rank(A, kind, np.array([0, 50, 100, 144]), 1e-6, dtype=np.float32)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["tridiagonal", "block_tridiagonal"])
def test_histories_of_real_matrices(medium_real_name, kind):
    """Pivoted, clipped and repaired ones included."""
    A = load_real(medium_real_name)
    if A.shape[0] > 4000 or not (A.diagonal() != 0).all():
        pytest.skip("large, or with zeros on the diagonal")
    histories = []
    for size in (1, 2, 3, 4, 7):

        def solve(comm):
            own, history = scatter(A, comm), lf.solvers.History()
            M, b = getattr(distributed, kind)(own), np.ones(own.n_local, A.dtype)
            distributed.bicgstab(own, b, M=M, history=history, maxiter=20)
            return history.residuals.tobytes()

        histories += simulate(size, solve)
    assert len(set(histories)) == 1


MPI_PROGRAM = """
    import sys
    import numpy as np
    import linforest_precond as lf
    from linforest_precond import distributed

    own = distributed.scatter(lf.matrices.aniso(2, 14))
    given = np.load(sys.argv[1])
    for kind in ("tridiagonal", "block_tridiagonal"):
        M, history = getattr(distributed, kind)(own), lf.solvers.History()
        x, info = distributed.cg(own, np.ones(own.n_local), M=M, history=history, rtol=1e-8)
        assert info == 0 and history.residuals.tobytes() == given[kind].tobytes()
        M.update(own)
        assert np.isfinite(M.T @ x).all()
    if own.comm.rank == 0:
        print("the bits of one rank", flush=True)
"""


@pytest.mark.slow
def test_ranks_of_mpi(mpiexec, tmp_path):
    A = lf.matrices.aniso(2, 14)
    kinds = "tridiagonal", "block_tridiagonal"
    np.savez(tmp_path / "given.npz", **{kind: iterations(A, 1, kind)[0] for kind in kinds})
    for ranks in (2, 3):
        done = mpiexec(ranks, MPI_PROGRAM, tmp_path / "given.npz")
        assert done.code == 0 and "the bits of one rank" in done.output, done.output


def test_solvers_apply_the_transpose_that_they_are_given():
    A = lf.matrices.convection_diffusion((12, 12))

    def solve(comm):
        own = scatter(A, comm)
        M = distributed.tridiagonal(own)
        found = [distributed.gmres(own, np.ones(own.n_local), M=each, maxiter=3)[0] for each in (M, M.T)]
        return np.stack(found, axis=1)

    M = lf.tridiagonal(A)
    expected = [lf.solvers.gmres(A, np.ones(144), M=each, maxiter=3)[0] for each in (M, M.T)]
    assert abs(expected[0] - expected[1]).max() > 1e-3
    assert np.allclose(np.concatenate(simulate(2, solve)), np.stack(expected, axis=1), rtol=1e-10)
