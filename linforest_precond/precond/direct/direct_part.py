"""`DirectPart` holds a matrix, its elimination order, and LU factors of SuperLU or cuDSS."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Annotated, Any

import numpy as np

from linforest_precond.backends import OnBackend, backend_named
from linforest_precond.backends.annotations import Array, DType
from linforest_precond.matrix.checked import CheckedMatrix
from linforest_precond.precond.direct.libraries import (
    factored,
    library_of,
    predicted_flops,
    refactored,
    singular,
)
from linforest_precond.precond.direct.orders import NAMES, OF_CUDSS, name_of, ordering_by
from linforest_precond.precond.direct.refinement import probed
from linforest_precond.precond.parts.number_types import held_bytes, stored_array
from linforest_precond.precond.parts.part import Repairs, happened, in_words
from linforest_precond.precond.storage import schema
from linforest_precond.precond.storage.record_schemas import MATRIX, ORDERING
from linforest_precond.records.forest import Ordering

# Factors are accurate if the backward error of a refined solution, for a random right-hand side, is at most
# this multiple of the unit roundoff. Halving or doubling it changes few decisions: refinement ends at a few
# rounding errors, or it diverges.
ACCURATE = 2**10
# The backward error of factors that were not tested by a solve.
UNKNOWN = 1.0


@dataclass(frozen=True, eq=False)
class DirectPart(OnBackend, schema.Stored):
    """LU factors of a matrix."""

    # in the stored type: files hold it, and factors are made anew from it
    csr: Annotated[CheckedMatrix, schema.nested(MATRIX, "n", "value")]
    order: Annotated[str, schema.one_of(*NAMES)]
    # None where the library finds it
    ordering: Annotated[Ordering | None, schema.optional(schema.nested(ORDERING, "n"))]
    pivoting: Annotated[str, schema.one_of("diagonal", "partial")]  # "diagonal" or "partial"
    automatic: bool  # an update may go from diagonal to partial pivoting
    factors: Any  # the backend's, of `direct.sparse_lu`
    flops: float  # of the factorization without row interchanges; 0 where unknown
    # backward error of a refined solution; None where it is infinite
    error: Annotated[float | None, schema.optional(schema.real(0.0))]

    kind = "direct"
    name = "sparse LU factorization"
    forest = bands = None
    coverage = 1.0

    @classmethod
    def of(
        cls,
        csr: CheckedMatrix,
        stored: DType,
        order: Any,
        pivoting: str,
        automatic: bool = False,
        flops: float | None = None,
        reason: str = "",
    ) -> DirectPart:
        """Factor a matrix in the order of a name, or a given one.

        With `flops`, they have been counted, and the caller verifies solutions: none is made here. With a
        reason, the host factors.
        """
        library = backend_named("cpu") if reason else library_of(csr, order, pivoting)
        name = name_of(order, pivoting, library)
        ordering = ordering_by(csr, name, order)
        is_verified_later = flops is not None
        if flops is None and ordering is not None and library.direct.sparse_lu.ON_HOST:
            flops = predicted_flops(csr, stored, ordering)
        kept = owned(csr, stored)
        factors = factored(kept, name, ordering, pivoting, math.inf if flops is None else flops, reason)
        error = UNKNOWN if is_verified_later else probed(kept, factors)
        return cls(kept, name, ordering, pivoting, automatic, factors, flops or factors.flops, error)

    @classmethod
    def from_state(cls, kind: str, n: int, error: float | None, **fields: Any) -> DirectPart:
        """Factored anew; in another order where this machine has another library."""
        csr, order, ordering, pivoting = (fields[name] for name in ("csr", "order", "ordering", "pivoting"))
        if order == OF_CUDSS and library_of(csr, order, pivoting) is not csr.backend:
            return cls.of(csr, csr.data.dtype, "auto", pivoting, fields["automatic"])
        flops = fields["flops"] or math.inf
        return cls(factors=factored(csr, order, ordering, pivoting, flops), error=error, **fields)

    def refreshed(self, csr: CheckedMatrix) -> DirectPart:
        """The factors of another matrix of the pattern; with partial pivoting where diagonal pivots fail.

        Factors that were not tested by a solve are not tested here: their caller verifies solutions.
        """
        kept = owned(csr, self.stored)
        factors = refactored(kept, self.factors)
        error = self.error if self.error == UNKNOWN else probed(kept, factors)
        part = replace(self, csr=kept, factors=factors, error=error)
        if part.is_accurate or error == UNKNOWN or not self.automatic:
            return part.verified()
        return self.of(csr, self.stored, "auto", "partial").verified()

    def verified(self) -> DirectPart:
        """Return this part; LinAlgError where its solutions are not finite."""
        if self.error is None:
            raise singular("its solutions overflow")
        return self

    @property
    def n(self) -> int:
        return self.csr.n

    @property
    def stored(self) -> DType:
        return self.csr.data.dtype

    @property
    def is_accurate(self) -> bool:
        is_exact = self.error is not None and self.error <= ACCURATE * np.finfo(self.stored).eps
        return is_exact and not self.factors.perturbed

    def solve_into(self, b: Array, x: Array, transpose: bool) -> None:
        self.factors.solve_into(b, x, transpose)

    @property
    def nbytes(self) -> int:
        return int(self.factors.nbytes) + held_bytes(self.csr, self.ordering)

    @property
    def repairs(self) -> Repairs:
        return happened(pivots_perturbed=self.factors.perturbed)

    @property
    def positive_definite(self) -> bool:
        return bool(self.factors.definite)

    def details(self) -> list[tuple[str, str]]:
        factors, entries = self.factors, self.csr.nnz
        fill = f", {factors.entries / entries:.1f} times those of A" if entries else ""
        moved = "" if factors.interchanges is None else f", {factors.interchanges:,} interchanges of rows"
        changed = f", {factors.perturbed:,} perturbed" if factors.perturbed else ""
        error = "infinite" if self.error is None else f"{self.error:.0e} of a refined solution"
        error = "not estimated" if self.error == UNKNOWN else error
        flops = [("operations", f"{self.flops:.3g}")] if self.flops else []
        return [
            ("order", self.order.replace("_", " ")),
            ("entries of L + U", f"{factors.entries:,}{fill}"),
            *flops,
            ("pivots", f"{self.pivoting}{moved}{changed}"),
            ("backward error", error),
            ("repairs", in_words(self.repairs, self.positive_definite)),
            ("factored by", factors.library),
        ]


SCHEMA = schema.of_fields(DirectPart, kind=schema.one_of("direct"), n=schema.size("n"))


def owned(csr: CheckedMatrix, stored: DType) -> CheckedMatrix:
    """The matrix in the stored type, with values of its own: the user may change A's."""
    data, diagonal = (stored_array(each, stored, csr.exponent) for each in (csr.data, csr.diagonal))
    kept = replace(csr.detached(), data=data.copy() if data is csr.data else data, diagonal=diagonal)
    vars(kept)["facts"] = csr.facts  # computed before; rounding does not change them
    if "matched_columns" in vars(csr):
        vars(kept)["matched_columns"] = csr.matched_columns
    return kept
