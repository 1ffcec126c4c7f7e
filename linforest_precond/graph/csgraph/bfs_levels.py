"""How many steps each vertex is away from another."""

from __future__ import annotations

import operator
from typing import Any

from linforest_precond.annotations import Array
from linforest_precond.backends import backend_of
from linforest_precond.gate import as_pattern


def bfs_levels(A: Any, source: int, directed: bool = True) -> Array:
    """Count the steps from one vertex to every other along stored entries, breadth first.

    Parameters
    ----------
    A : sparse matrix or dense array
        Square, of SciPy, NumPy or CuPy. An entry in row i and column j leads from i to j; values do not
        matter.
    source : int
        The vertex to begin at.
    directed : bool
        Whether entries lead one way only.

    Returns
    -------
    array of int32
        The number of steps, -1 where a vertex cannot be reached; on A's device.

    Examples
    --------
    >>> import numpy as np
    >>> import linforest_precond as lf
    >>> A = np.array([[0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 0], [0, 0, 1, 0]])
    >>> lf.graph.bfs_levels(A, 0).tolist(), lf.graph.bfs_levels(A, 0, directed=False).tolist()
    ([0, 1, 2, -1], [0, 1, 2, 3])
    """
    pattern = as_pattern(A, directed=bool(directed))
    return backend_of(pattern.indptr).csgraph.breadth_first.bfs_levels(
        pattern, checked_vertex("source", source, pattern.n)
    )


def checked_vertex(name: str, vertex: Any, n: int) -> int:
    """A vertex of a graph of n, as a Python number."""
    try:
        vertex = operator.index(vertex)
    except TypeError:
        raise TypeError(f"{name} must be an integer, got {type(vertex).__name__}") from None
    if not 0 <= vertex < n:
        raise ValueError(f"{name} must be a vertex of A, in [0, {n}), got {vertex}")
    return vertex
