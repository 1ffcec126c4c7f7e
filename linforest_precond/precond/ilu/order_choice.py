"""`ordering="auto"` takes the order of elimination with the least predicted time to a solution.

Iterations are estimated from the fill-in that the factors drop (minimum discarded fill; D'Azevedo, Forsyth &
Tang 1992): on 25 of 29 real matrices, the order of four that dropped least had the fewest iterations, or at
most a tenth and one more. The time of an iteration follows from counted bytes
and levels. Nothing is measured, so that the choice repeats.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from linforest_precond.backends.annotations import DType
from linforest_precond.matrix.checked import CheckedMatrix
from linforest_precond.matrix.doors import as_pattern
from linforest_precond.precond.ilu.ilu_part import IluPart
from linforest_precond.precond.ilu.row_orders import MOST_LEVELS, schedule_of

# Iterations are taken as proportional to sqrt(dropped fill-in) + LEAST_ROOT, as to sqrt(condition number).
LEAST_ROOT = 0.03
# The memory traffic of an iteration: matrices (A, and both triangles), and vectors read or written.
MATRICES, VECTORS = 2, 12


class Costs(NamedTuple):
    """Bytes per second, and seconds: of an iteration without products, of a launch, of a level in one launch.

    With at most `most_launches` levels, each has a launch.
    """

    bandwidth: float
    iteration: float
    launch: float
    level: float
    most_launches: int


def best_part(csr: CheckedMatrix, stored: DType, seed: int, sweeps: int | None) -> IluPart:
    """The part of the order with the least predicted time to a solution."""
    levels = csr.backend.ilu.triangular
    costs = Costs._make((*levels.TIMES, levels.MOST_LAUNCHES))
    pattern, best, least = as_pattern(csr), None, math.inf
    for order in levels.ORDERS:
        schedule = schedule_of(csr, pattern, order, seed, most_levels(csr, least, costs))
        if schedule is None:
            continue
        part = IluPart.of(csr, stored, schedule, sweeps)
        predicted = seconds(csr, schedule.levels, costs) * (LEAST_ROOT + part.findings.dropped**0.5)
        if best is None or predicted < least:
            best, least = part, predicted
    assert best is not None
    return best


def seconds(csr: CheckedMatrix, levels: int, costs: Costs) -> float:
    """The time of an iteration with substitution level by level."""
    matrix = csr.data.nbytes + csr.indices.nbytes
    moved = MATRICES * matrix + VECTORS * csr.n * csr.data.dtype.itemsize
    each = costs.launch if levels <= costs.most_launches else costs.level
    return costs.iteration + moved / costs.bandwidth + 2 * levels * each


def most_levels(csr: CheckedMatrix, least: float, costs: Costs) -> int:
    """The most levels with which an order that drops nothing is as fast as the best one so far."""
    if not math.isfinite(least) or not costs.level:
        return MOST_LEVELS
    left = least / LEAST_ROOT - seconds(csr, 0, costs)
    return max(costs.most_launches, min(MOST_LEVELS, int(left / (2 * costs.level))))
