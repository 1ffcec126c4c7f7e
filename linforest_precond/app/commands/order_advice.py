"""Advice on the order of a matrix: whether products would miss the cache less often in another one."""

from __future__ import annotations

from typing import Any

from linforest_precond.backends.cpu.reordering.cache_model import PER_LINE, missed_gathers
from linforest_precond.graph.reordering.permute import permute
from linforest_precond.graph.reordering.vertex_orders import order

CANDIDATES = "rcm", "matching", "degree"
# Misses in units of one for each line of x: an order with fewer is good.
GOOD = 2.0
# Misses of an order that pays, in units of those in A's own order.
NOTABLE = 0.7


def gather_misses(A: Any) -> dict[str, float]:
    """The modelled misses per stored entry in A's own order ("natural") and, if these are many, in others.

    A is a csr_array on the host. The gap metrics would not do: they are twice as large for a grid by rows as
    in Cuthill-McKee order, and both have the fewest misses that are possible.
    """
    entries = max(A.nnz, 1)
    misses = {"natural": missed_gathers(A.indices) / entries}
    if misses["natural"] * entries > GOOD * A.shape[0] / PER_LINE:
        misses |= {name: missed_gathers(permute(A, order(A, name)).indices) / entries for name in CANDIDATES}
    return misses


def order_advice(misses: dict[str, float]) -> str:
    """A sentence on the order that would pay."""
    best = min(misses, key=lambda name: misses[name])
    own = f"gathers from x in A @ x miss a cache of 1 MiB in {misses['natural']:.1%} of all cases (modelled)"
    if len(misses) == 1:
        return f"The rows are in a good order for the cache: {own}."
    if misses[best] > NOTABLE * misses["natural"]:
        return f"No ordering would pay: {own}, and hardly less often in any other order."
    return f'Permute it by lf.permute(A, lf.graph.order(A, "{best}")): {own}, then in {misses[best]:.1%}.'
