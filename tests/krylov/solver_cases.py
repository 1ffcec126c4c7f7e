"""Systems for the Krylov solvers, recording callbacks, and iteration counts of other libraries."""

import functools
import importlib
import math
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
import scipy.sparse.linalg
import strategies as graphs
from conftest import load_real
from operator_cases import LIBRARIES

import linforest_precond as lf
from linforest_precond.solvers import History, bicgstab, cg, fcg, fgmres, gmres, idrs, minres

# In a quick run, the battery of all solvers meets these only; test_basis_methods.py has tests of the others.
QUICK = {"cg": cg, "fcg": fcg, "bicgstab": bicgstab}
SOLVERS = {**QUICK, "minres": minres, "gmres": gmres, "fgmres": fgmres, "idrs": idrs}
DEFINITE = ("cg", "fcg")
SYMMETRIC = (*DEFINITE, "minres")
SLACK = 1 + 1e-6  # rounding of a test's own residual
each_solver = pytest.mark.parametrize("solver", graphs.quick(SOLVERS, len(QUICK)))
each_definite_solver = pytest.mark.parametrize("solver", DEFINITE)
GRIDS = {
    "aniso1": lambda: lf.matrices.aniso(1, 100),
    "aniso2": lambda: lf.matrices.aniso(2, 100),
    "poisson3d": lambda: lf.matrices.poisson((15, 15, 15)),
    "large aniso1": lambda: lf.matrices.aniso(1, 300),
    "large aniso2": lambda: lf.matrices.aniso(2, 300),
    "large poisson3d": lambda: lf.matrices.poisson((40, 40, 40)),
}
WIND = [[0, -1, 0], [-2, 5, -1], [0, -1, 0]]


def each_type(types):
    """All solvers with all types; those of a quick run first."""
    return graphs.crossed(QUICK, types) + [
        graphs.slow(solver, each) for solver in SOLVERS if solver not in QUICK for each in types
    ]


def library(backend):
    """The sparse.linalg of the backend."""
    return importlib.import_module(LIBRARIES[backend.name])


def grid(solver, side=20):
    """A small grid for the solver: symmetric, or with convection."""
    return lf.matrices.aniso(2, side) if solver in SYMMETRIC else lf.matrices.stencil((side, side), WIND)


@functools.cache
def matrix(name):
    """A grid or a real matrix."""
    return GRIDS[name]() if name in GRIDS else load_real(name)


def noise(*shape, dtype=np.float64, seed=0):
    rng = np.random.default_rng(seed)
    values = rng.standard_normal(shape)
    return (values + 1j * rng.standard_normal(shape) if np.dtype(dtype).kind == "c" else values).astype(dtype)


def true_residuals(backend, A, b, x):
    """The relative norms of b - A x, in double precision."""
    b, x = backend.host(b), backend.host(x)
    wide = np.result_type(A.dtype, b.dtype, x.dtype, np.float64)
    b, x = b.astype(wide), x.astype(wide)
    return np.linalg.norm(b - A.astype(wide) @ x, axis=0) / np.linalg.norm(b, axis=0)


def iterations_of(history, column=None):
    """How many iterations a recorded run made; a half step at the end counts as one."""
    residuals = history.residuals if column is None else history.residuals[:, column]
    return math.ceil(history.iterations[~np.isnan(residuals)][-1])


def systems(name, numberings):
    """A x = b with the convergence study's x, in the matrix's own order and in random permutations."""
    A = matrix(name)
    n = A.shape[0]
    x = np.sin(16 * np.pi * np.arange(n) / n)
    for seed in range(numberings):
        rows = np.random.default_rng(seed).permutation(n) if seed else np.arange(n)
        B = sp.csr_array(A[rows][:, rows])
        yield B, B @ x[rows]


def our_counts(backend, solver, name, numberings, kind=None, maxiter=5000):
    """Iterations of ours until the recursive residual meets 1e-8, where others stop, and the infos.

    There is no callback: on the GPU this is the path with CUDA graphs.
    """
    found = []
    for A, b in systems(name, numberings):
        B, history = backend.csr(A), History()
        M = None if kind is None else kind(B)
        _, info = SOLVERS[solver](B, backend.array(b), rtol=1e-8, M=M, maxiter=maxiter, history=history)
        first = math.ceil(history.replacements[0][0]) if history.replacements else iterations_of(history)
        found.append((first, info))
    return found


@functools.cache
def scipy_counts(solver, name, numberings, kind=None, maxiter=5000):
    """SciPy's iterations and infos on the same systems."""
    solve = getattr(scipy.sparse.linalg, solver)
    return [other_count(solve, A, b, kind, maxiter) for A, b in systems(name, numberings)]


def other_count(solve, A, b, kind=None, maxiter=5000):
    """Iterations of another library's solver, and its info."""
    count = 0

    def step(_):
        nonlocal count
        count += 1

    M = None if kind is None else kind(A)
    _, info = solve(A, b, rtol=1e-8, M=M, maxiter=maxiter, callback=step)
    return count, info


class Watch:
    """A callback that copies all its arguments."""

    def __init__(self, backend):
        self.backend, self.seen = backend, []

    def __call__(self, x):
        assert isinstance(x, self.backend.xp.ndarray)
        self.seen.append(self.backend.host(x).copy())


def users_operator(backend, n, function, dtype=np.float64):
    """A user's LinearOperator, and the shapes that it was called with."""
    shapes = []

    def apply(x):
        assert isinstance(x, backend.xp.ndarray)
        shapes.append(x.shape)
        return function(x)

    return library(backend).LinearOperator((n, n), matvec=apply, matmat=apply, dtype=dtype), shapes


def recorded(solve, *arguments, **options):
    """x, info and the warnings of a call."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        x, info = solve(*arguments, **options)
    return x, info, told
