"""Advice on the preconditioner, the solver and the order for a matrix: by properties, or by trial solves."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from linforest_precond import solvers
from linforest_precond.app.commands.properties import Properties
from linforest_precond.backends import backend_named
from linforest_precond.backends.annotations import SparseMatrix
from linforest_precond.backends.array_libraries import xp_of
from linforest_precond.chooser.trials import method_for
from linforest_precond.graph.reordering.permute import permute
from linforest_precond.graph.reordering.vertex_orders import order
from linforest_precond.records.printing import one_line
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


# Differences in coverage below this are not mentioned: forest to original order, blocks to single rows.
NOTABLE = 0.05
NEARLY_ALL = 0.99
LITTLE = 0.3


def advice(found: Properties, measured: dict[str, dict[str, Any]], name: str = "A") -> list[str]:
    """One sentence on the preconditioner, one on the solver, from the table's rows of ``linforest info``.

    Coverage alone is no reason to take a preconditioner: it says how much of the weight is inverted exactly,
    not how many iterations the rest takes. Trials do.
    """
    if not found.square:
        return ["The matrix is not square: preconditioners and solvers need square matrices."]
    if not found.rows:
        return ["The matrix has no rows: there is nothing to solve."]
    if measured and all(row.get("trial") for row in measured.values()):
        return [verdict(measured), _solver(found)]
    return [_preconditioner(found, measured, name), _solver(found)]


def _preconditioner(found: Properties, measured: dict[str, dict[str, Any]], name: str) -> str:
    if found.entries == found.rows - found.zero_diagonal:
        return "The matrix is diagonal: with jacobi one iteration suffices."
    facts = _coverages({key: row["coverage"] for key, row in measured.items()})
    trials = f"Coverage does not tell the iterations: linforest info {one_line(name)} --try compares them."
    return f"{facts} {trials}" if facts else trials


def _coverages(coverage: dict[str, float]) -> str:
    """A sentence on the coverages; empty where they are not known."""
    names = ("tridiagonal_original", "tridiagonal", "block_tridiagonal")
    if not coverage.keys() >= set(names):
        return ""
    original, forest, block = (coverage[name] for name in names)
    if original >= NEARLY_ALL:
        return f"The matrix is (nearly) tridiagonal ({original:.0%} of the weight): use tridiagonal_original."
    if block < LITTLE:
        return (
            f"The coverage of a linear forest is small ({forest:.0%}; with blocks {block:.0%}): do not "
            "expect much fewer iterations than with jacobi from tridiagonal parts."
        )
    if forest < original + NOTABLE:
        covered = f"The tridiagonal part in the original order already covers {original:.0%} of the weight"
        sentence = f"{covered}, about as much as a linear forest"
    else:
        sentence = f"The linear forest covers {forest:.0%} of the weight, the original order {original:.0%}"
    if block >= max(forest, original) + NOTABLE:
        return sentence + f", and 2 x 2 blocks cover {block:.0%}."
    return sentence + "."


def _solver(found: Properties) -> str:
    if found.fits_cg and found.dominant_rows == found.rows:
        return "Use cg: the matrix is symmetric and diagonally dominant, with a positive diagonal."
    if found.fits_cg:
        return (
            "Use cg: the matrix is symmetric with a positive diagonal; "
            "use bicgstab if it is not positive definite."
        )
    if found.hermitian:
        return "The matrix is symmetric but not positive definite: use bicgstab, as cg may break down."
    if found.zero_diagonal:
        return f"Use bicgstab; {found.zero_diagonal:,} zeros on the diagonal are hard for all these methods."
    return "Use bicgstab: the matrix is not symmetric."


CANDIDATES = "rcm", "matching", "degree"
# An order is good with fewer misses than GOOD for each cache line of x.
GOOD = 2.0
# An order pays with at most this share of the misses of A's own order.
PAYING = 0.7


def gather_misses(A: Any) -> dict[str, float]:
    """The modelled misses per stored entry in A's own order ("natural") and, if these are many, in others.

    A is a csr_array on the host. The gap metrics would not do: they are twice as large for a grid by rows as
    in Cuthill-McKee order, and both have the fewest misses that are possible.
    """
    entries = max(A.nnz, 1)
    model = backend_named("cpu").reordering.cache_model
    misses = {"natural": model.missed_gathers(A.indices) / entries}
    if misses["natural"] * entries > GOOD * A.shape[0] / model.PER_LINE:
        misses |= {
            name: model.missed_gathers(permute(A, order(A, name)).indices) / entries for name in CANDIDATES
        }
    return misses


def order_advice(misses: dict[str, float]) -> str:
    """A sentence on the order that would pay."""
    best = min(misses, key=lambda name: misses[name])
    own = f"gathers from x in A @ x miss a cache of 1 MiB in {misses['natural']:.1%} of all cases (modelled)"
    if len(misses) == 1:
        return f"The rows are in a good order for the cache: {own}."
    if misses[best] > PAYING * misses["natural"]:
        return f"No ordering would pay: {own}, and hardly less often in any other order."
    return f'Permute it by lf.permute(A, lf.graph.order(A, "{best}")): {own}, then in {misses[best]:.1%}.'
