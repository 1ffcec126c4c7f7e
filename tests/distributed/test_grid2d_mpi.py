"""Graphs on R x C ranks of MPI: the results of simulated ranks, bit for bit."""

from pathlib import Path

import numpy as np
import pytest
from grid2d_ranks import all_results, shapes_of

from linforest_precond.distributed import simulate

PROGRAM = Path(__file__).with_name("grid2d_ranks.py")
PATIENCE = 300  # seconds, compilation included


def check(mpiexec, tmp_path, size, *arguments, shapes):
    """Run the program on ranks of MPI, and compare the results of all grids with those of one rank."""
    start = f"import sys; sys.path.insert(0, {str(PROGRAM.parent)!r}); import grid2d_ranks as ranks\n"
    done = mpiexec(
        size,
        start + "ranks.main(*sys.argv[1:])",
        tmp_path / "found.npy",
        *arguments,
        timeout=PATIENCE,
    )
    assert done.code == 0, done.output
    (expected,) = simulate(1, all_results)
    found = np.load(tmp_path / "found.npy")
    assert len(found) == len(shapes)
    for shape, each in zip(shapes, found):
        np.testing.assert_array_equal(each, expected, err_msg=str(shape))


@pytest.mark.slow
@pytest.mark.parametrize("size", [3, 4])
def test_ranks_of_mpi_give_the_results_of_simulated_ones(mpiexec, size, tmp_path):
    check(mpiexec, tmp_path, size, shapes=shapes_of(size))


@pytest.mark.gpu
def test_ranks_of_mpi_that_share_a_gpu_give_the_results_of_the_cpu(cuda, mpiexec, tmp_path):
    """One rank passes arrays by NCCL where it is installed, the others through pinned host memory."""
    sizes = 1, 2, 4, 6
    shapes = [shape for size in sizes for shape in shapes_of(size)]
    check(mpiexec, tmp_path, 6, "cuda", *sizes, shapes=shapes)
