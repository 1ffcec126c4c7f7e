"""A direct factorization as a candidate: its order and fill are counted before it is begun."""

from __future__ import annotations

import math
from contextlib import suppress
from functools import cached_property

from linforest_precond.backends import backend_named
from linforest_precond.backends.annotations import Array
from linforest_precond.backends.array_libraries import on_host
from linforest_precond.chooser.costs import MATCHING, CostModel
from linforest_precond.chooser.outcome import quietly
from linforest_precond.graph.reordering.minimum_degree import predicted_fill, triangular_fill
from linforest_precond.matrix.checked import CheckedMatrix
from linforest_precond.precond.direct.direct import direct, unverified
from linforest_precond.precond.direct.libraries import library_of
from linforest_precond.precond.direct.orders import (
    has_pivots,
    is_nearly_symmetric,
    matched_pattern,
    triangular_order,
)
from linforest_precond.precond.preconditioner import Preconditioner
from linforest_precond.records.fill import Fill

# Entries of factors with interchanges, in units of those that are counted: after a matching, and with partial
# pivoting. Flops grow by the square.
MATCHED, PARTIAL = 2.0, 3.0


class Factorization:
    """The factors of one matrix: their order and size when first asked for.

    The counts are exact for pivots on the diagonal. A pattern far from symmetric is counted with each row on
    a column where it has an entry. They serve for other values in the same pattern: those of `earlier`, whose
    factors M, if they are given, are updated in place of new ones.
    """

    def __init__(
        self, A: CheckedMatrix, earlier: Factorization | None = None, M: Preconditioner | None = None
    ) -> None:
        self._A, self._made = A, M
        self.counted: tuple[Array, Fill] | None = None if earlier is None else earlier.counted
        self._on_host: bool = earlier is None or earlier._on_host
        self._pivoting = ""  # before it is decided
        self.expected = 0.0  # seconds; where its fill is not counted, a lower bound

    @cached_property
    def _has_own_library(self) -> bool:
        """Whether the GPU can factor it."""
        return not library_of(self._A, "auto", "diagonal").direct.sparse_lu.ON_HOST

    @cached_property
    def _triangular(self) -> Array | None:
        """The order in which a matrix with few mirror entries is triangular."""
        has_diagonal = bool((self._A.diagonal != 0).all())  # stall: once
        return triangular_order(self._A) if has_diagonal and not is_nearly_symmetric(self._A) else None

    def may_take(self, most: float) -> bool:
        """Whether it may take less than `most` seconds. What counting ended at before must have doubled."""
        return (2 if self.counted is None else 1) * self.expected <= most

    def seconds(self, cost: CostModel, most: float) -> float:
        """Seconds of a factorization; infinite where counting ended at `most`, or where it does not fit into
        memory."""
        if self.counted is None and self.may_take(most):
            self.expected = most
            self.counted = self._count(cost.flops_in(most, not self._has_own_library))
        if self.counted is None:
            return math.inf
        if not self._pivoting:
            self._decide(cost, self.counted[1])
        return self.expected

    def _count(self, most_flops: float) -> tuple[Array, Fill] | None:
        """An order of elimination and its fill; None above some flops."""
        if is_nearly_symmetric(self._A):
            return predicted_fill(self._A.pattern, most_flops)
        if self._triangular is not None:
            return self._triangular, triangular_fill(on_host(self._A.indptr))  # stall: once
        return predicted_fill(matched_pattern(self._A), most_flops)

    def _decide(self, cost: CostModel, fill: Fill) -> None:
        """Diagonal pivots, in an order for A + A^T or where A is triangular, where these are likely to do;
        else what is expected to take less time. On a GPU, the host factors where it takes less time."""
        symmetric = is_nearly_symmetric(self._A)
        is_plain = has_pivots(self._A) if symmetric else self._triangular is not None
        plain, matched, partial = (
            cost.factorization(growth * fill.lu_entries, growth**2 * fill.lu_flops)
            for growth in (1.0, MATCHED, PARTIAL)
        )
        pivoted = min((cost.seconds(MATCHING) + matched, "as needed"), (partial, "partial"))
        seconds, self._pivoting = (plain, "diagonal") if is_plain else pivoted
        is_analyzed = self._made is not None and not self._on_host
        on_gpu = math.inf
        if self._triangular is None:
            on_gpu = cost.factorization_on_gpu(fill.lu_flops, is_analyzed)
        self._on_host = not self._has_own_library or seconds <= on_gpu
        growth = {"diagonal": 1.0, "as needed": MATCHED, "partial": PARTIAL}[self._pivoting]
        held = growth * fill.memory(self._A.dtype, lu=True)
        fits = held <= backend_named("cpu").runtime.calibration.free_bytes()
        self.expected = min(seconds, on_gpu if self._has_own_library else math.inf) if fits else math.inf

    def made(self) -> Preconditioner:
        """Factors with the pivoting that was decided, by the analysis of earlier ones where there are some;
        when asked again, with what is needed."""
        if self._made is not None:
            M, self._made = self._made.frozen(), None
            with suppress(ValueError):  # values that they cannot take
                return quietly(M.update, self._A)
        pivoting, self._pivoting = self._pivoting, "as needed"
        if self.counted is None or pivoting not in ("diagonal", "partial"):
            return direct(self._A)
        order, fill = self.counted
        if pivoting == "partial":
            return unverified(self._A, "colamd", "partial", fill.lu_flops, "")
        reason = "it is expected to take less time" if self._on_host and self._has_own_library else ""
        return unverified(self._A, order if self._on_host else "auto", "diagonal", fill.lu_flops, reason)

    def iteration(self, cost: CostModel) -> float:
        """Seconds of an application of the factors."""
        return 0.0 if self.counted is None else cost.substitution(self.counted[1].lu_entries)
