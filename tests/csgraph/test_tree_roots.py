"""The roots of forests given by parents."""

import component_oracles as oracles
import numpy as np
import pytest
import strategies as graphs
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csgraph

import linforest_precond as lf


@st.composite
def parents(draw, max_size=60):
    """Arbitrary parents: forests, cycles, both kinds of roots."""
    size = draw(st.integers(1, max_size))
    return draw(st.lists(st.integers(-2, size - 1), min_size=size, max_size=size))


@given(parents=parents(), dtype=graphs.types(graphs.INDEX_DTYPES))
def test_against_the_textbook(backend, parents, dtype):
    given_parents = backend.array(np.array(parents, dtype))
    expected = oracles.roots(parents)
    if None in expected:
        with pytest.raises(ValueError, match=f"from vertex {expected.index(None)} it leads into a cycle"):
            lf.graph.tree_roots(given_parents)
    else:
        roots = lf.graph.tree_roots(given_parents)
        assert isinstance(roots, backend.xp.ndarray) and roots.dtype == dtype
        assert backend.host(roots).tolist() == expected
    assert backend.host(given_parents).tolist() == parents


def random_forest(size, seed=0):
    """Parents below their children, vertices renumbered at random."""
    rng = np.random.default_rng(seed)
    parents = (np.arange(size) * rng.random(size)).astype(np.int64)
    roots = np.arange(size)
    for v in range(size):
        roots[v] = roots[parents[v]]
    new = rng.permutation(size)
    shuffled, expected = np.empty_like(parents), np.empty_like(roots)
    shuffled[new], expected[new] = new[parents], new[roots]
    return shuffled, expected


@pytest.mark.parametrize("size", [1, 2, 33, 5000])
def test_random_forests(backend, size):
    parents, expected = random_forest(size)
    np.testing.assert_array_equal(backend.host(lf.graph.tree_roots(backend.array(parents))), expected)


@pytest.mark.parametrize("size", [5000, graphs.slow(10**6)])
@pytest.mark.parametrize("shuffled", [False, True], ids=["in order", "shuffled"])
def test_long_paths(backend, size, shuffled):
    names = np.random.default_rng(1).permutation(size) if shuffled else np.arange(size)
    parents = np.empty(size, np.int32)
    parents[names[1:]], parents[names[0]] = names[:-1], -1
    for _ in range(3):
        roots = lf.graph.tree_roots(backend.array(parents))
        assert bool((roots == int(names[0])).all())


@pytest.mark.parametrize("length", [2, 3, 64, 1000])
def test_cycles(backend, length):
    """Also cycles whose length is a power of two, on which pointer jumping becomes stationary."""
    around = np.arange(3, 3 + length)
    parents = np.concatenate([[-1, 0, 4], np.roll(around, 1), [1]])
    with pytest.raises(ValueError, match="from vertex 2 it leads into a cycle"):
        lf.graph.tree_roots(backend.array(parents))


def test_predecessors_of_csgraph(backend):
    A = graphs.random_graph(500, mean_degree=1.5)
    _, predecessors = csgraph.breadth_first_order(A, 7)
    roots = backend.host(lf.graph.tree_roots(backend.array(predecessors)))
    reached = lf.graph.bfs_levels(A, 7) >= 0
    assert (roots[reached] == 7).all() and (roots[~reached] == np.flatnonzero(~reached)).all()


def test_many_runs(backend):
    parents, expected = random_forest(3000)
    parents = backend.array(parents)
    for _ in range(50):
        np.testing.assert_array_equal(backend.host(lf.graph.tree_roots(parents)), expected)


def test_types(backend):
    for dtype, wide in (
        (np.int8, np.int64),
        (np.uint32, np.int64),
        (np.int32, np.int32),
        (np.int64, np.int64),
    ):
        roots = lf.graph.tree_roots(backend.array(np.array([0, 0, 1], dtype)))
        assert roots.dtype == wide and backend.host(roots).tolist() == [0, 0, 0]
    strided = backend.array(np.array([0, 9, 0, 9, 1, 9]))[::2]
    assert backend.host(lf.graph.tree_roots(strided)).tolist() == [0, 0, 0]
    assert lf.graph.tree_roots([]).size == 0
    assert lf.graph.tree_roots(backend.array(np.empty(0, np.int32))).dtype == np.int32


def test_bad_parents(backend):
    with pytest.raises(ValueError, match=r"parent must hold vertices, below 3, .* got 3 at vertex 1"):
        lf.graph.tree_roots(backend.array(np.array([0, 3, 7])))
    with pytest.raises(ValueError, match="got 9 at vertex 0"):
        lf.graph.tree_roots(backend.array(np.array([9, 0, 1])))
    with pytest.raises(TypeError, match="parent must hold integers"):
        lf.graph.tree_roots(backend.array(np.array([0.0, 1.0])))
    with pytest.raises(ValueError, match=r"parent must be 1-D, got shape \(1, 2\)"):
        lf.graph.tree_roots(backend.array(np.array([[0, 1]])))
