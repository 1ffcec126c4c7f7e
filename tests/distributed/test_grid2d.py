"""Graphs on R x C ranks: the answers are those of one rank, for every shape."""

import itertools
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from parallel_cases import random_matrix, random_offsets

import linforest_precond as lf
from linforest_precond.distributed import grid2d, scatter, simulate
from linforest_precond.distributed.grid2d.breadth_first import BreadthFirstSearch

SHAPES = [(1, 1), (2, 2), (1, 4), (4, 1), (2, 3), (3, 2), (1, 6), (6, 1)]
MORE_SHAPES = [(1, 2), (2, 1), (1, 3), (3, 3), (1, 7), (7, 1), (2, 4), (4, 2), (3, 4), (4, 4), (5, 3)]


def on_grid(A, shape, function, *, offsets=None, distribution="striped"):
    """What `function(graph)` returns on every rank of a grid."""

    def work(comm):
        rows = scatter(A, comm, offsets)
        grid = grid2d.Grid(comm, shape)
        return function(grid2d.Graph2D.from_matrix(rows, grid, distribution=distribution))

    return simulate(shape[0] * shape[1], work)


def whole(parts):
    """The ranks' results one after another: an array, or a tuple of arrays."""
    if isinstance(parts[0], tuple):
        return tuple(whole(part) for part in zip(*parts))
    return np.concatenate(parts)


def same_bits(found, expected):
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(found, expected)


def check_search(A, shape, source, **how):
    directed = how.pop("directed", True)
    found = on_grid(A, shape, lambda graph: grid2d.bfs(graph, source, directed), **how)
    depths, predecessors = whole(found)
    same_bits(depths, lf.graph.bfs_levels(A, source, directed))
    same_bits(predecessors, lf.graph.breadth_first_order(A, source, directed)[1])


def check_components(A, shape, **how):
    count, labels = lf.graph.connected_components(A)
    found = on_grid(A, shape, grid2d.connected_components, **how)
    assert {one for one, _ in found} == {count}
    same_bits(whole([part for _, part in found]), labels)


def check_communities(A, shape, seed, **how):
    found = on_grid(A, shape, lambda graph: grid2d.label_propagation(graph, seed=seed), **how)
    same_bits(whole(found), lf.graph.label_propagation(A, seed=seed))


def check_mates(A, shape, seed, **how):
    found = on_grid(A, shape, lambda graph: grid2d.matching(graph, seed), **how)
    mates = lf.graph.matching(A, seed=seed).mate  # of the type of A's indices
    same_bits(whole(found), mates.astype(np.int32))


def random_forest(n, seed):
    """Parents with negative and self-parented roots; the numbering says nothing about depths."""
    rng = np.random.default_rng(seed)
    parents = np.where(rng.random(n) < 0.1, -1, rng.integers(0, np.maximum(np.arange(n), 1)))
    order = rng.permutation(n)
    shuffled = np.empty(n, np.int64)
    shuffled[order] = np.where(parents < 0, parents, order[parents])
    return shuffled


def check_roots(n, shape, seed, offsets):
    parents = random_forest(n, seed)

    def roots(graph):
        rank = graph.grid.comm.rank
        return grid2d.pointer_jumping(graph, parents[offsets[rank] : offsets[rank + 1]])

    same_bits(
        whole(on_grid(sp.csr_array((n, n)), shape, roots, offsets=offsets)), lf.graph.tree_roots(parents)
    )


def check_all(A, shape, seed, **how):
    n = A.shape[0]
    if n:
        check_search(A, shape, seed % n, **how)
        check_search(A, shape, seed % n, directed=False, **how)
    check_components(A, shape, **how)
    check_communities(A, shape, seed, **how)
    if A.dtype.kind != "c":
        check_mates(A, shape, seed, **how)
    check_roots(n, shape, seed, random_offsets(n, shape[0] * shape[1], seed))


@pytest.mark.parametrize("shape", SHAPES)
def test_answers_are_those_of_one_rank(shape):
    check_all(random_matrix(50, 0.03, 5), shape, 7)


@given(
    n=st.integers(0, 25),
    density=st.sampled_from([0.02, 0.1, 0.4]),
    shape=st.sampled_from(SHAPES),
    seed=st.integers(0, 2**32 - 1),
    distribution=st.sampled_from(["striped", "blocks"]),
)
@settings(max_examples=settings.default.max_examples // 3)
def test_any_graph_on_any_partition(n, density, shape, seed, distribution):
    A, offsets = random_matrix(n, density, seed), random_offsets(n, shape[0] * shape[1], seed)
    check_all(A, shape, seed, offsets=offsets, distribution=distribution)


@pytest.mark.slow
@pytest.mark.parametrize("shape", SHAPES + MORE_SHAPES)
@pytest.mark.parametrize("kind", ["rmat", "cube", "path", "star", "complex", "isolated"])
def test_answers_of_many_kinds_of_graphs(kind, shape):
    A = {
        "rmat": lambda: lf.matrices.rmat(9),
        "cube": lambda: lf.matrices.poisson((9, 8, 7)),
        "path": lambda: sp.diags_array([np.ones(299)], offsets=[1], shape=(300, 300), format="csr"),
        "star": lambda: sp.csr_array((np.ones(400), (np.zeros(400, int), np.arange(400))), shape=(400, 400)),
        "complex": lambda: random_matrix(200, 0.01, 3, np.complex128),
        "isolated": lambda: sp.csr_array((100, 100)),
    }[kind]()
    check_all(A, shape, 11)


@pytest.mark.parametrize("shape", [(2, 2), (2, 3)])
def test_ways_to_find_components_agree(shape):
    """Push and pull, dense and sparse, with and without a queue (figure 6.6)."""
    A = random_matrix(40, 0.04, 9)
    ways = list(itertools.product(("push", "pull"), ("auto", "dense", "sparse"), (False, True)))

    def found(graph):
        labels = [
            grid2d.connected_components(graph, direction=direction, exchange=exchange, queue=queue)[1]
            for direction, exchange, queue in ways
        ]
        return np.array(labels).T

    expected = lf.graph.connected_components(A)[1]
    assert (whole(on_grid(A, shape, found)) == expected[:, np.newaxis]).all()


@pytest.mark.parametrize(
    "kind", ["symmetric", "signed", "ties", "path", pytest.param("float32", marks=pytest.mark.slow)]
)
@pytest.mark.parametrize("shape", [(2, 2), (2, 3)])
def test_mates_are_those_of_one_rank(kind, shape):
    A = random_matrix(40, 0.1, 6)
    A = {
        "symmetric": lambda: A + A.T,
        "signed": lambda: sp.csr_array(A - A.T),
        "ties": lambda: sp.csr_array(np.ceil(3 * A.toarray())),
        "float32": lambda: sp.csr_array(np.float32(1e-7 * np.round(A.toarray(), 1) + (A.toarray() != 0))),
        "path": lambda: sp.diags_array([np.arange(1.0, 60)], offsets=[1], shape=(60, 60), format="csr"),
    }[kind]()
    check_mates(A, shape, 3)


@pytest.mark.parametrize("exchange", ["dense", "sparse"])
def test_searches_with_every_exchange_agree(exchange):
    A = lf.matrices.rmat(6, 4)
    found = on_grid(A, (2, 3), lambda graph: grid2d.bfs(graph, 3, exchange=exchange))
    same_bits(whole(found)[1], lf.graph.breadth_first_order(A, 3)[1])


def test_wide_frontiers_are_pulled_where_the_graph_is_symmetric():
    def pulls(graph):
        search = BreadthFirstSearch(graph, 0)
        search.run("auto")
        return search.pulls

    A = lf.matrices.rmat(7)
    assert min(on_grid(A, (2, 2), pulls)) > 0
    assert max(on_grid(sp.triu(A, format="csr"), (2, 2), pulls)) == 0


def test_edges_may_be_on_any_rank_and_repeated():
    n, rng = 30, np.random.default_rng(3)
    sources, targets = rng.integers(0, n, (2, 90))
    A = sp.csr_array((np.ones(90), (sources, targets)), shape=(n, n))
    A.data[:] = 1.0

    def labels(comm):
        mine = slice(comm.rank, None, 3)  # some edges are on two ranks
        graph = grid2d.Graph2D(grid2d.Grid(comm, (2, 2)), n, sources[mine], targets[mine])
        assert graph.n_edges == A.nnz and "30 vertices" in repr(graph)
        return grid2d.label_propagation(graph), grid2d.pagerank(graph)

    found, ranks = whole(simulate(4, labels))
    same_bits(found, lf.graph.label_propagation(A))
    np.testing.assert_allclose(ranks, lf.graph.pagerank(A), rtol=1e-13)


def weighted(n, seed):
    A = abs(random_matrix(n, 0.1, seed))
    A.data *= 10.0 ** np.random.default_rng(seed).integers(-20, 20, A.nnz)
    return A


@pytest.mark.parametrize("distribution", ["striped", "blocks"])
def test_pagerank_has_the_same_bits_on_every_grid(distribution):
    A = weighted(30, 2)
    found = [whole(on_grid(A, shape, grid2d.pagerank, distribution=distribution)) for shape in SHAPES]
    assert all(np.array_equal(other, found[0]) for other in found)
    np.testing.assert_allclose(found[0], lf.graph.pagerank(A), rtol=1e-12)


def test_pagerank_takes_distributions():
    n, A = 20, weighted(20, 4)
    rng = np.random.default_rng(1)
    given = {name: rng.random(n) for name in ("personalization", "nstart", "dangling")}

    def ranks(graph):
        own = slice(*graph.offsets[graph.grid.comm.rank :][:2])
        return grid2d.pagerank(graph, 0.7, tol=1e-9, **{name: part[own] for name, part in given.items()})

    expected = lf.graph.pagerank(A, 0.7, tol=1e-9, **given)
    np.testing.assert_allclose(whole(on_grid(A, (3, 2), ranks)), expected, rtol=1e-12)


def refused(A, function, shape=(2, 2)):
    """The one error that all ranks raise."""

    def caught(graph):
        with pytest.raises((TypeError, ValueError, RuntimeError)) as error:
            function(graph)
        return str(error.value)

    (message,) = set(on_grid(A, shape, caught))
    return message


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda g: grid2d.bfs(g, 4), "i_start must be a vertex of A, in [0, 4), got 4"),
        (lambda g: grid2d.bfs(g, g.grid.comm.rank), "i_start, directed and exchange must be the same"),
        (lambda g: grid2d.bfs(g, 0, exchange="some"), 'exchange must be "auto", "dense" or "sparse"'),
        (lambda g: grid2d.connected_components(g, direction="up"), 'direction must be "push" or "pull"'),
        (lambda g: grid2d.label_propagation(g, -1), "max_rounds must lie in"),
        (lambda g: grid2d.label_propagation(g, seed=g.grid.comm.rank), "max_rounds and seed must be the"),
        (lambda g: grid2d.matching(g, 0.5), "seed must be an integer"),
        (lambda g: grid2d.pagerank(g, 1.5), "alpha must lie in [0, 1]"),
        (lambda g: grid2d.pagerank(g, max_iter=0), "max_iter must be at least 1"),
        (lambda g: grid2d.pagerank(g, tol=0.0), "raise max_iter or tol"),
        (lambda g: grid2d.pagerank(g, nstart=[1.0, 2.0]), "nstart must have shape (1,)"),
        (lambda g: grid2d.pagerank(g, nstart=[0.0]), "nstart must have a finite sum above 0"),
        (lambda g: grid2d.pagerank(g, nstart=[-1.0]), "nstart must hold finite weights"),
        (lambda g: grid2d.pagerank(g, nstart=["a"]), "nstart must hold real numbers"),
        (
            lambda g: grid2d.pointer_jumping(g, [[1], [2], [1], [3]][g.grid.comm.rank]),
            "from vertex 0 they lead",
        ),
        (lambda g: grid2d.pointer_jumping(g, [[0], [0], [7], [3]][g.grid.comm.rank]), "got 7 at vertex 2"),
        (lambda g: grid2d.pointer_jumping(g, [0.5]), "parents must hold integers"),
        (lambda g: grid2d.pointer_jumping(g, [0, 0]), "parents must have shape (1,)"),
    ],
)
def test_bad_arguments_are_refused_on_all_ranks(function, message):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert message in refused(lf.matrices.poisson((4,)) != 0, function)


def test_weights_that_are_no_probabilities_are_refused():
    assert "no negative weights, got -1.0" in refused(lf.matrices.poisson((4,)), grid2d.pagerank)
    tiny = sp.csr_array(np.full((2, 2), 1e-320))
    assert "sums that can be inverted" in refused(tiny, grid2d.pagerank)


@pytest.mark.parametrize(
    ("edges", "message"),
    [
        ((4, [0, 4], [1, 1]), "sources must be vertices in [0, 4), got 0 to 4"),
        ((4, [0], [-1]), "targets must be vertices in"),
        ((4, [0.5], [1]), "sources must be a 1-D array of integers"),
        ((4, [0, 1], [1]), "must have one length, got (2, 1, 2)"),
        ((-1, [], []), "n must lie in"),
        ((4, [0], [1], [np.inf]), "weights must be finite"),
        ((4, [0], [1], [1j]), "weights must be real"),
    ],
)
def test_bad_edges_are_refused_on_all_ranks(edges, message):
    def caught(comm):
        grid = grid2d.Grid(comm)
        with pytest.raises((TypeError, ValueError)) as error:
            grid2d.Graph2D(grid, *(edges if comm.rank == 1 else (4, [], [], *edges[3:])))
        return str(error.value)

    (found,) = set(simulate(2, caught))
    assert message in found


@pytest.mark.parametrize("shape", [(2, 3), (0, 4), 4, (2.0, 2)])
def test_bad_shapes_are_refused(shape):
    with pytest.raises(ValueError, match="shape must"):
        simulate(4, lambda comm: grid2d.Grid(comm, shape))


def test_pointers_along_edges():
    """Without parents, a vertex points to its lowest neighbour: roots are vertices below all neighbours."""
    A = random_matrix(30, 0.05, 8)
    pattern = ((A + A.T) != 0).toarray()
    lowest = [min([v, *np.flatnonzero(row)]) for v, row in enumerate(pattern)]
    found = whole(on_grid(A, (2, 3), grid2d.pointer_jumping))
    same_bits(found, lf.graph.tree_roots(np.array(lowest, np.int32)))


def test_long_paths_take_few_rounds():
    n = 200

    def rounds(graph):
        own = np.arange(*graph.offsets[graph.grid.comm.rank :][:2])
        counters = graph.grid.comm.counters
        counters.reset()
        roots = grid2d.pointer_jumping(graph, np.maximum(own - 1, 0))
        return bool((roots == 0).all()), counters.collectives

    found = on_grid(sp.csr_array((n, n)), (2, 2), rounds)
    # A round counts active pointers, and swaps packets twice (requests, replies) in two hops each.
    assert all(right and calls <= 5 * 9 + 2 for right, calls in found)
