"""A direct factorization as a candidate: its order and fill are counted before it is begun."""

from __future__ import annotations

import math
from typing import Any

from linforest_precond.chooser.costs import CostModel
from linforest_precond.graph.reordering.minimum_degree import predicted_fill
from linforest_precond.matrix.checked import CheckedMatrix
from linforest_precond.precond.direct.direct import direct
from linforest_precond.precond.preconditioner import Preconditioner


class Factors:
    """The factors of one matrix: their order and size when first asked for."""

    def __init__(self, A: CheckedMatrix) -> None:
        self._A, self._order, self._fill = A, None, None

    def seconds(self, cost: CostModel, most: float) -> float:
        """Seconds of a factorization; infinite where it takes more than `most`, or does not fit."""
        if self._fill is None:
            self._order, self._fill = predicted_fill(self._A, most_flops=cost.flops_in(most))
        if self._fill is None:
            return math.inf
        return cost.factorization(self._fill.factor_entries, self._fill.flops)

    def made(self) -> Preconditioner:
        """The factorization, in the order that was found."""
        return direct(self._A, order="auto" if self._order is None else self._order)
