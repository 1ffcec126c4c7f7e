"""A program for ranks of MPI: ``mpiexec -n 4 python grid2d_ranks.py FILE`` writes what all ranks find."""

import sys

import numpy as np

import linforest_precond as lf
from linforest_precond.distributed import communicator_of, grid2d, scatter


def results(graph, parents):
    """Of the own vertices: a column for each function."""
    own = slice(*graph.offsets[graph.grid.comm.rank :][:2])
    return np.column_stack(
        [
            *grid2d.bfs(graph, 3),
            *(grid2d.bfs(graph, 3, exchange=exchange)[1] for exchange in ("dense", "sparse")),
            grid2d.connected_components(graph)[1],
            grid2d.connected_components(graph, direction="pull", exchange="sparse")[1],
            grid2d.label_propagation(graph),
            grid2d.matching(graph),
            grid2d.pointer_jumping(graph, parents[own]),
            grid2d.pagerank(graph).view(np.int64),
        ]
    )


def case():
    """A graph and a forest."""
    A = lf.matrices.rmat(7)
    return A, np.maximum(np.arange(A.shape[0]) - 1, 0)


def main():
    comm = communicator_of()
    A, parents = case()
    shapes = [(rows, comm.size // rows) for rows in range(1, comm.size + 1) if comm.size % rows == 0]
    found = []
    for shape in shapes:
        graph = grid2d.Graph2D.from_matrix(scatter(A, comm), grid2d.Grid(comm, shape))
        found.append(comm.allgather_arrays(results(graph, parents)))
    if comm.rank == 0:
        np.save(sys.argv[1], np.array(found))


if __name__ == "__main__":
    main()
