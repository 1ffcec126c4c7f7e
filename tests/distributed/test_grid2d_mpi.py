"""Graphs on R x C ranks of MPI: the results of simulated ranks, bit for bit."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from conftest import skip_or_fail
from grid2d_ranks import case, results

from linforest_precond.distributed import grid2d, scatter, simulate

PROGRAM = Path(__file__).with_name("grid2d_ranks.py")
PATIENCE = 300  # seconds, compilation included


def mpiexec():
    beside = Path(sys.executable).with_name("mpiexec")
    found = str(beside) if beside.exists() else shutil.which("mpiexec")
    try:
        import mpi4py  # noqa: F401
    except ImportError:
        found = None
    return found or skip_or_fail("mpi", "there is no mpiexec, or no mpi4py")


@pytest.mark.slow
@pytest.mark.parametrize("size", [3, 4])
def test_ranks_of_mpi_give_the_results_of_simulated_ones(size, tmp_path):
    root = str(PROGRAM.parents[2])
    environment = {**os.environ, "PYTHONPATH": root, "NUMBA_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    command = [mpiexec(), "-n", str(size), sys.executable, str(PROGRAM), str(tmp_path / "found.npy")]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 0, done.stdout + done.stderr
    A, parents = case()

    def expected(comm):
        return results(grid2d.Graph2D.from_matrix(scatter(A, comm), grid2d.Grid(comm)), parents)

    found = np.load(tmp_path / "found.npy")
    assert len(found) == (2 if size == 3 else 3)
    for each in found:
        np.testing.assert_array_equal(each, np.concatenate(simulate(1, expected)))
