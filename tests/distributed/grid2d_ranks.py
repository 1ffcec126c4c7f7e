"""A program for ranks of MPI: ``mpiexec -n 4 python grid2d_ranks.py FILE`` writes what all ranks find.

With further arguments ``cuda 1 2 4 6`` the first 1, 2, 4 and 6 ranks do so, on the GPU.
"""

import sys

import numpy as np
from parallel_cases import random_matrix

import linforest_precond as lf
from linforest_precond.backends.array_libraries import on_host
from linforest_precond.distributed import communicator_of, grid2d, scatter
from linforest_precond.matrices.arrays import on_device

PATIENCE = 240  # seconds that ranks wait for those that compile kernels


def results(graph, parents):
    """Of the own vertices: a column for each function."""
    own = slice(*graph.offsets[graph.grid.comm.rank :][:2])
    found = [
        *grid2d.bfs(graph, 3),
        *(grid2d.bfs(graph, 3, exchange=exchange)[1] for exchange in ("dense", "sparse")),
        grid2d.bfs(graph, 3, directed=False)[1],
        grid2d.connected_components(graph)[1],
        grid2d.connected_components(graph, direction="pull", exchange="sparse")[1],
        grid2d.label_propagation(graph),
        grid2d.matching(graph),
        grid2d.pointer_jumping(graph, graph.xp.asarray(parents[own])),
        grid2d.pointer_jumping(graph),
        grid2d.pagerank(graph).view(np.int64),
    ]
    assert all(isinstance(each, graph.xp.ndarray) for each in found)
    return np.column_stack([on_host(each) for each in found])


def cases():
    """Graphs with forests: a symmetric one, and one with directions, and weights of many magnitudes."""
    directed = abs(random_matrix(60, 0.05, 5))
    directed.data *= 10.0 ** np.random.default_rng(5).integers(-9, 9, directed.nnz)
    return [(A, np.maximum(np.arange(A.shape[0]) - 1, 0)) for A in (lf.matrices.rmat(7), directed)]


def all_results(comm, shape=None, device="cpu"):
    """Of the own vertices of all cases."""
    found = []
    for A, parents in cases():
        graph = grid2d.Graph2D.from_matrix(scatter(on_device(A, device), comm), grid2d.Grid(comm, shape))
        found.append(comm.allgather_arrays(results(graph, parents)))
    return np.concatenate(found)


def shapes_of(size):
    """All grids of some ranks."""
    return [(rows, size // rows) for rows in range(1, size + 1) if size % rows == 0]


def main(file, device="cpu", *sizes):
    comm = communicator_of(timeout=PATIENCE)
    found = []
    for size in map(int, sizes) if sizes else [comm.size]:
        group = comm.split(int(comm.rank < size))
        if comm.rank < size:
            found += [all_results(group, shape, device) for shape in shapes_of(size)]
    if comm.rank == 0:
        np.save(file, np.array(found))


if __name__ == "__main__":
    main(*sys.argv[1:])
