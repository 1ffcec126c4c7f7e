"""Trial solves of ``linforest info --try``: which preconditioner solves a system the fastest."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from linforest_precond import solvers
from linforest_precond.backends.annotations import SparseMatrix
from linforest_precond.backends.array_libraries import xp_of
from linforest_precond.chooser.trials import method_for
from linforest_precond.solvers import History, Status

# The tolerance of a trial, and its most iterations.
TOLERANCE, MOST_ITERATIONS = 1e-8, 500
# Times within this factor are a tie: repeated solves differ by as much.
NOISE = 1.1


def trial(A: SparseMatrix, M: Any, solver: str, verbose: bool = False) -> dict[str, Any]:
    """A short solve for b = A times a random vector: its numbers, by bicgstab where cg finds A indefinite."""
    random = np.random.default_rng(0).standard_normal(A.shape[0])
    b = A @ xp_of(A).asarray(random.astype(A.dtype))
    name, history = method_for(M, solver), History()
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", r"\w+ stopped after", RuntimeWarning)
        method = getattr(solvers, name)
        method(A, b, M=M, rtol=TOLERANCE, maxiter=MOST_ITERATIONS, history=history, verbose=verbose)
    if history.status is Status.INDEFINITE and solver == "cg":
        return trial(A, M, "bicgstab", verbose)
    iterations = int(np.ceil(history.iterations[-1]))
    pace = history.seconds_per_iteration
    return {
        "solver": name,
        "iterations": iterations,
        "residual": history.true_residuals[-1][2],
        "converged": history.status is Status.CONVERGED,
        "solve_milliseconds": 1e3 * (history.times[-1] if pace is None else pace * iterations),
    }


def fastest(rows: dict[str, dict[str, Any]]) -> list[str]:
    """The fastest trials by time of setup and solve, ties included; none where none converged."""
    times = {
        name: row["setup_milliseconds"] + row["trial"]["solve_milliseconds"]
        for name, row in rows.items()
        if row["trial"]["converged"]
    }
    ranked = sorted(times, key=lambda name: times[name])
    return [name for name in ranked if times[name] <= NOISE * times[ranked[0]]]


def verdict(rows: dict[str, dict[str, Any]]) -> str:
    """A sentence on the outcome of all trials."""
    first = fastest(rows)
    if not first:
        closest = min(rows, key=lambda name: np.nan_to_num(rows[name]["trial"]["residual"], nan=np.inf))
        return (
            f"No trial reached a relative residual of {TOLERANCE:g} within {MOST_ITERATIONS} iterations; "
            f"{closest} came closest, to {rows[closest]['trial']['residual']:.1e}. linforest solve tries "
            "more candidates, for longer."
        )
    best, *ties = first
    row, found = rows[best], rows[best]["trial"]
    total = row["setup_milliseconds"] + found["solve_milliseconds"]
    outcome = f"ties with {' and '.join(ties)}, up to noise" if ties else "wins"
    plural = "s" * (found["iterations"] != 1)
    sentence = (
        f"Trial solves: {best} with {found['solver']} {outcome}, {found['iterations']} iteration{plural} and "
        f"{total:.3g} ms with setup."
    )
    counts = {name: row["trial"]["iterations"] for name, row in rows.items() if row["trial"]["converged"]}
    fewest = min(counts, key=lambda name: counts[name])
    if counts[fewest] < found["iterations"]:
        sentence += f" {fewest} has the fewest iterations, {counts[fewest]}: for several b its setup may pay."
    return sentence
