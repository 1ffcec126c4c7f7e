"""Convergence of BiCGStab with each preconditioner: figure 4 of the paper."""

from __future__ import annotations

import functools
import importlib
import math
import statistics
import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, cast

import numpy as np

from linforest_precond.backends import backend_named
from linforest_precond.backends.annotations import Array, Repair, SparseMatrix
from linforest_precond.backends.array_libraries import device_name, xp_of
from linforest_precond.graph.reordering.permute import ordering_of, permute
from linforest_precond.precond.approximate_inverse.approximate_inverse import approximate_inverse
from linforest_precond.precond.ilu.incomplete_lu import ilu
from linforest_precond.precond.multigrid.multilevel import multilevel
from linforest_precond.precond.relaxation.jacobi import jacobi
from linforest_precond.precond.tridiagonal.tridiagonal import block_tridiagonal, tridiagonal
from linforest_precond.solvers import History, Status, bicgstab
from linforest_precond.solvers.residual_bands import extremes
from linforest_precond.study import timing
from linforest_precond.study.forests.coverage import BLOCK_PERIODS, ITERATIONS
from linforest_precond.study.results import JsonObject

SETUP_REPEATS = 3
MOST_RECORDS = 600
# Preconditioners that no seed changes: their operators are kept for all permutations.
SEEDLESS = ("Jacobi", "TriScal", "Approximate inverse")


def _cycle(A: Any, cycle: str = "V", **options: Any) -> Any:
    """One cycle, which is linear, as BiCGStab needs it: not K."""
    return multilevel(A, **options).aspreconditioner(cycle)


# Further preconditioners, by the names of their functions: the name in the report, and the constructor.
FURTHER: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "multilevel": ("Multilevel", _cycle),
    "ilu": ("ILU(0)", ilu),
    "approximate_inverse": ("Approximate inverse", approximate_inverse),
}


def preconditioners(
    charge: str,
    ties: str,
    repair: str,
    further: Sequence[str] = (),
    multigrid: Mapping[str, str] | None = None,
) -> dict[str, Callable[..., Any]]:
    """The preconditioners of figure 4 as the paper configures them, then ours ("+"), then `further` ones."""
    paper: JsonObject = {"iterations": ITERATIONS, "charge": charge, "ties": ties, "repair": repair}
    return {
        "Jacobi": jacobi,
        "TriScal": partial(tridiagonal, ordering="original", repair=cast(Repair, repair)),
        "AlgTriScal": partial(tridiagonal, **paper),
        **{f"AlgTriBlock m = {m}": partial(block_tridiagonal, m=m, **paper) for m in BLOCK_PERIODS},
        "AlgTriScal+": tridiagonal,
        "AlgTriBlock+": block_tridiagonal,
        **dict(_further(name, multigrid or {}) for name in further),
    }


def _further(name: str, multigrid: Mapping[str, str]) -> tuple[str, Callable[[Any], Any]]:
    """A preconditioner's name in the report, and its constructor."""
    title, make = FURTHER[name]
    return title, partial(make, **multigrid) if make is _cycle else make


def convergence(
    A: SparseMatrix,
    *,
    rtol: float = 1e-10,
    maxiter: int = 2000,
    permutations: int = 0,
    charge: str = "md5",
    ties: str = "index",
    repair: str = "none",
    further: Sequence[str] = (),
    multigrid: Mapping[str, str] | None = None,
) -> JsonObject:
    """Solve A x = b by BiCGStab with each preconditioner, for the solution x_t[i] = sin(16 π i / N).

    Times of solves include the recording of residuals and errors; setups are timed after one that compiles.
    BiCGStab's iteration count is sensitive to rounding, and forests depend on the seed of the charges.
    Therefore `permutations` symmetrically permuted systems are solved too, each with preconditioners of a
    seed of its own, which are permuted as A is. ``permuted_iterations`` has their counts, infinite where a
    solve did not converge, and ``median_iterations`` the median; both are None where A's own system did not
    converge.

    By default tridiagonal parts are not repaired, as in the paper: a solve that breaks down is a result.
    `further` names some of "multilevel", "ilu" and "approximate_inverse"; `multigrid` has options of the
    first.
    """
    makers = preconditioners(charge, ties, repair, further, multigrid)
    system = System(A, rtol, maxiter)
    runs = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # the status says the same
        for name, make in makers.items():
            seconds, M = timing.median_time(partial(make, A), SETUP_REPEATS, system.device)
            runs.append({"precond": name, "setup_seconds": seconds, **system.solve(M)})
            del M
        converged = {run["precond"] for run in runs if run["info"] == 0}
        kept = {name: make for name, make in makers.items() if name in converged}
        counts = permuted_iterations(system, kept, permutations)
    for run in runs:
        found = counts.get(run["precond"])
        run |= {
            "permuted_iterations": found,
            "median_iterations": statistics.median(found) if found else None,
        }
    options = {"charge": charge, "ties": ties, "repair": repair}
    return {"rtol": rtol, "maxiter": maxiter, "permutations": permutations, **options, "runs": runs}


class System:
    """A linear system with the paper's solution."""

    def __init__(self, A: SparseMatrix, rtol: float, maxiter: int):
        self.device, self.xp = device_name(A), xp_of(A)
        self.A = A
        self.options: JsonObject = {"rtol": rtol, "maxiter": maxiter}
        self.x_true = smooth_solution(A.shape[0], self.xp)
        self.b = A @ self.x_true

    def solve(self, M: Any) -> JsonObject:
        """A solve with its recorded history, after a short one that compiles."""
        history = History(x_true=self.x_true)
        bicgstab(self.A, self.b, M=M, rtol=self.options["rtol"], maxiter=1, history=history)
        call = partial(bicgstab, self.A, self.b, M=M, **self.options, history=history)
        seconds, (x, info) = timing.time_of(call, self.device)
        return {
            "status": cast(Status, history.status).name,
            "info": int(info),
            "iterations": float(history.iterations[-1]),
            "solve_seconds": seconds,
            "residual": self._relative_norm(self.b - self.A @ x, self.b),
            "error": self._relative_norm(x - self.x_true, self.x_true),
            "coverage": None if M.kind in FURTHER else float(M.coverage),
            "history": thinned(history),
        }

    def _relative_norm(self, vector: Array, reference: Array) -> float:
        norm = float(self.xp.linalg.norm(reference))
        return float(self.xp.linalg.norm(vector)) / (norm or 1.0)


def smooth_solution(rows: int, xp: Any = np) -> Any:
    """The paper's solution x_t[i] = sin(16 π i / N)."""
    return xp.sin(16 * math.pi * xp.arange(rows) / max(rows, 1))


def thinned(history: History, most: int = MOST_RECORDS) -> JsonObject:
    """At most `most` points of a history, the first and the last included."""
    steps = history.iterations
    kept = np.arange(steps.size) if steps.size <= most else extremes(history.residuals, most // 2 - 1)
    curves: JsonObject = {"iterations": steps, "residuals": history.residuals, "errors": history.errors}
    return {name: values[kept].tolist() for name, values in curves.items()}


def permuted_iterations(
    system: System, makers: Mapping[str, Callable[..., Any]], permutations: int
) -> dict[str, list[float]]:
    """Iterations with each preconditioner on permuted systems, permutation and forests of the same seed."""
    counts: dict[str, list[float]] = {name: [] for name in makers if permutations}
    fixed = {name: makers[name](system.A) for name in counts if name in SEEDLESS}
    for seed in range(permutations):
        permutation = Permutation(system.A, seed)
        A, b = permutation.matrix(system.A), permutation.vector(system.b)
        for name in counts:
            M = fixed[name] if name in fixed else makers[name](system.A, seed=seed)
            counts[name].append(_iterations(A, b, permutation.operator(M), system.options))
    return counts


def _iterations(A: SparseMatrix, b: Array, M: Any, options: JsonObject) -> float:
    history = History()
    bicgstab(A, b, M=M, **options, history=history)
    return float(history.iterations[-1]) if history.status is Status.CONVERGED else math.inf


# Rows are shuffled within chunks of this size, whose vectors fit into a cache.
ROWS_TOGETHER = 2048


class Permutation:
    """A random permutation of a system's rows; the same for a seed on every device."""

    def __init__(self, A: SparseMatrix, seed: int):
        ordering = ordering_of(xp_of(A).asarray(shuffled(A.shape[0], seed)))
        self.order, self.rank = ordering.order, ordering.rank

    def vector(self, v: Array) -> Array:
        """The vector with its entries in the new order."""
        return v[self.order]

    def matrix(self, A: SparseMatrix) -> Any:
        """The matrix with rows and columns in the new order."""
        return permute(A, self.order)

    def operator(self, M: Any) -> Any:
        """M applied in the new order."""
        return _permuted_class(device_name(M))(self, M)


def shuffled(rows: int, seed: int) -> Array:
    """Rows shuffled within chunks: no row moves far, so that SpMV keeps its locality."""
    random = np.random.default_rng(seed)
    return np.argsort(np.arange(rows) // ROWS_TOGETHER + random.random(rows), kind="stable")


@functools.cache
def _permuted_class(backend: str) -> Any:
    library: Any = importlib.import_module(backend_named(backend).linear_operators)

    class Permuted(library.LinearOperator):  # type: ignore[name-defined, misc, unused-ignore]
        def __init__(self, permutation: Permutation, M: Any):
            super().__init__(M.dtype, M.shape)
            self.permutation, self.M = permutation, M

        def _matvec(self, r: Array) -> Any:
            return (self.M @ r[self.permutation.rank])[self.permutation.order]

        _matmat = _matvec

    return Permuted
