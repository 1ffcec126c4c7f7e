"""The ordering of a forest: its paths one after another."""

from __future__ import annotations

from linforest_precond.backends import backend_of
from linforest_precond.backends.annotations import Array
from linforest_precond.records.forest import Ordering

# How the permutation is computed: by a prefix sum of the path lengths, or by a sort.
PERMUTATIONS = "scan", "radix_sort"


def order_paths(path_id: Array, position: Array, lengths: Array, method: str = "scan") -> Ordering:
    """Sort the vertices by (path id, position), by one of the `PERMUTATIONS`."""
    ordering = backend_of(path_id).forest.ordering
    order = ordering.order_by_radix_sort if method == "radix_sort" else ordering.order_by_scan
    return Ordering(*order(path_id, position, lengths))
