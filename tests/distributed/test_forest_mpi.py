"""Forests over ranks of MPI: the answers of one rank."""

from pathlib import Path

import pytest

FORESTS = """
    import sys
    import numpy as np
    sys.path.insert(0, sys.argv[1])
    import strategies as graphs
    import linforest_precond as lf
    from linforest_precond import distributed

    comm = distributed.communicator_of()

    def same(part, whole):
        return np.array_equal(np.concatenate(comm.allgather(part)), whole)

    matrices = [
        lf.matrices.aniso(2, 20),
        graphs.union_of_cycles([30, 40, 7, 100], "ties"),
        graphs.random_graph(100, symmetric=False),
    ]
    for A in matrices:
        own = distributed.scatter(A, comm)
        assert same(distributed.factor(own, 3).neighbors, lf.graph.factor(A, 3).neighbors)
        for forest, (one, bands) in [
            (distributed.linear_forest(own), lf.pipeline.tridiagonal_bands(A)),
            (distributed.block_forest(own), lf.pipeline.block_tridiagonal_bands(A)),
        ]:
            assert same(forest.order.vertices, one.order)
            assert forest.coverage == one.coverage
            assert same(distributed.bands(own, forest).lower, bands.lower)
    if comm.rank == 0:
        print("all ranks agree", flush=True)
"""


@pytest.mark.slow
@pytest.mark.parametrize("ranks", [1, 2, 3, 4])
def test_ranks_of_mpi_have_the_forests_of_one_rank(mpiexec, ranks):
    done = mpiexec(ranks, FORESTS, Path(__file__).parents[1], timeout=300)
    assert done.code == 0 and "all ranks agree" in done.output, done.output
