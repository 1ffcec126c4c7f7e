"""Arrays of A that a callback or another thread changes: undefined numbers, no crash and no endless loop."""

import os
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from broken_matrices import DOORS

import linforest_precond as lf

HERE = Path(__file__).resolve().parent


def run(seconds, *names):
    """The program in a process of its own: a crash is then one failed test."""
    root = HERE.parents[1]
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(root), str(HERE)]),
        "MALLOC_PERTURB_": "85",  # glibc: what is read before it is written is no plausible index
    }
    command = [sys.executable, str(HERE / "changing_arrays.py"), str(seconds), *names]
    ended = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)
    assert ended.returncode == 0, ended.stderr[-2000:]
    assert ended.stdout.count("calls") == len(names)


def test_setups_beside_a_thread_that_changes_the_matrix():
    run(0.2, "tridiagonal", "linear_forest", "connected_components", "cg")


@pytest.mark.slow
@pytest.mark.parametrize("door", DOORS)
def test_every_door_beside_a_thread_that_changes_the_matrix(door):
    run(3, door)


@pytest.mark.parametrize("solver", ["cg", "bicgstab", "fcg"])
@pytest.mark.parametrize("columns", [1, 3])
def test_a_callback_that_changes_the_matrix(backend, solver, columns):
    matrix = lf.matrices.poisson((30, 30))
    shifted = sp.csr_array(matrix + 8 * sp.eye_array(900))
    A, M = backend.csr(matrix.copy()), backend.csr(shifted.copy())
    b = backend.array(np.random.default_rng(0).random((900, columns)))
    calls = []

    def scramble(_):
        calls.append(None)
        rng = np.random.default_rng(len(calls))
        for changed in (A, M):
            for array in (changed.indices, changed.indptr):
                array[...] = backend.array(rng.integers(-(2**31), 2**31 - 1, array.size).astype(array.dtype))

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # undefined numbers on the GPU
        x, _ = getattr(lf.solvers, solver)(A, b, M=M, callback=scramble, maxiter=40)
    assert calls and x.size == b.size
    assert int(backend.xp.ones(3).sum()) == 3  # an illegal address would have ended the GPU's context
    if backend.name == "cpu":  # indices are copies there
        y, _ = getattr(lf.solvers, solver)(matrix, b, M=shifted, maxiter=40)
        np.testing.assert_array_equal(x, y)


def test_a_callback_that_changes_the_matrix_of_a_hierarchy(backend):
    A = backend.csr(lf.matrices.poisson((30, 30)))
    ml = lf.multilevel(A, max_coarse=50)
    A.indices[...] = 2**30
    A.indptr[...] = -5
    M = ml.aspreconditioner()
    assert np.isfinite(backend.host(M @ backend.array(np.ones(900)))).all()
    assert np.isfinite(backend.host(ml.solve(backend.array(np.ones(900)), maxiter=3))).all()
