"""`Part` is the implementation of a kind of preconditioner; an operator holds it in an `OperatorState`."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple, Protocol, TypeAlias, runtime_checkable

from linforest_precond.backends import Backend
from linforest_precond.backends.annotations import Array, DType, MatrixLike
from linforest_precond.backends.returns import BandSlots
from linforest_precond.matrix.checked import CheckedMatrix
from linforest_precond.matrix.pattern_digest import PatternDigest
from linforest_precond.records.forest import Bands, BlockForest, Forest, Ordering

# The repairs of a matrix, by name: how many, or how large; empty where none was needed.
Repairs: TypeAlias = dict[str, float]

# Text for print, with counts as placeholders; names without a text are placeholders in others.
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


class Part(Protocol):
    """The implementation of a kind of preconditioner; frozen, so that an update replaces it as a whole.

    `name` is that in the literature, for print; `stored` the type of the stored numbers; `coverage` the share
    of A's off-diagonal weight that is used. `forest`, `ordering` and `bands` are None where the kind has
    none.
    """

    @property
    def kind(self) -> str: ...
    @property
    def name(self) -> str: ...
    @property
    def n(self) -> int: ...
    @property
    def stored(self) -> DType: ...
    @property
    def forest(self) -> Forest | BlockForest | None: ...
    @property
    def ordering(self) -> Ordering | None: ...
    @property
    def bands(self) -> Bands | None: ...
    @property
    def coverage(self) -> float: ...
    @property
    def repairs(self) -> Repairs: ...
    @property
    def positive_definite(self) -> bool: ...
    @property
    def nbytes(self) -> int: ...

    def solve_into(self, b: Array, x: Array, transpose: bool) -> None:
        """Apply to the columns of b; both are of type `stored` or its double precision, and not checked."""

    def refreshed(self, csr: CheckedMatrix) -> Part:
        """The part of another matrix of the same pattern."""

    def state(self) -> dict[str, Any]:
        """The fields of the kind's schema, of types that `storage.operator_state` can pack."""

    def details(self) -> list[tuple[str, str]]:
        """Names and values for print."""


@runtime_checkable
class RefreshedInPlace(Protocol):
    """A part that can take new values from the user's own arrays, unchecked, where the slots are known."""

    def slots_in(self, csr: CheckedMatrix) -> BandSlots | None:
        """The slots of the part's entries in a matrix of the part's pattern; None where it has none."""

    def refreshed_in_place(self, A: MatrixLike, pattern: PatternDigest, slots: BandSlots) -> Part | None:
        """The part with the values of A; None where A must be checked first."""


@runtime_checkable
class OnPermutedVectors(Protocol):
    """A part whose rows are those of A in an order, and which can take vectors in that order."""

    def on_permuted_vectors(self) -> Part | None:
        """The part on permuted vectors; None where it has ghost rows, or is on permuted vectors already."""


def happened(**counts: float) -> Repairs:
    """The repairs that were made, without those that were not needed."""
    return {name: count for name, count in counts.items() if count}


def in_words(repairs: Repairs, positive_definite: bool) -> str:
    """The repairs in one line, and whether the preconditioner is for CG."""
    found = [WORDS[name].format_map(repairs) for name in WORDS if name in repairs]
    if not positive_definite:
        found.append("not known to be positive definite: not for CG")
    return "; ".join(found) or "none"


def coverage_in_words(part: Any) -> str:
    """The coverage for print, with that of the sub- and superdiagonal in A's own order."""
    return (
        f"{part.coverage:.4f} of the off-diagonal weight ({part.identity_coverage:.4f} next to A's diagonal)"
    )


class SetupTime:
    """The time of a setup, read from a stopwatch on demand, and whether it includes compilation."""

    def __init__(self, read: Callable[[], float], first: bool = False):
        self._read = read
        self.first = first

    @functools.cached_property
    def milliseconds(self) -> float:
        return float(self._read())

    def __str__(self) -> str:
        return f"{self.milliseconds:.3f} ms" + (" with compilation" if self.first else "")


class OperatorState(NamedTuple):
    """The state of a `Preconditioner`; the part is that of A 2**-exponent.

    `symmetry`, as `CheckedMatrix.rounding_in_words`, is for print alone and not stored. `systems` are the
    number of systems in a stack and the rows of each.
    """

    part: Part
    pattern: PatternDigest
    dtype: DType
    setup: SetupTime
    backend: Backend
    device: object
    exponent: int
    symmetry: str = ""
    systems: tuple[int, int] | None = None
