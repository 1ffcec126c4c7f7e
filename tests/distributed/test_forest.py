"""Factors, linear forests, orders and bands over ranks are those of one rank, bit for bit."""

import numpy as np
import pytest
import scipy.sparse as sp
import strategies as graphs
from conftest import load_real
from hypothesis import given
from hypothesis import strategies as st
from one_rank import assert_factor, assert_forest

import linforest_precond as lf
from linforest_precond import distributed
from linforest_precond.distributed import scatter, simulate

RANKS = 1, 2, 3, 4, 7


CASES = {
    "aniso1": lambda: lf.matrices.aniso(1, 20),
    "aniso2": lambda: lf.matrices.aniso(2, 20),
    "seven-point": lambda: lf.matrices.poisson((6, 7, 8)),
    "uniform": lambda: lf.matrices.poisson((15, 16)),
    "delaunay": lambda: lf.matrices.delaunay(200),
    "long path": lambda: graphs.path_graph(100),
    "path shuffled": lambda: graphs.shuffled(graphs.path_graph(100, 1.0 + np.arange(99) % 5)),
    "cycle": lambda: graphs.cycle_graph(64, 1.0 + np.arange(64)),
    "cycles with ties": lambda: graphs.union_of_cycles([3, 4, 5, 8, 16, 31], "ties"),
    "star": lambda: graphs.star_graph(20),
    "nonsymmetric": lambda: graphs.random_graph(150, symmetric=False),
    "symmetric to rounding": lambda: graphs.rounded(lf.matrices.aniso(1, 12) / 3),
    "without edges": lambda: sp.eye_array(9, format="csr"),
    "fewer rows than ranks": lambda: graphs.path_graph(2),
    "no rows": lambda: sp.csr_array((0, 0)),
}


@pytest.mark.parametrize(
    "function", [distributed.factor, distributed.linear_forest, distributed.block_forest]
)
def test_unknown_arguments_are_named(function):
    message = rf"{function.__name__}\(\) has no argument 'iters': did you mean iterations\?$"
    with pytest.raises(TypeError, match=message):
        simulate(2, lambda comm: function(scatter(CASES["aniso1"](), comm), iters=3))


def test_types_are_named():
    with pytest.raises(TypeError, match="dtype must be a type such as .* got 'single type'$"):
        simulate(
            2, lambda comm: distributed.multilevel(scatter(CASES["aniso1"](), comm), dtype="single type")
        )


def test_the_number_of_ranks_is_checked():
    with pytest.raises(ValueError, match="^size must be at least 1, got 0$"):
        simulate(0, lambda comm: None)


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("size", graphs.quick(RANKS[2:] + RANKS[:2]))
def test_forest_is_that_of_one_rank(name, size):
    assert_forest(CASES[name](), size)


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("size", RANKS)
@pytest.mark.parametrize(
    "options", [{}, {"iterations": None}, {"iterations": None, "m": 1}, {"m": 3, "k_m": 1}], ids=str
)
def test_factor_is_that_of_one_rank(name, size, options):
    for n in (1, 2, 3, 4):
        assert_factor(CASES[name](), size, n, **options)
    assert_forest(CASES[name](), size, **options)


@pytest.mark.parametrize(
    "options",
    [
        {"iterations": "auto"},
        {"iterations": None},
        {"iterations": None, "m": 1},
        {"iterations": None, "p": 0.0, "k_m": 2},  # no charged iteration proposes anything
        {"iterations": 3, "m": 4, "k_m": 2, "p": 0.3, "seed": -5},
        {"ties": "random", "seed": 2**70},
        {"ties": "index"},
        pytest.param({"charge": "md5", "seed": 3}, marks=pytest.mark.slow),
    ],
    ids=str,
)
def test_options_are_those_of_one_rank(options):
    A = graphs.random_graph(120, "ties", 1)
    assert_factor(A, 3, 3, **options)
    assert_factor(A, 3, 1, **options)
    assert_forest(A, 3, **options)


@pytest.mark.parametrize(
    "offsets", [[0, 0, 40, 40, 100], [0, 100, 100, 100, 100], [0, 99, 99, 99, 100]], ids=str
)
def test_ranks_without_rows(offsets):
    assert_forest(graphs.random_graph(100, seed=4), 4, np.array(offsets))
    assert_factor(graphs.cycle_graph(100), 4, offsets=np.array(offsets))


def test_interleaved_paths_cross_ranks_at_every_step():
    """Vertices alternate between two ranks, so that every stretch is one vertex."""
    size = 200
    new = np.concatenate([np.arange(0, size, 2), np.arange(1, size, 2)]).argsort()
    for whole in (graphs.path_graph(size), graphs.cycle_graph(size, 2.0 + np.arange(size) % 7)):
        coo = whole.tocoo()
        A = sp.coo_array((coo.data, (new[coo.row], new[coo.col])), shape=whole.shape)
        assert_forest(graphs.with_types(A, index_dtype=np.int32), 2, iterations=None, m=1)


@pytest.mark.parametrize("size", graphs.quick((3, 2, 7)))
def test_sums_of_several_chunks_are_those_of_one_rank(size):
    """Coverages are sums over more entries than a chunk of the tree has."""
    assert_forest(graphs.random_graph(1500, "unique", 2, symmetric=False), size)


@pytest.mark.parametrize("weights", [1e307, 5e-324])
def test_weights_at_the_ends_of_the_number_range(weights):
    """Their sum overflows, or is subnormal."""
    rng = np.random.default_rng(0)
    assert_forest(graphs.cycle_graph(40, rng.choice([1.0, 0.5, 0.25], 40) * weights), 3)
    assert_forest(graphs.random_graph(60, "unit", symmetric=False) * weights, 3)


@pytest.mark.slow
@pytest.mark.parametrize("dtype", graphs.DTYPES)
@pytest.mark.parametrize("index_dtype", graphs.INDEX_DTYPES)
def test_types(dtype, index_dtype):
    A = graphs.random_graph(150, "unique", 3, symmetric=False)
    phases = np.exp(1j * np.arange(A.nnz)) if np.dtype(dtype).kind == "c" else 1.0
    A = graphs.with_types(sp.csr_array((A.data * phases, A.indices, A.indptr), A.shape), dtype, index_dtype)
    assert_forest(A, 3)
    assert_factor(A, 3)


def test_bands_of_another_matrix():
    """Bands along a forest of other values and another pattern: A's entries, 0 where it stores nothing."""
    A, other = graphs.random_graph(60, seed=5), graphs.random_graph(60, seed=6, symmetric=False)

    def work(comm):
        forest = distributed.linear_forest(scatter(A, comm))
        return distributed.bands(scatter(other, comm), forest).lower

    one = lf.linear_forest(A)
    before, starts = np.roll(one.order, 1), one.position[one.order] == 1
    expected = np.where(starts, 0, other.toarray()[one.order, before])
    assert np.array_equal(np.concatenate(simulate(3, work)), expected)


@given(A=graphs.matrices(), size=st.integers(1, 5), seed=st.integers(0, 3), m=st.sampled_from((1, 2, 5)))
def test_any_matrix_and_partition(A, size, seed, m):
    cuts = np.sort(np.random.default_rng(seed).integers(0, A.shape[0] + 1, size - 1))
    offsets = np.concatenate([[0], cuts, [A.shape[0]]])
    assert_forest(A, size, offsets, seed=seed, m=m)


@pytest.mark.slow
@given(
    A=graphs.matrices(),
    n=st.integers(1, 4),
    size=st.integers(1, 8),
    seed=st.integers(0, 3),
    ties=st.sampled_from(("auto", "index", "random")),
    iterations=st.sampled_from((1, 5, "auto", None)),
)
def test_any_factor(A, n, size, seed, ties, iterations):
    assert_factor(A, size, n, seed=seed, ties=ties, iterations=iterations)


@pytest.mark.slow
@pytest.mark.parametrize("size", (2, 3, 7))
def test_real_matrices(medium_real_name, size):
    assert_forest(load_real(medium_real_name), size)


def test_options_must_agree_and_be_valid():
    A = graphs.path_graph(10)
    with pytest.raises(ValueError, match="the options must be the same on all ranks"):
        simulate(2, lambda comm: distributed.linear_forest(scatter(A, comm), seed=comm.rank))
    with pytest.raises(ValueError, match="m must lie in"):
        simulate(2, lambda comm: distributed.linear_forest(scatter(A, comm), m=comm.rank))
    with pytest.raises(TypeError, match=r"A must be a distributed\.Matrix, got csr_array"):
        distributed.factor(A)
    with pytest.raises(TypeError, match="forest must come from linear_forest"):
        simulate(2, lambda comm: distributed.bands(scatter(A, comm), None))


def test_bands_need_the_partition_of_the_forest():
    A = graphs.path_graph(10)

    def work(comm):
        forest = distributed.linear_forest(scatter(A, comm))
        return distributed.bands(scatter(A, comm, [0, 1, 10]), forest)

    with pytest.raises(ValueError, match="partition"):
        simulate(2, work)


def test_memory_is_that_of_own_rows_and_ghosts():
    """No array of a rank is longer than its entries, although there are many ranks."""
    A = graphs.path_graph(640)

    def longest(comm):
        forest = distributed.linear_forest(scatter(A, comm))
        arrays = [forest.neighbors, forest.order.positions, forest.order.vertices, forest.order.starts_path]
        return max(array.size for array in arrays)

    assert max(simulate(16, longest)) <= 2 * 640 // 16
