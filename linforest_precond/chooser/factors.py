"""A direct factorization as a candidate: its order and fill are counted before it is begun."""

from __future__ import annotations

import math

from linforest_precond.backends.annotations import Array
from linforest_precond.chooser.costs import CostModel
from linforest_precond.graph.reordering.minimum_degree import predicted_fill
from linforest_precond.matrix.checked import CheckedMatrix
from linforest_precond.matrix.doors import as_pattern
from linforest_precond.precond.direct.direct import direct
from linforest_precond.precond.preconditioner import Preconditioner
from linforest_precond.records.fill import Fill


class Factors:
    """The factors of one matrix: their order and size when first asked for."""

    def __init__(self, A: CheckedMatrix) -> None:
        self._A = A
        self._found: tuple[Array, Fill] | None = None

    def seconds(self, cost: CostModel, most: float) -> float:
        """Seconds of a factorization; infinite where it takes more than `most`."""
        if self._found is None:
            self._found = predicted_fill(as_pattern(self._A), cost.flops_in(most))
        if self._found is None:
            return math.inf
        fill = self._found[1]
        return cost.factorization(2 * fill.entries, fill.lu_flops)

    def made(self) -> Preconditioner:
        """The factorization, in the order that was found."""
        return direct(self._A, order="auto" if self._found is None else self._found[0])
