"""Coarsening along paths: which unknowns are kept, the interpolation weights, and when it is rejected."""

import numpy as np
import pytest
import scipy.sparse as sp
import strategies as graphs
from multilevel_oracles import dense_levels
from operator_cases import dominant

import linforest_precond as lf
from linforest_precond.matrix.checked import checked
from linforest_precond.precond.multigrid.level_matrix import LevelMatrix
from linforest_precond.precond.multigrid.pairwise_aggregation import (
    MOST_ENTRIES,
    coarsen_along_paths,
    path_prolongator,
)


def level_matrix(A):
    return LevelMatrix(checked(A))


def dense(backend, P):
    indptr, indices, data = map(backend.host, P.arrays)
    for row in range(P.n):
        assert (np.diff(indices[indptr[row] : indptr[row + 1]]) > 0).all()
    return sp.csr_array((data, indices, indptr), shape=(P.n, P.width)).toarray()


def chain(couplings):
    """The Laplacian of a path, with the diagonal increased to make it definite."""
    couplings = np.asarray(couplings, float)
    n = couplings.size + 1
    A = sp.diags_array([-couplings, -couplings], offsets=[1, -1], shape=(n, n))
    return sp.csr_array(A + sp.diags_array(1e-3 - A.sum(axis=1)))


@pytest.mark.parametrize("n", [2, 3, 4, 7, 50])
def test_every_second_of_a_path_stays(backend, n):
    P = dense(backend, path_prolongator(level_matrix(backend.csr(chain(np.ones(n - 1)))), "coupling", 0.5, 0))
    assert P.shape == (n, n // 2)
    stays = np.arange(1, n, 2)
    np.testing.assert_array_equal(P[stays], np.eye(n // 2))
    expected = np.array([np.interp(v, stays, range(n // 2)) for v in range(n)])
    np.testing.assert_array_equal(P @ np.arange(n // 2), expected)
    np.testing.assert_array_equal(P.sum(axis=1), 1)


def test_weights_follow_the_couplings(backend):
    A = chain([3.0, 1, 1, 3, 3, 1])
    P = dense(backend, path_prolongator(level_matrix(backend.csr(A)), "magnitude", 0.0, 0))
    assert P.shape == (7, 3)
    np.testing.assert_array_equal(P[2], [0.5, 0.5, 0])
    np.testing.assert_array_equal(P[4], [0, 0.5, 0.5])
    P = dense(
        backend, path_prolongator(level_matrix(backend.csr(chain([2.0, 3, 1, 2]))), "magnitude", 0.0, 0)
    )
    np.testing.assert_array_equal(P[2], [0.75, 0.25])


@pytest.mark.parametrize("dtype", graphs.quick(graphs.DTYPES))
@pytest.mark.parametrize("times", [1, 2, 3])
def test_constants_are_interpolated_exactly(backend, dtype, times):
    A = backend.csr(lf.matrices.poisson((20, 21)).astype(dtype))
    found = coarsen_along_paths(level_matrix(A), times, "coupling", 0.5, 0)
    P = dense(backend, found[0].prolongator)
    assert P.dtype == dtype and P.shape[1] < 0.6**times * P.shape[0]
    np.testing.assert_array_equal(P.sum(axis=1), 1)
    assert ((P != 0).sum(axis=1) <= 2**times).all()


def test_single_unknowns_take_a_neighbours_value(backend):
    """A star: a path of three through its centre, and many leaves that are on none."""
    n = 40
    A = sp.lil_array((n, n))
    A[0, 1:] = A[1:, 0] = -np.arange(1, n)
    A = sp.csr_array(A)
    A = sp.csr_array(A + sp.diags_array(1 - A.sum(axis=1)))
    P = dense(backend, path_prolongator(level_matrix(backend.csr(A)), "magnitude", 0.0, 0))
    assert P.shape == (n, 1)
    np.testing.assert_array_equal(P, 1)


def test_unknowns_without_couplings_stay(backend):
    A = sp.block_diag([sp.eye_array(5), chain(np.ones(9)), sp.eye_array(3)], format="csr")
    P = dense(backend, path_prolongator(level_matrix(backend.csr(A)), "coupling", 0.5, 0))
    assert P.shape == (18, 13)
    alone = [*range(5), *range(15, 18)]
    assert ((P[alone] != 0).sum(axis=1) == 1).all() and (P[:, P[alone].any(axis=0)].sum(axis=0) == 1).all()


def test_no_unknowns(backend):
    empty = level_matrix(backend.csr(sp.csr_array((0, 0))))
    assert path_prolongator(empty, "coupling", 0.5, 0).width == 0


@pytest.mark.parametrize(
    "A", [sp.csr_array((30, 30)), sp.eye_array(30, format="csr")], ids=["empty", "diagonal"]
)
def test_no_couplings_at_all(backend, A):
    P = dense(backend, path_prolongator(level_matrix(backend.csr(A)), "coupling", 0.5, 0))
    np.testing.assert_array_equal(P, np.eye(30))
    ml = lf.multilevel(backend.csr(A), coarsening="paths", max_coarse=5)
    assert not ml.stalled and [level.A.shape[0] for level in ml.levels] == [30, 0]


def test_levels_that_would_fill_are_of_pairs(backend):
    """Each unknown is coupled to many others at random: coarse matrices would fill up."""
    A = dominant(400)
    ml = lf.multilevel(backend.csr(A), coarsening="paths", weights="magnitude", max_coarse=50)
    first, *_ = dense_levels(backend, ml)
    assert set(np.unique(first[1])) == {0.0, 1.0} and ((first[1] != 0).sum(axis=1) == 1).all()
    grid = lf.multilevel(backend.csr(lf.matrices.poisson((40, 40))), coarsening="paths", max_coarse=50)
    entries = [level.A.nnz for level in grid.levels]
    assert all(coarse <= MOST_ENTRIES * fine for fine, coarse in zip(entries, entries[1:]))
    assert not set(np.unique(dense_levels(backend, grid)[0][1])) <= {0.0, 1.0}


def test_line_smoothers_go_with_paths(backend):
    A = backend.csr(lf.matrices.poisson((20, 20)))
    for smoother, coarsening in (
        ("tridiagonal", "paths"),
        ("block_tridiagonal", "paths"),
        ("jacobi", "smoothed_aggregation"),
    ):
        ml = lf.multilevel(A, smoother=smoother, max_coarse=50)
        assert ml._part.options.coarsening == coarsening and coarsening.replace("_", " ") in str(ml)
    assert lf.multilevel(A, matchings=1, max_coarse=50)._part.options.coarsening == "matching"
    ml = lf.multilevel(A, smoother="tridiagonal", smooth_prolongation=True, max_coarse=50)
    assert ml._part.options.coarsening == "matching"


@pytest.mark.gpu
@pytest.mark.parametrize("weights", ["coupling", "magnitude"])
@pytest.mark.parametrize("dtype", graphs.quick(graphs.DTYPES))
def test_the_same_bits_on_the_gpu(cuda, dtype, weights):
    for A in (
        lf.matrices.anisotropic_diffusion((60, 61), 0.5, 1e-3),
        graphs.random_graph(3000, kind="unique"),
        graphs.random_graph(3000, kind="ties", symmetric=False),
        graphs.star_graph(3000),
    ):
        A = graphs.with_types(A, dtype)
        found, expected = (path_prolongator(level_matrix(B), weights, 0.5, 3) for B in (cuda.csr(A), A))
        assert found.width == expected.width
        for one, other in zip(found.arrays, expected.arrays):
            np.testing.assert_array_equal(cuda.host(one), other)
            assert one.dtype == other.dtype
