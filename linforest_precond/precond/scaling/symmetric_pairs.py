"""Pairs of rows of a symmetric matrix from the cycles of a matching: its 2 x 2 pivots.

Duff & Pralet, "Strategies for scaling and pivoting for sparse symmetric indefinite problems" (2005),
doi:10.1137/04061043X.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from linforest_precond.backends.annotations import Array
from linforest_precond.backends.array_libraries import xp_of
from linforest_precond.graph.forest.linear_forest import break_cycles
from linforest_precond.precond.scaling.matched_rows import MatchedRows
from linforest_precond.records.forest import Factor


def partners_of(matched: MatchedRows) -> Array:
    """The other row of each row's 2 x 2 pivot, -1 for a 1 x 1 pivot.

    A cycle i -> column of i -> ... of the matching is cut open, and its rows are paired one after the other;
    an odd cycle leaves one row.
    """
    xp: Any = xp_of(matched.columns)
    own = xp.arange(matched.columns.size, dtype=matched.columns.dtype)
    low, high = (each(matched.columns, matched.rows) for each in (xp.minimum, xp.maximum))
    neighbors = xp.stack([low, xp.where(low != high, high, -1)], axis=1).astype(own.dtype, copy=False)
    neighbors[matched.columns == own] = -1
    values = (neighbors >= 0).astype(np.float64)
    forest = break_cycles(Factor(neighbors, values, None, (1, True), 1.0), in_place=True)
    return _paired_along(forest.order, forest.position)


def _paired_along(order: Array, position: Array) -> Array:
    """Rows at positions 1 and 2 of each path, 3 and 4, ..."""
    partners = order * 0 - 1
    second = (position[order[1:]] % 2 == 0).nonzero()[0] + 1  # stall: the number of pairs
    partners[order[second]] = order[second - 1]
    partners[order[second - 1]] = order[second]
    return partners
