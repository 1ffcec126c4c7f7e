"""A direct factorization as a candidate: its order and fill are counted before it is begun."""

from __future__ import annotations

import math

from linforest_precond.backends import backend_named
from linforest_precond.backends.annotations import Array
from linforest_precond.chooser.costs import CostModel
from linforest_precond.graph.reordering.minimum_degree import predicted_fill
from linforest_precond.matrix.checked import CheckedMatrix
from linforest_precond.precond.direct.direct import direct, unverified
from linforest_precond.precond.direct.libraries import library_of
from linforest_precond.precond.direct.orders import is_nearly_symmetric
from linforest_precond.precond.preconditioner import Preconditioner
from linforest_precond.records.fill import Fill


class Factors:
    """The factors of one matrix: their order and size when first asked for.

    The counts are exact for pivots on the diagonal. Where rows have to be matched first, or the pattern is
    far from symmetric, they stand for those of other orders.

    Parameters
    ----------
    A
        The matrix.
    counted
        The order and the fill of an earlier matrix with the same pattern.
    """

    def __init__(self, A: CheckedMatrix, counted: tuple[Array, Fill] | None = None) -> None:
        self._A, self.counted = A, counted
        self._are_verified = False

    @property
    def is_on_host(self) -> bool:
        """Whether SuperLU factors, on the host."""
        return library_of(self._A, "auto", "diagonal").name == "cpu"

    def seconds(self, cost: CostModel, most: float) -> float:
        """Seconds of a factorization; infinite above `most`, or where it does not fit into memory."""
        if self.counted is None:
            self.counted = predicted_fill(self._A.pattern, cost.flops_in(most, self.is_on_host))
        if self.counted is None:
            return math.inf
        fill = self.counted[1]
        if fill.memory(self._A.dtype, lu=True) > backend_named("cpu").runtime.memory.free_bytes():
            return math.inf
        return cost.factorization(fill.lu_entries, fill.lu_flops, self.is_on_host)

    def made(self, needs_matching: bool) -> Preconditioner:
        """Factors with diagonal pivots in the order that was found; when asked again, with what is needed."""
        is_plain = not needs_matching and is_nearly_symmetric(self._A)
        if self.counted is None or self._are_verified or not is_plain:
            return direct(self._A)
        self._are_verified = True
        order, fill = self.counted
        return unverified(self._A, order if self.is_on_host else "auto", fill.lu_flops)
