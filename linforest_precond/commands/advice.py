"""What to try with a matrix, in a sentence or two, from what was measured."""

from __future__ import annotations

from typing import Any

from linforest_precond.commands.properties import Properties

# The forest counts as no gain over the original order below this difference in coverage, and as a large one
# of blocks over single rows above it.
NOTABLE = 0.05
NEARLY_ALL = 0.99
LITTLE = 0.3


def advice(found: Properties, measured: dict[str, dict[str, Any]]) -> list[str]:
    """
    One sentence on the preconditioner, one on the solver.

    Parameters
    ----------
    found : Properties
    measured : dict
        The rows of the table of ``linforest info``, by the names of ``--precond``.

    Returns
    -------
    list of str
    """
    if not found.square:
        return ["It is not square: preconditioners and solvers take square matrices."]
    if not found.rows:
        return ["It has no rows: there is nothing to solve."]
    return [_preconditioner(found, {name: row["coverage"] for name, row in measured.items()}), _solver(found)]


def _preconditioner(found: Properties, coverage: dict[str, float]) -> str:
    original, forest, block = (coverage[name] for name in ("original", "tridiagonal", "block"))
    if found.entries == found.rows - found.zero_diagonal:
        return "It is diagonal: jacobi solves it at once."
    if original >= NEARLY_ALL:
        return f"It is tridiagonal, or nearly so ({original:.0%} of the weight): take original."
    if block < LITTLE:
        return (
            f"Little of its weight lies along paths ({forest:.0%}; blocks: {block:.0%}): none of these will "
            "do much better than jacobi."
        )
    if forest < original + NOTABLE:
        held = f"The original order already holds most of the weight that paths can hold ({original:.0%})"
        sentence = f"{held}: original will do"
    else:
        held = f"The forest holds {forest:.0%} of the weight, the original order {original:.0%}"
        sentence = f"{held}: take tridiagonal"
    if block >= max(forest, original) + NOTABLE:
        return sentence + f", or block, which holds {block:.0%} and takes longer to set up."
    return sentence + "."


def _solver(found: Properties) -> str:
    if found.fits_cg and found.dominant_rows == found.rows:
        return "Use cg: it is symmetric and diagonally dominant, with a positive diagonal."
    if found.fits_cg:
        return (
            "Use cg: it is symmetric with a positive diagonal; "
            "bicgstab if it turns out not to be positive definite."
        )
    if found.hermitian:
        return "It is symmetric but not positive definite: use bicgstab, as cg may break down."
    if found.zero_diagonal:
        return f"Use bicgstab; {found.zero_diagonal:,} zeros on the diagonal make it hard for all of these."
    return "Use bicgstab: it is not symmetric."
