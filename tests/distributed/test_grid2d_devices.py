"""Graphs on R x C simulated ranks with arrays of CuPy: the bits and the messages of arrays of NumPy."""

import dataclasses

import numpy as np
import pytest
import scipy.sparse as sp
from conftest import skip_or_fail
from grid2d_ranks import all_results, results, shapes_of
from parallel_cases import random_matrix

import linforest_precond as lf
from linforest_precond.backends.array_libraries import on_host
from linforest_precond.distributed import grid2d, scatter, simulate
from linforest_precond.distributed.partition.device_messages import HostMessages, NcclMessages, nccl_ranks

pytestmark = pytest.mark.gpu
SHAPES = [shape for size in (1, 2, 4, 6) for shape in shapes_of(size)]


def counted_results(comm, shape, device):
    found = all_results(comm, shape, device)
    if device == "cuda":
        for group in comm.groups[shape]:
            assert isinstance(vars(group)["device_messages"], HostMessages)
    return found, dataclasses.astuple(comm.counters)


@pytest.mark.parametrize("shape", SHAPES)
def test_results_and_messages_are_those_of_the_cpu(cuda, shape):
    found, expected = (
        simulate(shape[0] * shape[1], counted_results, shape, device) for device in ("cuda", "cpu")
    )
    for (own, messages), (bits, their_messages) in zip(found, expected):
        np.testing.assert_array_equal(own, bits)
        assert messages == their_messages


@pytest.mark.parametrize(
    "kind", ["star", "path", "empty", "isolated", "float32", "ties", "unweighted", "repeated"]
)
def test_results_of_many_kinds_of_graphs(cuda, kind):
    n, ties = 50, random_matrix(50, 0.1, 6)
    ties.data = np.ceil(3 * abs(ties.data))
    A = {
        "star": lambda: sp.csr_array((np.ones(n), (np.zeros(n, int), np.arange(n))), shape=(n, n)),
        "path": lambda: sp.diags_array([np.ones(n - 1)], offsets=[1], shape=(n, n), format="csr"),
        "empty": lambda: sp.csr_array((n, n)),
        "isolated": lambda: sp.csr_array(([1.0], ([4], [9])), shape=(n, n)),
    }.get(kind, lambda: ties)()
    rows, columns = A.nonzero()
    data = A.data.astype(np.float32 if kind == "float32" else np.float64)
    if kind == "repeated":
        rows, columns, data = (np.tile(part, 5) for part in (rows, columns, data))
        data = data * np.random.default_rng(1).random(data.size)
    weights = [] if kind == "unweighted" else [data]

    def found(comm, array):
        edges = (array(part[comm.rank :: comm.size]) for part in (rows, columns, *weights))
        graph = grid2d.Graph2D(grid2d.Grid(comm, (2, 3)), n, *edges)
        if weights:
            return results(graph, np.maximum(np.arange(n) - 1, 0))
        parts = grid2d.bfs(graph, 4)[1], grid2d.label_propagation(graph), grid2d.pagerank(graph)
        return np.column_stack([on_host(part) for part in parts])

    for own, expected in zip(simulate(6, found, cuda.array), simulate(6, found, np.asarray)):
        np.testing.assert_array_equal(own, expected)


def test_distributions_of_pagerank(cuda):
    A, given = abs(random_matrix(30, 0.1, 2)), np.random.default_rng(3).random((3, 30))

    def found(comm, own):
        graph = grid2d.Graph2D.from_matrix(scatter(own.csr(A), comm))
        mine = slice(*graph.offsets[comm.rank :][:2])
        names = "personalization", "nstart", "dangling"
        return own.host(
            grid2d.pagerank(graph, **{key: own.array(part[mine]) for key, part in zip(names, given)})
        )

    from conftest import CPU

    np.testing.assert_array_equal(*(np.concatenate(simulate(4, found, own)) for own in (cuda, CPU)))


def test_arrays_of_two_devices_are_refused(cuda):
    def mixed(comm):
        with pytest.raises(TypeError, match="targets must be on cuda like the others"):
            grid2d.Graph2D(grid2d.Grid(comm), 4, cuda.array(np.array([0])), np.array([1]))
        ends = [np.array([0]), np.array([1])]
        with pytest.raises(ValueError, match="the device of edges must be the same on all ranks"):
            grid2d.Graph2D(grid2d.Grid(comm), 4, *(map(cuda.array, ends) if comm.rank else ends))
        graph = grid2d.Graph2D(grid2d.Grid(comm), 4, *map(cuda.array, ends))
        with pytest.raises(TypeError, match="parents must be on cuda"):
            grid2d.pointer_jumping(graph, np.array([0, 0]))

    simulate(2, mixed)


def test_one_rank_passes_arrays_by_nccl(cuda):
    from cupy.cuda import nccl

    if not nccl.available:
        skip_or_fail("nccl", "NCCL is not installed")
    xp = cuda.xp

    def passed(comm):
        grid = grid2d.Grid(comm)
        for group in (comm, grid.row, grid.column):
            vars(group)["device_messages"] = NcclMessages(group, nccl_ranks(group))
        numbers = xp.arange(12).reshape(6, 2)
        for dtype in (np.int32, np.int64, np.uint64, np.float32, np.float64):
            for operation in ("sum", "min", "max"):
                same = comm.allreduce(numbers.astype(dtype), operation)
                assert same.dtype == dtype and bool((same == numbers).all())
        assert bool((comm.broadcast(numbers[:, 1], 0) == numbers[:, 1]).all())
        assert bool((comm.allgather_arrays(numbers) == numbers).all())
        assert comm.allgather_arrays(numbers[:0]).shape == (0, 2)
        assert bool((comm.exchange({0: numbers[2:]}, numbers)[0] == numbers[2:]).all())
        assert comm.exchange({}, numbers) == {}
        return all_results(comm, (1, 1), "cuda")

    np.testing.assert_array_equal(*(simulate(1, each)[0] for each in (passed, all_results)))


def test_a_large_graph_has_the_bits_of_the_cpu(cuda):
    """Rows of more entries than a block has threads, and frontiers of more than a grid."""
    A = lf.matrices.rmat(13, device="cpu")

    def found(comm, own):
        graph = grid2d.Graph2D.from_matrix(scatter(own.csr(A), comm), grid2d.Grid(comm, (2, 2)))
        return own.host(
            graph.xp.column_stack(
                [
                    *grid2d.bfs(graph, 7),
                    grid2d.connected_components(graph)[1],
                    grid2d.label_propagation(graph),
                    grid2d.matching(graph),
                    grid2d.pagerank(graph).view(np.int64),
                ]
            )
        )

    from conftest import CPU

    np.testing.assert_array_equal(*(np.concatenate(simulate(4, found, own)) for own in (cuda, CPU)))
