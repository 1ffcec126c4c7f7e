"""The GPU's traversals: the same order for any number and size of blocks, workers and batches."""

import itertools

import numpy as np
import pytest
import strategies as graphs

import linforest_precond as lf
from linforest_precond.backends import cpu
from linforest_precond.backends.cuda.csgraph import breadth_first, components, frontier, sorted_neighbors
from linforest_precond.backends.cuda.reordering import cuthill_mckee, rcm_batch, rcm_leveled, rcm_unordered
from linforest_precond.matrix.doors import as_pattern

pytestmark = pytest.mark.gpu

GRAPHS = {
    "random": graphs.random_graph(400, seed=1, mean_degree=3),
    "sparse": graphs.random_graph(900, seed=2, mean_degree=1),
    "dense": graphs.random_graph(150, seed=3, mean_degree=60),
    "path": graphs.path_graph(90),
}
LEVELED = [
    {"blocks": 1},
    {"narrow": 0, "wide": 0, "block": 64},
    {"narrow": 5, "wide": 9, "block": 64},
    {"narrow": 2**31, "wide": 2**31},
]
SIZES = [
    {"size": 1, "capacity": 3},
    {"size": 16, "capacity": 50},
    {"size": 200, "capacity": 1000, "workers": 1},
    {"size": 256, "capacity": 2**20},
]
PARTS = [
    {"early": early, "concurrent": concurrent, **packing}
    for early, concurrent, packing in itertools.product(
        (True, False), (1, 3, 8), ({"balanced": False}, {}, {"overestimate": True})
    )
]


def stages(cuda, A, width=None):
    """The arguments of a traversal, and a function that sorts its result by component."""
    pattern = as_pattern(cuda.csr(A))
    count, labels = components.weak_components(pattern)
    sorted_rows = sorted_neighbors.sorted_rows(pattern, width)
    starts = breadth_first.pseudo_peripheral_vertices(sorted_rows, count, labels)
    return sorted_rows, starts, lambda order: cuda.host(cuthill_mckee.by_component(order, labels, count))


@pytest.mark.parametrize("graph", GRAPHS)
class TestSizes:
    @pytest.mark.parametrize("width", [4, 8, 16, 32])
    def test_of_fronts(self, cuda, graph, width):
        A = GRAPHS[graph]
        expected = lf.graph.cuthill_mckee(A, method="serial")
        sorted_rows, starts, arranged = stages(cuda, A, width)
        for sizes in LEVELED:
            found = arranged(rcm_leveled.traverse(sorted_rows, starts, **sizes))
            np.testing.assert_array_equal(found, expected, err_msg=str(sizes))

    def test_of_batches(self, cuda, graph):
        A = GRAPHS[graph]
        expected = lf.graph.cuthill_mckee(A, method="serial")
        sorted_rows, starts, arranged = stages(cuda, A)
        for sizes, parts in itertools.product(SIZES, PARTS):
            options = lf.graph.BatchOptions(**sizes, **parts)
            found = arranged(rcm_batch.traverse(sorted_rows, starts, options))
            np.testing.assert_array_equal(found, expected, err_msg=str(options))

    def test_of_levels(self, cuda, graph):
        A = GRAPHS[graph]
        expected = lf.graph.cuthill_mckee(A, method="serial")
        sorted_rows, starts, arranged = stages(cuda, A)
        for blocks in (1, 2, None):
            found = arranged(rcm_unordered.traverse(sorted_rows, starts, blocks=blocks))
            np.testing.assert_array_equal(found, expected, err_msg=str(blocks))

    def test_of_searches(self, cuda, graph):
        sorted_rows, starts, _ = stages(cuda, GRAPHS[graph])
        found, queue = cuda.xp.empty(GRAPHS[graph].shape[0], np.int32), breadth_first.queue_for(sorted_rows)
        expected = np.full(found.size, -1)
        for start in cuda.host(starts):
            reached = lf.graph.bfs_levels(GRAPHS[graph], int(start), directed=False)
            expected = np.maximum(expected, reached)
        for sizes in LEVELED:
            breadth_first.search_rows(sorted_rows, starts, found, queue, **sizes)
            np.testing.assert_array_equal(cuda.host(found), expected, err_msg=str(sizes))


@pytest.mark.parametrize("counted", [0, 10**6])
def test_rows_ascend_by_degree_and_index(cuda, monkeypatch, counted):
    """By rank sort and by one sort of all entries."""
    monkeypatch.setattr(sorted_neighbors, "COUNTED", counted)
    A = graphs.random_graph(300, seed=5, mean_degree=12)
    pattern = as_pattern(cuda.csr(A))
    found = sorted_neighbors.sorted_rows(pattern)
    degrees, spans = cuda.host(pattern.degrees), cuda.host(found.spans)
    neighbours = cuda.host(found.neighbours) & 0x3FFFFFFF
    indptr, indices = cuda.host(pattern.indptr), cuda.host(pattern.indices)
    for row, (begin, length) in enumerate(spans):
        stored = indices[indptr[row] : indptr[row + 1]]
        expected = sorted(stored[stored != row], key=lambda v: (degrees[v], v))
        assert neighbours[begin : begin + length].tolist() == expected


def test_a_broken_chain_of_batches_raises(cuda, monkeypatch):
    """The watchdog of a worker expires, and no order is returned."""
    first_batches = rcm_batch._first_batches

    def without_records(*arguments):
        records, chain = first_batches(*arguments)
        records.fill(rcm_batch.UNUSED)
        return records, chain

    sorted_rows, starts, _ = stages(cuda, GRAPHS["path"])
    monkeypatch.setattr(rcm_batch, "_first_batches", without_records)
    with pytest.raises(RuntimeError, match="came to a halt"):
        rcm_batch.traverse(sorted_rows, starts, patience=1000)


def test_profile_of_batches(cuda):
    """The counts of one worker are those of the CPU: same batches, same packing."""
    A = graphs.shuffled(graphs.grid_graph(12, 12, 12))
    for packing in ({"balanced": False}, {}, {"overestimate": True}):
        options = lf.graph.BatchOptions(workers=1, concurrent=1, **packing)
        order, found = cuthill_mckee.batch_profile(as_pattern(cuda.csr(A)), 0, options)
        expected_order, expected = cpu.reordering.cuthill_mckee.batch_profile(as_pattern(A), 0, options)
        np.testing.assert_array_equal(cuda.host(order), expected_order)
        for count in ("dequeued", "executed", "early", "children", "switched", "generated"):
            assert found[count] == expected[count], (packing, count)


@pytest.mark.parametrize("deeper", [1, 2])
def test_levels_that_are_not_those_of_a_search_raise(cuda, monkeypatch, deeper):
    """Neither the block of the level nor the one below it waits for ever, and no order is returned."""

    def wrong_depths(rows, starts, depths, queue):
        depths.fill(1)
        depths[45] = deeper
        depths[starts] = 0

    sorted_rows, starts, _ = stages(cuda, GRAPHS["path"])
    monkeypatch.setattr(rcm_unordered.breadth_first, "search_rows", wrong_depths)
    with pytest.raises(RuntimeError, match="came to a halt"):
        rcm_unordered.traverse(sorted_rows, starts, patience=1000)


def test_one_block_fits_every_multiprocessor(cuda):
    multiprocessors = cuda.xp.cuda.Device().attributes["MultiProcessorCount"]
    assert frontier.FrontierLaunch(8, blocks=10**6).blocks <= multiprocessors
