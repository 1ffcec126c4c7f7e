"""The Cuthill-McKee order of a matrix, its reverse, and the vertex they start from."""

from __future__ import annotations

from typing import Any

import numpy as np

from linforest_precond.annotations import Array
from linforest_precond.backends import backend_of
from linforest_precond.gate import as_pattern
from linforest_precond.graph.csgraph.bfs_levels import checked_vertex
from linforest_precond.records import Pattern


def reverse_cuthill_mckee(
    A: Any, symmetric_mode: bool = False, *, start: int | None = None, method: str = "auto"
) -> Array:
    """Order a matrix so that its entries lie close to the diagonal: the reverse of `cuthill_mckee`.

    A drop-in for `scipy.sparse.csgraph.reverse_cuthill_mckee` that starts from pseudo-peripheral vertices,
    and gives the same order on every backend and for any number of threads. The parallel methods are those of
    Mlakar et al., "Speculative Parallel Reverse Cuthill-McKee Reordering on Multi- and Many-core
    Architectures" (IPDPS 2021).

    Parameters
    ----------
    A : sparse matrix or dense array
        Square, of SciPy, NumPy or CuPy. Stored entries are edges, as in csgraph: values do not matter.
    symmetric_mode : bool
        Whether A's pattern is known to be symmetric. Otherwise, the pattern of A + A.T is ordered where it is
        not.
    start : int, optional
        The vertex to start from in its component. In all others, and by default, it is the component's
        `pseudo_peripheral_node`.
    method : {"auto", "serial", "leveled", "batch"}
        How the order is found; it is the same for all. "serial" works on the CPU only.

    Returns
    -------
    array of int32
        ``order[new] = old``, on A's device.

    See Also
    --------
    linforest_precond.permute : put a matrix into this order.

    Examples
    --------
    >>> import linforest_precond as lf
    >>> A = lf.matrices.poisson((10, 100))
    >>> order = lf.graph.reverse_cuthill_mckee(A)
    >>> lf.graph.bandwidth(A), lf.graph.bandwidth(A, order)
    (100, 10)
    """
    return cuthill_mckee(A, symmetric_mode, start=start, method=method)[::-1].copy()


def cuthill_mckee(
    A: Any, symmetric_mode: bool = False, *, start: int | None = None, method: str = "auto"
) -> Array:
    """Number the vertices breadth first, each one's new neighbours by ascending degree.

    A vertex's degree is the number of its neighbours, itself not counted; of equal degrees the lower index
    comes first. Components follow one another in the order of their lowest vertices.

    Parameters
    ----------
    A, symmetric_mode, start, method
        As in `reverse_cuthill_mckee`.

    Returns
    -------
    array of int32
        ``order[new] = old``, on A's device.

    Examples
    --------
    >>> import numpy as np
    >>> import linforest_precond as lf
    >>> star_with_tail = np.array([[0, 1, 1, 1], [1, 0, 0, 0], [1, 0, 0, 0], [1, 0, 0, 0]])
    >>> lf.graph.cuthill_mckee(star_with_tail, start=2).tolist()
    [2, 0, 1, 3]
    """
    return order_pattern(as_pattern(A, symmetric_mode=symmetric_mode), start, method)


def order_pattern(pattern: Pattern, start: int | None = None, method: str = "auto") -> Array:
    """The Cuthill-McKee order of a checked symmetric pattern."""
    backend = backend_of(pattern.indptr)
    methods = "auto", *backend.reordering.cuthill_mckee.METHODS
    if method not in methods:
        offered = ", ".join(map(repr, methods))
        raise ValueError(f"method must be one of {offered} on {backend.name}, got {method!r}")
    if start is not None:
        start = checked_vertex("start", start, pattern.n)
    if pattern.n == 0:
        return backend.xp.empty(0, np.int32)
    return backend.reordering.cuthill_mckee.order(pattern, start, method)


def pseudo_peripheral_node(A: Any, start: int | None = None) -> tuple[int, Array, Array]:
    """Find a vertex that lies at the rim of its component: one from which others are far away.

    A breadth-first search goes on from the lowest-degree vertex (of equal ones the lower index) of the last
    level of the one before, until that does not get deeper.

    Parameters
    ----------
    A : sparse matrix or dense array
        As in `reverse_cuthill_mckee`; the pattern of A + A.T is searched.
    start : int, optional
        Where the first search begins; by default at the vertex of lowest degree among those that have
        neighbours.

    Returns
    -------
    node : int
        Where the last search began.
    order : array of int32
        The vertices that it reached, by level and index.
    level : array of int32
        How far each vertex is from `node`; -1 for other components.

    Examples
    --------
    >>> import linforest_precond as lf
    >>> node, order, level = lf.graph.pseudo_peripheral_node(lf.matrices.poisson((5, 5)), start=12)
    >>> node, int(level.max())
    (24, 8)
    """
    pattern = as_pattern(A)
    if start is not None:
        start = checked_vertex("start", start, pattern.n)
    if pattern.n == 0:
        raise ValueError("A must have at least one row to search for a vertex, got shape (0, 0)")
    backend = backend_of(pattern.indptr)
    if start is None:
        start = _first_of_lowest(backend.xp.where(pattern.degrees > 0, pattern.degrees, pattern.n))
    node, level = _search(pattern, start, backend)
    reached = backend.xp.flatnonzero(level >= 0)
    order = reached[backend.xp.argsort(level[reached], kind="stable")]
    return node, order.astype(np.int32), level


def _search(pattern: Pattern, node: int, backend: Any) -> tuple[int, Array]:
    level = backend.csgraph.breadth_first.bfs_levels(pattern, node)
    depth = int(level.max())  # stall: whether the search goes on
    while depth > 0:
        last = backend.xp.flatnonzero(level == depth)
        node = int(last[_first_of_lowest(pattern.degrees[last])])
        level = backend.csgraph.breadth_first.bfs_levels(pattern, node)
        before, depth = depth, int(level.max())  # stall: whether the search goes on
        if depth <= before:
            break
    return node, level


def _first_of_lowest(numbers: Array) -> int:
    return int(numbers.argmin())  # stall: a vertex to start from
