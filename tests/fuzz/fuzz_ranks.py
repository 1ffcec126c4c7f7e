"""Solvers over simulated ranks: info and x keep their promises, and do not depend on the partition.

Promise: info 0 means that b - A x itself meets the tolerance, x is finite and no worse than its start, a zero
row is found before any iteration. For every partition, ranks without rows too, x and info are the same.

A file of the corpus holds one case: a line with its class, and one with its seed.
"""

from __future__ import annotations

import warnings
from pathlib import Path

import harness
import numpy as np
import scipy.sparse as sp
from fuzz_numbers import random_matrix, start_residual, true_residual, vector
from fuzz_residuals import checked_columns

from linforest_precond import distributed
from linforest_precond.solvers import Status

CLASSES = {"solvers over ranks": (10, 5_000)}
LIMIT_SECONDS = 120.0
SOLVERS = "cg", "fcg", "bicgstab", "minres", "gmres", "fgmres"
TYPES = np.float64, np.float64, np.float32, np.complex128, np.complex64


def prepare(folder: Path) -> None:
    """Compile what the cases need. Several threads cannot catch warnings, so that none is shown."""
    warnings.simplefilter("ignore")
    for dtype in TYPES[1:]:
        for method in SOLVERS:
            A = sp.eye_array(3, dtype=dtype, format="csr")
            solved(1, method, A, np.ones((3, 2), dtype), None, [0, 3], {})


def run_case(prepared: None, name: str, rng: np.random.Generator, folder: Path) -> str:
    dtype, method = np.dtype(TYPES[rng.integers(len(TYPES))]), str(rng.choice(SOLVERS))
    A = random_matrix(rng, dtype)
    if rng.random() < 0.3:  # products cancel
        rows = 10.0 ** rng.integers(-6, 7, A.shape[0])
        A = sp.csr_array(sp.diags_array(rows.astype(dtype)) @ A)
    n, k = A.shape[0], int(rng.integers(1, 4))
    b = vector(rng, n * k, dtype).reshape(n, k)
    x0 = None
    if rng.random() < 0.3:
        most = np.finfo(dtype).maxexp
        x0 = vector(rng, n * k, dtype, int(rng.choice([0, 20, most // 3, most]))).reshape(n, k)
    options = {"rtol": 10.0 ** -rng.uniform(2, 17), "maxiter": int(rng.choice([0, 3, 100, 100, 100]))}
    x, info, calls = solved(1, method, A, b, x0, [0, n], options)
    for _ in range(2):
        size = int(rng.integers(2, 6))
        offsets = [0, *sorted(rng.integers(0, n + 1, size - 1).tolist()), n]
        other, infos, _ = solved(size, method, A, b, x0, offsets, options)
        assert np.array_equal(infos, info), f"info {info}, on {size} ranks {infos}"
        assert np.array_equal(other, x), f"other bits on {size} ranks, rows {offsets}"
    contradicts = (b[abs(A).sum(axis=1) == 0] != 0).any(axis=0)
    assert ((info == Status.SINGULAR) >= contradicts).all(), f"info {info}, {contradicts}"
    assert not (contradicts.all() and calls), f"{calls} iterations"
    checked_columns(A.toarray(), b, x, info, options["rtol"])
    for c in np.flatnonzero(info).tolist():
        residual = true_residual(A, x[:, c], b[:, c])[0]
        before = start_residual(A, None if x0 is None else x0[:, c], b[:, c])
        assert residual <= 1.01 * before, f"info {info[c]}, residual {residual}, {before} at the start"
    return "converged" if not info.any() else "stopped"


def run_file(path: Path) -> str:
    name, seed = path.read_text().splitlines()[:2]
    return run_case(None, name, harness.generator("ranks", name, int(seed)), path.parent)


def solved(size, method, A, b, x0, offsets, options):
    """The joined x, the info that all ranks agree on, and the callbacks of rank 0."""
    calls = []

    def solve(comm):
        parts = distributed.scatter(A, comm, np.array(offsets))
        own = slice(offsets[comm.rank], offsets[comm.rank + 1])
        start, callback = None if x0 is None else x0[own], len if comm.rank else calls.append
        return getattr(distributed, method)(parts, b[own], start, callback=callback, **options)

    found = distributed.simulate(size, solve, timeout=60.0)
    infos = {str(np.atleast_1d(info)) for _, info in found}
    assert len(infos) == 1, infos
    x = np.concatenate([x.reshape(-1, b.shape[1]) for x, _ in found])
    return x, np.atleast_1d(found[0][1]), len(calls)
