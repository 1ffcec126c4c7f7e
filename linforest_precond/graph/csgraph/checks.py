"""Whether an answer is one: checkers for what the graph algorithms return, or what came from elsewhere."""

from __future__ import annotations

from typing import Any

import numpy as np

from linforest_precond.annotations import Array
from linforest_precond.backends import backend_of
from linforest_precond.gate import as_csgraph, as_pattern
from linforest_precond.graph.csgraph.components import connected_components
from linforest_precond.graph.csgraph.independent_set import checked_steps


def is_component_labelling(
    A: Any, labels: Any, directed: bool = True, connection: str = "weak", *, method: str = "fastsv"
) -> bool:
    """Check whether two vertices have the same label exactly where they are in the same component.

    Parameters
    ----------
    A, directed, connection
        As for `connected_components`.
    labels : array of integers
        A label for each vertex, on A's device; which number a component has does not matter.
    method : {"fastsv", "union", "auto"}
        How the weak components are found that the labels are compared with: by default not the way in which
        `connected_components` finds its own.

    Returns
    -------
    bool

    References
    ----------
    R. Cichra, "Parallel graph algorithms for GPU", Czech Technical University in Prague (2024), section 6.1.

    Examples
    --------
    >>> import numpy as np
    >>> import linforest_precond as lf
    >>> A = np.array([[0, 0, 1], [0, 0, 0], [0, 0, 0]])
    >>> lf.graph.is_component_labelling(A, [7, 3, 7]), lf.graph.is_component_labelling(A, [7, 7, 7])
    (True, False)
    """
    count, found = connected_components(A, directed, connection, method=method)
    labels = per_vertex("labels", labels, found)
    if not count:
        return True
    xp = backend_of(found).xp
    # One vertex of each component: their labels, all different, decide for the others.
    chosen = labels[xp.unique(found, return_index=True)[1]]
    return bool((labels == chosen[found]).all()) and xp.unique(chosen).size == count  # stall: the answer


def is_maximal_independent_set(A: Any, mis: Any, k: int = 1) -> bool:
    """Tell whether marked vertices are more than k steps apart, and no further one has room.

    Parameters
    ----------
    A, k
        As in `maximal_independent_set`.
    mis : array of integers or booleans
        A number for each vertex, on A's device; those that are not 0 mark the set.

    Returns
    -------
    bool

    References
    ----------
    R. Cichra, "Parallel graph algorithms for GPU", Czech Technical University in Prague (2024), section 6.1.

    Examples
    --------
    >>> import linforest_precond as lf
    >>> A = lf.matrices.poisson((2, 2))
    >>> is_mis = lf.graph.is_maximal_independent_set
    >>> [is_mis(A, vertices) for vertices in ([1, 0, 0, 1], [1, 0, 0, 0], [1, 1, 0, 0])]
    [True, False, False]
    >>> is_mis(A, [1, 0, 0, 0], k=2)
    True
    """
    k = checked_steps(k)
    pattern = as_pattern(A)
    backend = backend_of(pattern.indptr)
    xp = backend.xp
    rows, columns = backend.matrix.entries.rows_of(pattern.indptr, pattern.nnz), pattern.indices
    # How far each vertex is from the nearest of the set, and which that is; -1 for none so far.
    distances = xp.where(per_vertex("mis", mis, pattern.degrees) != 0, 0, -1).astype(np.int32)
    nearest = xp.where(distances == 0, xp.arange(pattern.n), -1).astype(np.int32)
    for distance in range(1, min(k, pattern.n) + 1):
        found = (distances[rows] == distance - 1) & (distances[columns] < 0)
        nearest[columns[found]] = nearest[rows[found]]
        distances[columns[found]] = distance
    # A shortest way between two of the set has one edge at which the nearest changes.
    meeting = (nearest[rows] != nearest[columns]) & (distances[rows] + distances[columns] < k)
    return bool((distances >= 0).all()) and not bool(meeting.any())  # stall: two answers


def is_coloring(A: Any, colors: Any) -> bool:
    """Tell whether every vertex has a colour, 0 or more, that none of its neighbours has.

    Parameters
    ----------
    A
        As in `vertex_coloring`.
    colors : array of integers
        A number for each vertex, on A's device.

    Returns
    -------
    bool

    Examples
    --------
    >>> import linforest_precond as lf
    >>> A = lf.matrices.poisson((2, 2))
    >>> lf.graph.is_coloring(A, [0, 1, 1, 0]), lf.graph.is_coloring(A, [0, 1, 0, 1])
    (True, False)
    """
    pattern = as_pattern(A)
    backend = backend_of(pattern.indptr)
    colors = per_vertex("colors", colors, pattern.degrees)
    rows, columns = backend.matrix.entries.rows_of(pattern.indptr, pattern.nnz), pattern.indices
    same = (colors[rows] == colors[columns]) & (rows != columns)
    return bool((colors >= 0).all()) and not bool(same.any())  # stall: two answers


def is_spanning_forest(A: Any, forest: Any) -> bool:
    """Tell whether entries of a matrix join its vertices, without a cycle, into the components it has.

    Parameters
    ----------
    A : sparse matrix or dense array
        As for `minimum_spanning_tree`.
    forest : sparse matrix or dense array
        On A's device. Each edge is stored once, where A has it and with the same value; whether other edges
        are lighter does not matter.

    Returns
    -------
    bool

    Examples
    --------
    >>> import numpy as np
    >>> import linforest_precond as lf
    >>> A = np.array([[0, 1, 2], [1, 0, 3], [2, 3, 0]])
    >>> lf.graph.is_spanning_forest(A, np.triu(A)), lf.graph.is_spanning_forest(A, np.triu(A, 2))
    (False, False)
    >>> lf.graph.is_spanning_forest(A, lf.graph.maximum_spanning_forest(A))
    True
    """
    graph, trees = as_csgraph(A), as_csgraph(forest)
    backend = backend_of(graph.data)
    if backend_of(trees.data) is not backend:
        raise TypeError(f"forest must be on A's device, got a {type(forest).__name__}")
    if trees.n != graph.n:
        raise ValueError(f"forest must have A's shape, ({graph.n}, {graph.n}), got ({trees.n}, {trees.n})")
    count = connected_components(trees, return_labels=False)
    if trees.nnz != graph.n - count or count != connected_components(graph, return_labels=False):
        return False
    stored, wanted = (
        backend.matrix.entries.rows_of(csr.indptr, csr.nnz).astype(np.int64) * csr.n + csr.indices
        for csr in (graph, trees)
    )
    places = backend.xp.minimum(backend.xp.searchsorted(stored, wanted), max(graph.nnz - 1, 0))
    # stall: the answer
    return bool(((stored[places] == wanted) & (graph.data[places] == trees.data)).all())


def per_vertex(name: str, values: Any, like: Array) -> Array:
    """An argument with an integer for each vertex, on the device of `like`."""
    xp = backend_of(like).xp
    if backend_of(values) is not backend_of(like):
        raise TypeError(f"{name} must be on A's device, got a {type(values).__name__}")
    values = xp.asarray(values)
    if values.size and values.dtype.kind not in "biu":
        raise TypeError(f"{name} must hold integers, got {values.dtype}")
    if values.shape != like.shape:
        raise ValueError(f"{name} must have shape {like.shape}, one number a vertex, got {values.shape}")
    return values
