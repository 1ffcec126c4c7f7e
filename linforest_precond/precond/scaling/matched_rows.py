"""The matching of rows to columns that maximises the product of the diagonal magnitudes."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from linforest_precond.annotations import Array
from linforest_precond.backends import backend_of
from linforest_precond.records import CSR, Graph, magnitudes_of

# The step of an auction is divided by this after each pass (epsilon-scaling). All passes but the last end
# when a small share of the rows is unmatched: the next one changes most of the matching again.
STEP_DIVISOR = 8
SHARE_LEFT = 1 / 256
# Balanced factors make forests of the scaled matrix better: with blocks, rajat19 takes 90 iterations instead
# of 390, olm1000 20 instead of 480.
BALANCING_ITERATIONS = 16


class MatchedRows(NamedTuple):
    """A perfect matching and its dual solution.

    Attributes
    ----------
    columns, rows
        The column of each row, and the row of each column.
    row, column
        Factors: the scaled matched entries have magnitude 1, and no entry exceeds 1 by more than the
        tolerance.
    """

    columns: Array
    rows: Array
    row: Array
    column: Array


def match_rows(csr: CSR, tolerance: float) -> MatchedRows:
    """Match rows to columns by an auction, completed by shortest augmenting paths.

    The product of the matched magnitudes is maximal up to a factor ``2**-tolerance`` per row. ValueError for
    a structurally singular matrix.
    """
    backend = backend_of(csr.data)
    xp, logs, auction = backend.xp, backend.matrix.log_scaling, backend.matching.auction
    magnitudes = magnitudes_of(csr.data)
    pattern = csr.indptr, csr.indices
    weights = logs.fixed_logarithms(magnitudes)
    prices = logs.maxima(*pattern, weights)[1]
    columns, rows = (xp.full(csr.n, -1, csr.indices.dtype) for _ in range(2))
    for step, stop in _passes(tolerance, logs.UNIT, csr.n):
        auction.bid(*pattern, weights, prices, columns, rows, step, stop)
    if int((columns < 0).sum()):  # stall: decides whether paths are searched
        prices, columns, rows = _completed(csr, weights, prices, columns, rows)
    entries = Graph(*pattern, magnitudes, csr.total_weight, csr.scale, csr.longest_row, False, False)
    matched = backend.matching.matched_edge_values.matched_edge_values(entries, columns)
    matched_weights = logs.fixed_logarithms(matched)
    backend.matching.balancing.balance(
        *pattern, weights, matched_weights, columns, prices, BALANCING_ITERATIONS
    )
    # A price is a column's logarithm. Shifted so that rows and columns have factors of the same mean size.
    mean = (2 * prices.sum() - matched_weights.sum(dtype=np.int64)) // max(2 * csr.n, 1)
    column = logs.powers(mean - prices)
    return MatchedRows(columns, rows, 1.0 / (matched * column[columns]), column)


def _passes(tolerance: float, unit: int, n: int) -> list[tuple[int, int]]:
    """The step of each pass in fixed point, and the rows that it may leave unmatched."""
    steps = [unit]
    last = max(1, int(tolerance * unit))
    while steps[-1] > last:
        steps.append(max(last, steps[-1] // STEP_DIVISOR))
    return [(step, 0 if step == steps[-1] else int(SHARE_LEFT * n)) for step in steps]


def _completed(csr: CSR, *found: Array) -> tuple[Array, ...]:
    """The matching of the auction completed on the host, on every backend: few rows are left."""
    xp = backend_of(csr.data).xp
    weights, *duals = (_on_host(each) for each in found)
    pattern = _on_host(csr.indptr), _on_host(csr.indices)
    host: Any = backend_of(np.empty(0))
    left = host.matching.augmenting_paths.complete(*pattern, weights, *duals)
    if left:
        raise ValueError(
            "A must have a nonzero for every row in a column of its own, got a structurally singular matrix: "
            f'{left} of {csr.n} rows cannot be matched; use "equilibrate"'
        )
    return tuple(xp.asarray(each) for each in duals)


def _on_host(array: Array) -> Array:
    return array.get() if hasattr(array, "get") else array  # stall: paths are searched on the host
