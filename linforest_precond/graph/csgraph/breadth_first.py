"""The breadth-first order of the vertices."""

from __future__ import annotations

import operator
from typing import SupportsIndex

from linforest_precond.backends.annotations import Array, MatrixLike
from linforest_precond.backends.user_warnings import named_arguments, renamed_arguments
from linforest_precond.matrix.doors import as_pattern


@named_arguments
def breadth_first_order(
    A: MatrixLike, i_start: int, directed: bool = True, return_predecessors: bool = True
) -> Array | tuple[Array, Array]:
    """List vertices breadth first, called as `scipy.sparse.csgraph.breadth_first_order`.

    SciPy lists vertices in the order of its queue; here they are listed by (depth, index), and a vertex's
    predecessor is the lowest neighbour one step closer to the start. So the order is the same on both
    backends and for any number of threads. The depths are SciPy's.

    Parameters
    ----------
    A : sparse matrix or dense array
        Square, of SciPy, NumPy or CuPy. An entry in row i and column j leads from i to j; values do not
        matter.
    i_start : int
        The vertex to start from.
    directed : bool
        Whether entries lead one way only.
    return_predecessors : bool
        Whether the predecessors are returned too.

    Returns
    -------
    node_array : array of int32
        The reachable vertices, `i_start` first, on A's device.
    predecessors : array of int32
        Each vertex's predecessor; -9999 for `i_start` and for vertices that are not reachable.

    References
    ----------
    S. Beamer, K. Asanović, D. Patterson, "Direction-Optimizing Breadth-First Search" (2012),
    https://doi.org/10.1109/SC.2012.50

    Examples
    --------
    >>> import numpy as np
    >>> import linforest_precond as lf
    >>> A = np.array([[0, 1, 1, 0], [0, 0, 0, 1], [0, 0, 0, 1], [0, 0, 0, 0]])
    >>> order, predecessors = lf.graph.breadth_first_order(A, 0)
    >>> order.tolist(), predecessors.tolist()
    ([0, 1, 2, 3], [-9999, 0, 0, 1])
    """
    pattern = as_pattern(A, directed=bool(directed))
    start = checked_vertex("i_start", i_start, pattern.n)
    search = pattern.backend.csgraph.breadth_first
    order, predecessors = search.breadth_first_order(pattern, start, bool(return_predecessors))
    return (order, predecessors) if return_predecessors else order


@renamed_arguments(source="i_start")
def bfs_levels(A: MatrixLike, i_start: int, directed: bool = True) -> Array:
    """The depth (level) of every vertex in a breadth-first search: its distance from the first one in edges.

    Direction-optimizing [1]_ where A's pattern is symmetric.

    Parameters
    ----------
    A : sparse matrix or dense array
        Square, of SciPy, NumPy or CuPy. An entry in row i and column j leads from i to j; values do not
        matter.
    i_start : int
        The vertex to start from.
    directed : bool
        Whether entries lead one way only.

    Returns
    -------
    array of int32
        The depth, 0 for `i_start`, -1 where a vertex is not reachable; on A's device.

    References
    ----------
    .. [1] S. Beamer, K. Asanović, D. Patterson, "Direction-Optimizing Breadth-First Search", SC 2012,
       https://doi.org/10.1109/SC.2012.50

    Examples
    --------
    >>> import numpy as np
    >>> import linforest_precond as lf
    >>> A = np.array([[0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 0], [0, 0, 1, 0]])
    >>> lf.graph.bfs_levels(A, 0).tolist(), lf.graph.bfs_levels(A, 0, directed=False).tolist()
    ([0, 1, 2, -1], [0, 1, 2, 3])
    """
    pattern = as_pattern(A, directed=bool(directed))
    i_start = checked_vertex("i_start", i_start, pattern.n)
    return pattern.backend.csgraph.breadth_first.bfs_levels(pattern, i_start)


def checked_vertex(name: str, vertex: SupportsIndex, n: int) -> int:
    """A vertex of a graph of n, as a Python number."""
    try:
        number = operator.index(vertex)
    except TypeError:
        raise TypeError(f"{name} must be an integer, got {type(vertex).__name__}") from None
    if not 0 <= number < n:
        raise ValueError(f"{name} must be a vertex of A, in [0, {n}), got {number}")
    return number
