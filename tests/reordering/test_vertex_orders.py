"""Orderings by name: permutations, the same on all devices, and what each of them promises."""

import graph_cases as cases
import numpy as np
import pytest
import scipy.sparse as sp
import strategies as graphs
from hypothesis import given

import linforest_precond as lf
from linforest_precond.graph.reordering.vertex_orders import METHODS

order = lf.graph.order
COMMUNITIES = "matching", "labels"


def shuffled(A, seed=0):
    return lf.permute(A, np.random.default_rng(seed).permutation(A.shape[0]))


def assert_permutation(backend, found, size):
    assert isinstance(found, backend.xp.ndarray) and found.dtype == np.int32
    assert sorted(backend.host(found).tolist()) == list(range(size))


@pytest.mark.parametrize("method", METHODS)
@given(A=graphs.matrices(max_size=20, dtypes=(np.float64,)))
def test_permutations(backend, method, A):
    found = order(backend.csr(A), method)
    assert_permutation(backend, found, A.shape[0])
    np.testing.assert_array_equal(backend.host(found), order(A, method))


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", ["rmat", "tiny components", "directed", "star", "cube"])
def test_one_answer_on_all_devices(backend, name, method):
    A = cases.SMALL[name]()
    found = order(backend.csr(graphs.with_types(A, index_dtype=np.int64)), method, seed=3)
    assert_permutation(backend, found, A.shape[0])
    np.testing.assert_array_equal(backend.host(found), order(A, method, seed=3))


def test_by_degrees(backend):
    """Degrees 1, 3, 2, 2, 0 and the mean 8 / 5."""
    A = sp.csr_array(([1.0] * 4, ([0, 1, 1, 2], [1, 2, 3, 3])), shape=(5, 5))
    assert backend.host(order(backend.csr(A), "degree")).tolist() == [1, 2, 3, 0, 4]
    assert backend.host(order(backend.csr(A), "hubs")).tolist() == [1, 2, 3, 0, 4]
    assert backend.host(order(backend.csr(lf.permute(A, [2, 0, 1, 4, 3])), "hubs")).tolist() == [
        0,
        2,
        4,
        1,
        3,
    ]


def test_names_of_other_functions(backend):
    A = backend.csr(shuffled(graphs.grid_graph(12, 11)))
    for method, other in {
        "natural": np.arange(132),
        "rcm": lf.graph.reverse_cuthill_mckee(A),
        "forest": lf.linear_forest(A).order,
    }.items():
        np.testing.assert_array_equal(backend.host(order(A, method)), backend.host(other))


@pytest.mark.parametrize("method", COMMUNITIES)
def test_communities_are_consecutive(backend, method):
    """Cliques in a ring, one edge between two of them; a matching may pair two vertices across."""
    count, size = 12, 8
    A = sp.kron(sp.eye_array(count), np.ones((size, size))).tolil()
    for i in range(count):
        A[i * size, (i * size + size + 3) % (count * size)] = 1.0
    places = np.random.default_rng(0).permutation(count * size)
    found = backend.host(order(backend.csr(lf.permute(sp.csr_array(A), places)), method))
    cliques = places[found] // size
    breaks = np.count_nonzero(np.diff(cliques))
    assert breaks == count - 1 if method == "labels" else breaks < 3 * count


@pytest.mark.parametrize("seed", [0, 1])
def test_vertices_of_the_same_neighbours_have_the_same_shingles(backend, seed):
    """Complete bipartite graphs of 3 + 4 vertices, and isolated vertices."""
    sides = np.ones((3, 4))
    graph = sp.block_diag([sp.bmat([[None, sides], [sides.T, None]])] * 5 + [sp.csr_array((2, 2))])
    places = np.random.default_rng(seed).permutation(graph.shape[0])
    found = places[
        backend.host(order(backend.csr(lf.permute(sp.csr_array(graph), places)), "shingle", seed=seed))
    ]
    side = np.where(found < 35, 2 * (found // 7) + (found % 7 >= 3), found)
    assert np.count_nonzero(np.diff(side)) == 2 * 5 + 2 - 1


@pytest.mark.parametrize("method", COMMUNITIES)
def test_shuffled_grids_gain(backend, method):
    A = backend.csr(shuffled(graphs.grid_graph(40, 40)))
    assert lf.graph.log_gap(A, order(A, method)) < 0.6 * lf.graph.log_gap(A)


def test_bad_input(backend):
    A = backend.csr(graphs.path_graph(4))
    with pytest.raises(ValueError, match="method must be \"natural\", .* got 'metis'"):
        order(A, "metis")
    with pytest.raises(TypeError, match="seed must be an integer"):
        order(A, seed=0.5)
    with pytest.raises(ValueError, match="A must be square"):
        order(backend.csr(sp.csr_array((3, 4))), "degree")
