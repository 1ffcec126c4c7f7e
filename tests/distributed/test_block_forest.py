"""Forests of blocks over ranks are those of one rank, bit for bit: pairs along edges and across paths."""

import numpy as np
import pytest
import scipy.sparse as sp
import strategies as graphs
from conftest import load_real
from hypothesis import given
from hypothesis import strategies as st
from one_rank import assert_block_forest

import linforest_precond as lf

CASES = {
    "aniso1": lambda: lf.matrices.aniso(1, 16),
    "aniso2": lambda: lf.matrices.aniso(2, 16),
    "seven-point": lambda: lf.matrices.poisson((5, 6, 7)),
    "random": lambda: graphs.random_graph(120, seed=1),
    "nonsymmetric": lambda: graphs.random_graph(120, symmetric=False),
    "cycles": lambda: graphs.union_of_cycles([3, 4, 5, 8, 16, 31], "ties"),
    "symmetric to rounding": lambda: graphs.rounded(lf.matrices.aniso(1, 12) / 3),
    "without edges": lambda: sp.eye_array(9, format="csr"),
    "no rows": lambda: sp.csr_array((0, 0)),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("size", graphs.quick((3, 1, 2, 4, 7)))
def test_forest_is_that_of_one_rank(name, size):
    assert_block_forest(CASES[name](), size)


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("size", (1, 2, 3, 4, 7))
@pytest.mark.parametrize("block_size", (1, 4))
def test_other_block_sizes(name, size, block_size):
    assert_block_forest(CASES[name](), size, block_size)
    assert_block_forest(CASES[name](), size, block_size, m=5, seed=2)


def test_pairs_across_paths_are_found():
    """The case that tries them has a larger coverage with them, on any number of ranks."""
    A = CASES["aniso2"]()
    assert lf.pipeline.block_tridiagonal_bands(A)[0].pairing == "paths"
    assert_block_forest(A, 2)
    assert_block_forest(A, 2, 4)


@pytest.mark.parametrize("options", [{"m": 1}, {"m": (5, 2), "seed": 4}, {"iterations": None}], ids=str)
def test_options_are_those_of_one_rank(options):
    assert_block_forest(graphs.random_graph(80, seed=2), 3, **options)


def test_ranks_without_rows():
    offsets = np.array([0, 0, 100, 256, 256])
    assert_block_forest(CASES["aniso2"](), 4, offsets=offsets)


@pytest.mark.slow
@pytest.mark.parametrize("dtype", graphs.DTYPES)
def test_types(dtype):
    assert_block_forest(graphs.with_types(graphs.random_graph(100, symmetric=False), dtype), 3)
    assert_block_forest(graphs.with_types(lf.matrices.aniso(2, 16), dtype), 3)


@pytest.mark.slow
@pytest.mark.parametrize("weights", [1e307, 5e-324])
def test_weights_at_the_ends_of_the_number_range(weights):
    """Sums of weights overflow to the largest number, or are subnormal."""
    assert_block_forest(graphs.random_graph(60, "unit", 3) * weights, 3)


@given(A=graphs.matrices(max_size=20), size=st.integers(1, 4), seed=st.integers(0, 3))
def test_any_matrix_and_partition(A, size, seed):
    cuts = np.sort(np.random.default_rng(seed).integers(0, A.shape[0] + 1, size - 1))
    offsets = np.concatenate([[0], cuts, [A.shape[0]]])
    assert_block_forest(A, size, offsets=offsets, seed=seed)


@pytest.mark.slow
@given(A=graphs.matrices(), size=st.integers(1, 5), block_size=st.sampled_from((1, 2, 4)))
def test_any_matrix_and_block_size(A, size, block_size):
    assert_block_forest(A, size, block_size)


@pytest.mark.slow
@pytest.mark.parametrize("size", (2, 7))
def test_real_matrices(medium_real_name, size):
    assert_block_forest(load_real(medium_real_name), size)
