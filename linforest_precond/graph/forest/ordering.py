"""The permutation that lays paths one after another."""

from __future__ import annotations

from typing import Any

from linforest_precond.backends import backend_of
from linforest_precond.records import Ordering


def order_paths(path_id: Any, position: Any, lengths: Any) -> Ordering:
    """Sort the vertices by (path id, position), by one scan over the paths' lengths."""
    return Ordering(*backend_of(path_id).forest.ordering.order_by_scan(path_id, position, lengths))
