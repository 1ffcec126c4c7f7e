"""What was changed in a matrix so that its preconditioner can be applied, as values and in words."""

from __future__ import annotations

from typing import TypeAlias

# What was repaired, by name, and how often or how far; empty where nothing was.
Repairs: TypeAlias = dict[str, float]

# In words, which may contain further numbers; names without words are told by those of another.
WORDS = {
    "made_definite": "off-diagonal entries clipped to make it positive definite",
    "couplings_clipped": "{couplings_clipped:,} couplings of {paths_clipped:,} paths with weak pivots "
    "clipped",
    "diagonal_shift": "diagonal shifted by {diagonal_shift:g} times its rows' norms, after {breakdowns} "
    "breakdowns",
    "shifts_failed": "no Cholesky factors with any of {shifts_failed} shifts",
    "pivots_perturbed": "{pivots_perturbed:,} pivots perturbed",
    "rows_regularized": "{rows_regularized:,} rows regularized",
    "rows_not_definite": "{rows_not_definite:,} rows left out entries, as A is not definite",
    "rows_dependent": "{rows_dependent:,} rows left out dependent entries",
    "rows_of_identity": "{rows_of_identity:,} rows are those of the identity",
}


def happened(**counts: float) -> Repairs:
    """The repairs that were made, without those that were not needed."""
    return {name: count for name, count in counts.items() if count}


def in_words(repairs: Repairs, positive_definite: bool) -> str:
    """The repairs in one line, and whether the preconditioner is for CG."""
    found = [WORDS[name].format_map(repairs) for name in WORDS if name in repairs]
    if not positive_definite:
        found.append("not known to be positive definite: not for CG")
    return "; ".join(found) or "none"
