"""Advice on the preconditioner, the solver and the order for a matrix, from its measured properties."""

from __future__ import annotations

from typing import Any

from linforest_precond.app.commands.properties import Properties
from linforest_precond.app.commands.trials import verdict
from linforest_precond.backends import backend_named
from linforest_precond.graph.reordering.permute import permute
from linforest_precond.graph.reordering.vertex_orders import order
from linforest_precond.records.printing import one_line

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
