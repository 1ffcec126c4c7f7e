"""Advice on the preconditioner and the solver for a matrix, from its measured properties."""

from __future__ import annotations

from typing import Any

from linforest_precond.app.commands.properties import Properties
from linforest_precond.app.commands.trials import verdict
from linforest_precond.records.printing import one_line

# A smaller difference in coverage, of forest to original order or of blocks to single rows, is not mentioned.
NOTABLE = 0.05
NEARLY_ALL = 0.99
LITTLE = 0.3


def advice(found: Properties, measured: dict[str, dict[str, Any]], name: str = "A") -> list[str]:
    """
    One sentence on the preconditioner, one on the solver.

    Coverage alone is no reason to take a preconditioner: it says how much of the weight is inverted exactly,
    not how many iterations the rest takes. Trials do.

    Parameters
    ----------
    found : Properties
    measured : dict
        The rows of the table of ``linforest info``, by the names of ``--precond``.
    name : str
        The matrix, as the user calls it.

    Returns
    -------
    list of str
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
    """What coverages tell, where they are known."""
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
