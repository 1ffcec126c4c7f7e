"""The ordering of a forest: its paths one after another."""

from __future__ import annotations

from linforest_precond.annotations import Array
from linforest_precond.backends import backend_of
from linforest_precond.records import Ordering


def order_paths(path_id: Array, position: Array, lengths: Array) -> Ordering:
    """Sort the vertices by (path id, position), by a prefix sum of the path lengths."""
    return Ordering(*backend_of(path_id).forest.ordering.order_by_scan(path_id, position, lengths))
