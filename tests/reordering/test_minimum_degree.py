"""Minimum degree orders, and the fill-in that column counts predict: against elimination by sets."""

import graph_cases as cases
import numpy as np
import ordering_oracles as oracles
import pytest
import scipy.sparse as sp
import strategies as graphs
from conftest import load_real, matrices_folder, skip_or_fail
from hypothesis import given
from scipy.sparse.linalg import splu

import linforest_precond as lf
from linforest_precond.backends.cpu.reordering import minimum_degree as cpu
from linforest_precond.graph.reordering.minimum_degree import predicted_fill
from linforest_precond.matrix.doors import as_pattern

minimum_degree, fill = lf.graph.minimum_degree, lf.graph.fill


def arrow(n):
    """The first row and column are full, besides the diagonal."""
    A = sp.lil_array((n, n))
    A[0, :], A[:, 0] = 1, 1
    A.setdiag(1)
    return sp.csr_array(A)


def random_pattern(n, entries, seed):
    rng = np.random.default_rng(seed)
    rows, cols = rng.integers(n, size=(2, entries))
    return sp.csr_array((np.ones(entries), (rows, cols)), shape=(n, n))


SHAPES = {
    "none": sp.csr_array((0, 0)),
    "one": sp.csr_array((1, 1)),
    "no entries": sp.csr_array((5, 5)),
    "full": sp.csr_array(np.ones((30, 30))),
    "arrow": arrow(40),
    "dense rows": sp.csr_array(arrow(400) + sp.eye_array(400, k=1)),
    "all rows dense": sp.csr_array(np.ones((300, 300))),
    "no diagonal": sp.csr_array(sp.eye_array(20, k=1) + sp.eye_array(20, k=-1)),
    "grid": sp.csr_array(lf.matrices.poisson((9, 11))),
    "components": sp.csr_array(sp.block_diag([lf.matrices.poisson((4, 4)), arrow(7), np.zeros((3, 3))])),
    "random": random_pattern(120, 300, seed=0),
}


def assert_right(A, order, found):
    """All fields of a prediction by their definitions."""
    columns = oracles.factor_columns(A, order)
    counts = [len(rows) + 1 for rows in columns]
    n, entries = A.shape[0], sum(counts)
    assert found.counts.tolist() == counts
    assert found.entries == entries and found.lu_entries == 2 * entries - n
    assert found.cholesky_flops == sum(c * c for c in counts)
    assert found.lu_flops == sum(c - 1 + 2 * (c - 1) ** 2 for c in counts)
    assert found.height == oracles.tree_height(columns)
    assert found.largest_front == max(counts, default=0)
    assert found.pattern_entries == n + sum(map(len, oracles.neighbors(A)))
    assert found.ratio == found.lu_entries / max(found.pattern_entries, 1) and (found.ratio >= 1 or not n)


@given(A=graphs.matrices(max_size=30, dtypes=(np.float64,)))
def test_against_elimination(backend, A):
    order = minimum_degree(backend.csr(A))
    assert isinstance(order, backend.xp.ndarray) and order.dtype == np.int32
    host = backend.host(order)
    assert sorted(host.tolist()) == list(range(A.shape[0]))
    np.testing.assert_array_equal(host, minimum_degree(A))
    assert_right(A, host, fill(backend.csr(A), order))
    assert_right(A, None, fill(backend.csr(A)))


@pytest.mark.parametrize("name", SHAPES)
def test_shapes(backend, name):
    A = SHAPES[name]
    order = minimum_degree(backend.csr(A))
    found = fill(backend.csr(A), order)
    assert sorted(order.tolist()) == list(range(A.shape[0]))
    assert_right(A, backend.host(order), found)
    assert str(A.shape[0]) in str(found) and "Cholesky" in repr(found)


@pytest.mark.parametrize("seed", range(3))
def test_lists_are_compacted(seed):
    """Elements of many supervariables: the space behind the lists is used up."""
    A = random_pattern(300, 1200, seed)
    order = minimum_degree(A)
    assert sorted(order.tolist()) == list(range(300))
    assert_right(A, order, fill(A, order))


def test_trees_and_arrows_have_no_fill_in():
    tree = sp.csr_array(lf.graph.minimum_spanning_tree(lf.matrices.poisson((20, 20)) * -1))
    for A in (tree, arrow(200), SHAPES["no diagonal"]):
        assert fill(A, minimum_degree(A)).ratio == 1


def test_dense_rows_come_last():
    A = SHAPES["dense rows"]
    assert minimum_degree(A)[-1] == 0


def test_stored_zeros_and_one_sided_entries_count():
    A = sp.csr_array((np.zeros(3), ([0, 0, 2], [1, 2, 2])), shape=(3, 3))
    assert fill(A).counts.tolist() == [3, 2, 1]
    assert fill(A, minimum_degree(A)).entries == 5


def test_wide_indices(backend):
    A = lf.matrices.poisson((12, 13))
    wide = backend.csr(graphs.with_types(A, index_dtype=np.int64))
    np.testing.assert_array_equal(backend.host(minimum_degree(wide)), minimum_degree(A))
    assert fill(wide).entries == fill(A).entries


@given(A=graphs.matrices(max_size=30, dtypes=(np.float64,)))
def test_bound(backend, A):
    """No order above the bound is returned."""
    pattern = as_pattern(backend.csr(A))
    order, found = predicted_fill(pattern)
    flops = fill(backend.csr(A), order).cholesky_flops
    np.testing.assert_array_equal(backend.host(order), minimum_degree(A))
    assert found.cholesky_flops == flops and isinstance(found.counts, backend.xp.ndarray)
    assert A.shape[0] == 0 or predicted_fill(pattern, flops - 1) is None


def test_ordering_ends_early():
    """The clique that a pivot leaves has a cost, so that the largest pivots are not awaited."""
    pattern = as_pattern(lf.matrices.poisson((25, 25, 25)))
    flops = predicted_fill(pattern)[1].cholesky_flops
    assert cpu.order(pattern, 0.99 * flops) is None
    assert predicted_fill(pattern, 1.03 * flops) is not None


def test_memory():
    found = fill(sp.csr_array(np.ones((4, 4))))
    assert found.memory() == 10 * 12 + 5 * 8
    assert found.memory(np.complex128, lu=True) == 16 * 20 + 2 * 5 * 8


def test_wrong_orders():
    A = lf.matrices.poisson((3, 3))
    with pytest.raises(ValueError, match=r"ordering must be a permutation of 0 to 8, got some numbers twice"):
        fill(A, [0] * 9)
    with pytest.raises(ValueError, match=r"A must be square"):
        minimum_degree(np.ones((2, 3)))


def of_superlu(A):
    """Entries of L in the multiple minimum degree order of SuperLU."""
    pattern = as_pattern(A)
    ones = np.ones(pattern.nnz)
    B = sp.csc_array((ones, pattern.indices, pattern.indptr), shape=A.shape)
    B = sp.csc_array(B - sp.diags_array(B.sum(axis=0) + 2))
    factors = splu(B, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0, options={"SymmetricMode": True})
    return fill(A, np.argsort(factors.perm_c)).entries


GRIDS = {"square": (60, 60), "long": (20, 150), "cube": (13, 13, 13)}


@pytest.mark.parametrize("name", GRIDS)
def test_quality_on_grids(name):
    A = lf.matrices.poisson(GRIDS[name])
    assert fill(A, minimum_degree(A)).entries <= 1.15 * of_superlu(A)


REAL = (
    "4elt",
    "bcsstk16",
    "bcspwr10",
    "crack",
    "memplus",
    "rgg_n_2_15_s0",
    "luxembourg_osm",
    "sherman5",
    "cage8",
)


@pytest.mark.slow
@pytest.mark.parametrize("name", REAL)
def test_quality_on_real_matrices(name):
    if matrices_folder() is None:
        skip_or_fail("matrices", "LINFOREST_MATRICES names no folder with a MANIFEST.tsv")
    A = load_real(name)
    assert fill(A, minimum_degree(A)).entries <= 1.12 * of_superlu(A)


@pytest.mark.slow
@pytest.mark.parametrize("name", cases.SMALL)
def test_one_answer_on_all_devices(backend, name):
    A = cases.SMALL[name]()
    order = minimum_degree(backend.csr(A))
    np.testing.assert_array_equal(backend.host(order), minimum_degree(A))
    np.testing.assert_array_equal(
        backend.host(fill(backend.csr(A), order).counts), fill(A, minimum_degree(A)).counts
    )
