"""Advice on the order of a matrix: whether another one would use the cache better, by its log gap."""

from __future__ import annotations

from linforest_precond.annotations import SparseMatrix
from linforest_precond.graph.reordering.gap_metrics import log_gap
from linforest_precond.graph.reordering.vertex_orders import order

CANDIDATES = "rcm", "matching", "degree"
# Vectors of fewer bytes stay in a cache whatever the order is.
CACHED_BYTES = 2**21
# The log gap of an order that pays, in units of A's own.
NOTABLE = 0.8


def log_gaps(A: SparseMatrix) -> dict[str, float]:
    """The log gap per stored entry in A's own order ("natural") and in others."""
    entries = max(A.nnz, 1)
    others = {method: log_gap(A, order(A, method)) / entries for method in CANDIDATES}
    return {"natural": log_gap(A) / entries, **others}


def order_advice(rows: int, gaps: dict[str, float]) -> str:
    """A sentence on the order that would pay."""
    best = min(CANDIDATES, key=lambda method: gaps[method])
    if gaps[best] >= NOTABLE * gaps["natural"]:
        return f"The order of the rows is good (log gap {gaps['natural']:.2f} per entry): no other would pay."
    found = f"log gap {gaps[best]:.2f} per entry instead of {gaps['natural']:.2f}"
    if 8 * rows <= CACHED_BYTES:
        return (
            f'The order "{best}" is better ({found}), but vectors this short fit into a cache in any order.'
        )
    return (
        f'Permute it by lf.permute(A, lf.graph.order(A, "{best}")): products use the cache better ({found}).'
    )
