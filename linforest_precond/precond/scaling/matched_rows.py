"""A perfect matching of rows to columns maximizes the product of the diagonal magnitudes (MC64)."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from linforest_precond.backends import backend_named
from linforest_precond.backends.annotations import Array
from linforest_precond.backends.array_libraries import on_host, xp_of
from linforest_precond.graph.forest.linear_forest import break_cycles
from linforest_precond.matrix.checked import CheckedMatrix
from linforest_precond.matrix.graphs import Graph
from linforest_precond.records.forest import Factor, magnitudes_of

# The step of an auction is divided by this after each pass (epsilon-scaling).
STEP_DIVISOR = 8
# A pass ends with this many rows unmatched, and the host matches those of the last pass: a round of so few
# bids takes it as long as the GPU. Left over rows have price wars with a small step in the next pass: with
# 128 instead of 32, wing takes 8 times as many rounds.
LEFT_TO_HOST = 32
# Balanced factors improve the forests of the scaled matrix: with blocks, rajat19 takes 90 iterations instead
# of 390, olm1000 20 instead of 480.
BALANCING_ITERATIONS = 16


class MatchedRows(NamedTuple):
    """A perfect matching, and factors that give matched entries magnitude 1, the others at most about 1."""

    columns: Array  # of each row
    rows: Array  # of each column
    row: Array  # factor, from the dual solution
    column: Array  # factor


def match_rows(csr: CheckedMatrix, tolerance: float) -> MatchedRows:
    """Match rows to columns by an auction, completed by shortest augmenting paths.

    The product of the matched magnitudes is maximal up to a factor ``2**-tolerance`` per row. ValueError for
    a structurally singular matrix.
    """
    backend = csr.backend
    xp, logs, auction = backend.xp, backend.matrix.log_scaling, backend.matching.auction
    magnitudes = magnitudes_of(csr.data)
    pattern = csr.indptr, csr.indices
    weights = logs.fixed_logarithms(magnitudes)
    prices = logs.maxima(*pattern, weights)[1]
    columns, rows = (xp.full(csr.n, -1, csr.indices.dtype) for _ in range(2))
    steps = _steps(tolerance, logs.UNIT)
    for step in steps:
        auction.bid(*pattern, weights, prices, columns, rows, step, LEFT_TO_HOST)
    if int((columns < 0).sum()):  # stall: decides whether the host goes on
        prices, columns, rows = _completed(csr, weights, prices, columns, rows, steps[-1])
    entries = Graph(*pattern, magnitudes, csr.total_weight, csr.scale, csr.longest_row, False, False)
    matched = backend.matching.matched_weight.matched_edge_values(entries, columns)
    matched_weights = logs.fixed_logarithms(matched)
    auction.balance(*pattern, weights, matched_weights, columns, prices, BALANCING_ITERATIONS)
    # A price is the logarithm of a column factor; the shift gives row and column factors one geometric mean.
    mean = (2 * prices.sum() - matched_weights.sum(dtype=np.int64)) // max(2 * csr.n, 1)
    column = logs.powers(mean - prices)
    return MatchedRows(columns, rows, 1.0 / (matched * column[columns]), column)


def _steps(tolerance: float, unit: int) -> list[int]:
    """The step of each pass in fixed point."""
    steps = [unit]
    last = max(1, int(tolerance * unit))
    while steps[-1] > last:
        steps.append(max(last, steps[-1] // STEP_DIVISOR))
    return steps


def _completed(
    csr: CheckedMatrix, weights: Array, prices: Array, columns: Array, rows: Array, step: int
) -> tuple[Array, ...]:
    """The matching completed on the host, on every backend: the last bids, then shortest augmenting paths."""
    xp = csr.backend.xp
    host: Any = backend_named("cpu").matching
    entries = [on_host(each) for each in (csr.indptr, csr.indices, weights)]  # stall: the host goes on
    duals = [on_host(each) for each in (prices, columns, rows)]
    host.auction.bid_last(*entries, *duals, step)
    left = host.augmenting_paths.complete(*entries, *duals) if (duals[1] < 0).any() else 0
    if left:
        raise ValueError(
            "A must have a nonzero for every row in a column of its own, got a structurally singular matrix: "
            f'{left} of {csr.n} rows cannot be matched; use "equilibrate"'
        )
    return tuple(xp.asarray(each) for each in duals)


def partners_of(matched: MatchedRows) -> Array:
    """The other row of each row's 2 x 2 pivot, -1 for a 1 x 1 pivot.

    A cycle i -> column of i -> ... of the matching is cut open, and its rows are paired one after the other;
    an odd cycle leaves one row. Duff & Pralet, "Strategies for scaling and pivoting for sparse symmetric
    indefinite problems" (2005), doi:10.1137/04061043X.
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
