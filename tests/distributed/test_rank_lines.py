"""Line smoothers over ranks: those of one rank to rounding, with the same bits for any number of ranks."""

import numpy as np
import pytest
import scipy.sparse as sp
from parallel_cases import joined, random_offsets, vector
from strategies import quick

import linforest_precond as lf
from linforest_precond.distributed import cg, multilevel, scatter, simulate

OPTIONS = {"coarsening": "matching", "cycle": "V", "max_coarse": 30}


def hierarchies(A, size, smoother):
    offsets = random_offsets(A.shape[0], size, size)

    def work(comm):
        return multilevel(scatter(A, comm, offsets), smoother=smoother, gather_below=60, **OPTIONS)

    return simulate(size, work), offsets


def products(ranks, offsets, r, view=None):
    operators = [ml.aspreconditioner() for ml in ranks]
    operators = [M if view is None else getattr(M, view) for M in operators]
    parts = np.split(r, offsets[1:-1])
    return joined(len(ranks), lambda comm: operators[comm.rank] @ parts[comm.rank])


@pytest.mark.parametrize("smoother", ["tridiagonal", "block_tridiagonal"])
@pytest.mark.parametrize("kind", quick([1, 2]))
def test_a_cycle_is_that_of_one_rank(smoother, kind):
    A = lf.matrices.aniso(kind, 22)
    one, r = lf.multilevel(A, smoother=smoother, **OPTIONS), vector(A.shape[0], 2)
    wanted = one.aspreconditioner() @ r
    found = [products(*hierarchies(A, size, smoother), r) for size in (1, 2, 4)]
    np.testing.assert_allclose(found[0], wanted, rtol=0, atol=1e-9 * abs(wanted).max())
    assert np.array_equal(found[0], found[1]) and np.array_equal(found[0], found[2])
    ranks, _ = hierarchies(A, 3, smoother)
    kinds = [level.smoother.kind for level in ranks[0]._part.part.levels if level.smoother]
    assert kinds[0] == smoother, "not replaced by Jacobi's iteration"


def test_the_transpose_of_a_nonsymmetric_matrix():
    wind = sp.diags_array([np.ones(400), -np.ones(399)], offsets=[0, -1])
    A = sp.csr_array(lf.matrices.aniso(1, 20) + 0.5 * wind)
    ranks, offsets = hierarchies(A, 3, "tridiagonal")
    u, v = vector(400, 1), vector(400, 2)
    here, there = v @ products(ranks, offsets, u), products(ranks, offsets, v, "T") @ u
    assert abs(here - there) < 1e-10 * abs(here)


def test_lines_save_iterations_and_updates_keep_them():
    A = lf.matrices.aniso(1, 40)

    def iterations(comm, smoother):
        own, counts = scatter(A, comm), []
        ml = multilevel(own, smoother=smoother, gather_below=100, **OPTIONS)
        for factor in (1.0, 3.0):
            history, matrix = lf.solvers.History(), scatter(factor * A, comm)
            ml.update(matrix)
            M = ml.aspreconditioner()
            cg(matrix, np.ones(own.n_local), M=M, rtol=1e-8, history=history)
            counts.append(len(history.residuals) - 1)
        return counts

    lines, points = (simulate(3, iterations, smoother)[0] for smoother in ("tridiagonal", "jacobi"))
    history, M = lf.solvers.History(), lf.multilevel(A, smoother="tridiagonal", **OPTIONS)
    lf.solvers.cg(A, np.ones(1600), M=M.aspreconditioner(), rtol=1e-8, history=history)
    assert lines == [len(history.residuals) - 1] * 2
    assert lines[0] < 0.85 * points[0]
