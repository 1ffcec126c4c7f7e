"""`IluPart` holds incomplete LU or Cholesky factors, and shifts the diagonal until they are stable."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple

import numpy as np

from linforest_precond.backends import Backend
from linforest_precond.backends.annotations import Array, DType
from linforest_precond.backends.flags import any_set
from linforest_precond.backends.returns import FactorFinding
from linforest_precond.backends.user_warnings import warn_user
from linforest_precond.matrix.checked import CheckedMatrix
from linforest_precond.precond.ilu.row_orders import ORDERS, Schedule, permuted_with_diagonal
from linforest_precond.precond.ilu.triangular_solves import (
    FACTORS,
    Triangle,
    TriangularSolves,
    adjoint,
    entries_are_in_other_levels,
    levels_cover_rows,
    with_triangles,
)
from linforest_precond.precond.parts.number_types import stored_array
from linforest_precond.precond.parts.part import Repairs, happened, in_words
from linforest_precond.precond.storage import schema
from linforest_precond.records.forest import Ordering, magnitudes_of
from linforest_precond.records.printing import agreeing, numbers_of

# The first shift of the diagonal, relative to the rows, and the factor by which the next one is larger.
FIRST_SHIFT, SHIFT_GROWTH = 1e-3, 2.0
LARGEST_CHOLESKY_SHIFT = 4.0
# The norm of the dropped fill-in is relative to the diagonal: smaller entries count as LEAST_SIZE, and a norm
# that overflows counts as LARGEST_ERROR.
LEAST_SIZE, LARGEST_ERROR = 1e-300, 1e300
MOST_SWEEPS = 1000


class FactorFindings(NamedTuple):
    """The counts of a factorization.

    `dropped` is the fill-in that is dropped and the shift: the root mean square over the rows of the norms of
    the rows of ``|LU - A|``, relative to the diagonal of A. Terms of one entry are not added up.
    """

    perturbed: int  # tiny pivots
    shift: float  # of the diagonal, relative to the norms of the rows
    breakdowns: int  # shifts that failed before, the shift 0 included
    dropped: float


def shifts_follow_breakdowns(fields: schema.Fields, names: schema.Names) -> schema.Checks:
    _, shift, breakdowns, _ = fields["findings"]
    yield "findings", "have breakdowns where the diagonal is shifted", shift == 0 or breakdowns > 0


@dataclass(frozen=True, eq=False)
class IluPart(TriangularSolves):
    """(I + L) D (I + U), which equals A on its pattern; rows and columns are sorted by level."""

    kind: str
    n: int
    order: Annotated[str, schema.one_of(*ORDERS)]
    ordering: Ordering
    starts: Array
    lower: Triangle
    upper: Triangle
    inverse: Array  # of D
    cholesky: bool  # Hermitian, with positive pivots: L is the conjugate transpose of U
    findings: Annotated[FactorFindings, schema.items(int, float, int, float)]
    sweeps: Annotated[int | None, schema.optional(schema.integer(0, MOST_SWEEPS))]

    @classmethod
    def of(cls, csr: CheckedMatrix, stored: DType, schedule: Schedule, sweeps: int | None) -> IluPart:
        """Factor a matrix in its own precision, or the stored one if that is wider."""
        name, ordering, starts = schedule
        wide = np.promote_types(csr.data.dtype, stored)
        matrix = permuted_with_diagonal(csr, ordering, wide)
        weights = fill_weights(csr)[ordering.order]
        definite = csr.n == 0 or csr.definite
        lower, upper, inverse, cholesky, findings = factored(
            csr.backend, matrix, starts, stored, definite, weights, csr.longest_row
        )
        upper = *upper[:2], stored_array(upper[2], stored)
        lower = adjoint(upper) if cholesky else (*lower[:2], stored_array(lower[2], stored))
        inverse = stored_array(inverse, stored)
        return cls("ilu", csr.n, name, ordering, starts, lower, upper, inverse, cholesky, findings, sweeps)

    def warned(self) -> IluPart:
        """Warn about perturbed pivots, and return this part."""
        if self.findings.perturbed:
            found = agreeing(
                self.findings.perturbed,
                "pivot of the incomplete factorization was tiny and has been",
                "pivots of the incomplete factorization were tiny and have been",
            )
            warn_user(f"{found} perturbed: the diagonal of A has zeros, or A is close to a singular matrix")
        return self

    @classmethod
    def from_state(cls, findings: Any, **fields: Any) -> IluPart:
        return cls(findings=FactorFindings(*findings), **with_triangles(fields))

    def refreshed(self, csr: CheckedMatrix) -> IluPart:
        schedule = Schedule(self.order, self.ordering, self.starts)
        return self.of(csr, self.stored, schedule, self.sweeps).warned()

    @property
    def jacobi_sweeps(self) -> int | None:
        return self.sweeps

    @property
    def name(self) -> str:
        method = "IC(0): incomplete Cholesky" if self.cholesky else "ILU(0): incomplete LU"
        return f"{method} factors on the pattern of A"

    def details(self) -> list[tuple[str, str]]:
        solves = "exact, by levels" if self.sweeps is None else f"{self.sweeps} Jacobi sweeps each"
        return [
            ("order", self.order),
            ("levels", f"{self.starts.size - 1:,} of L and of U"),
            ("entries", f"{self.entries:,}"),
            ("dropped fill-in", f"{self.findings.dropped:.3g} of the diagonal"),
            ("triangular solves", solves),
            ("repairs", in_words(self.repairs, self.positive_definite)),
        ]

    @property
    def repairs(self) -> Repairs:
        perturbed, shift, breakdowns, _ = self.findings
        shifts = {"diagonal_shift": shift, "breakdowns": breakdowns} if shift else {}
        failed = 0 if shift else breakdowns
        return happened(**shifts, shifts_failed=failed, pivots_perturbed=perturbed)


SCHEMA = schema.of_fields(
    IluPart,
    levels_cover_rows,
    entries_are_in_other_levels,
    shifts_follow_breakdowns,
    kind=schema.one_of("ilu"),
    **FACTORS,
)


def fill_weights(csr: CheckedMatrix) -> Array:
    """Reciprocals of the diagonal's magnitudes; of the norms of rows where the diagonal is zero."""
    backend = csr.backend
    xp, sizes = backend.xp, magnitudes_of(csr.diagonal).astype(np.float64)
    if any_set(sizes == 0):  # stall: whether norms are needed
        norms, _ = backend.multigrid.strength.row_sums(csr)
        sizes = xp.where(sizes > 0, sizes, xp.where(norms > 0, norms, 1.0))
    return 1.0 / xp.maximum(sizes, LEAST_SIZE)


def factored(
    backend: Backend,
    matrix: Triangle,
    starts: Array,
    stored: DType,
    cholesky: bool,
    weights: Array,
    longest_row: int,
) -> tuple[Triangle, Triangle, Array, bool, FactorFindings]:
    """L, U and D^-1 of a matrix, whether they are Cholesky factors, and the counts.

    The diagonal is shifted as little as is needed (Manteuffel 1980): where pivots of a Hermitian matrix are
    negative, where solutions in the stored type overflow, and where they grow from perturbed pivot to
    perturbed pivot until little is left of the number range. A Hermitian matrix that needs a large shift is
    not definite and gets the factors of any other matrix. With a shift above the number of entries in a row
    all rows are diagonally dominant, so that no entry grows.
    """
    factorize = backend.ilu.incomplete_factors.factorize
    shift, breakdowns = 0.0, 0
    while True:
        lower, upper, inverse, dropped, report = factorize(*matrix, starts, cholesky, shift, weights)
        found = numbers_of(report)  # stall: decides whether the factorization has to be repeated
        broken = found[FactorFinding.NEGATIVE] + found[FactorFinding.NOT_FINITE]
        if shift > 4 * longest_row:
            break
        largest = 0.25 if found[FactorFinding.PERTURBED] else 1.0
        if not broken and solution_exponent(lower, inverse, upper, starts, stored, backend) < largest:
            break
        shift, breakdowns = shift * SHIFT_GROWTH or FIRST_SHIFT, breakdowns + 1
        if cholesky and shift > LARGEST_CHOLESKY_SHIFT:
            cholesky, shift = False, 0.0
    mean = backend.matrix.sums.tree_sum(dropped) / max(weights.size, 1)
    error = math.sqrt(mean + shift**2) if math.isfinite(mean) else LARGEST_ERROR
    findings = FactorFindings(found[FactorFinding.PERTURBED], shift, breakdowns, error)
    return lower, upper, inverse, cholesky, findings


def solution_exponent(
    lower: Triangle, inverse: Array, upper: Triangle, starts: Array, stored: DType, backend: Backend
) -> float:
    """The binary exponent of the largest entry of a solution for ones, as a share of the largest exponent.

    Infinite where the solution is: an estimate of the stability of factors (Chow & Saad 1997).
    """
    xp, n = backend.xp, inverse.size
    if not n:
        return 0.0
    before, after = ((*triangle[:2], triangle[2].astype(stored, copy=False)) for triangle in (lower, upper))
    order, x = xp.arange(n, dtype=starts.dtype), xp.empty((n, 1), stored)
    pivots = inverse.astype(stored, copy=False)
    solver = backend.ilu.triangular.Substitution(before, pivots, after, order, starts, None)
    solver.solve(xp.ones((n, 1), stored), x)
    largest = float(abs(x).max())  # stall: decides whether the factorization has to be repeated
    return math.frexp(largest)[1] / np.finfo(stored).maxexp if math.isfinite(largest) else math.inf
