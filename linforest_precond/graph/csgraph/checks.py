"""Checkers of components, independent sets, colourings and spanning forests, from any program."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from linforest_precond.backends import backend_of
from linforest_precond.backends.annotations import Array, MatrixLike
from linforest_precond.backends.arguments import as_integer
from linforest_precond.backends.array_libraries import xp_of
from linforest_precond.backends.flags import all_set, any_set
from linforest_precond.backends.user_warnings import named_arguments
from linforest_precond.graph.csgraph.components import labelled_components
from linforest_precond.matrix.checks import check_device
from linforest_precond.matrix.doors import as_csgraph, as_pattern


@named_arguments
def is_component_labelling(
    A: MatrixLike,
    labels: npt.ArrayLike,
    directed: bool = True,
    connection: str = "weak",
    *,
    method: str = "fastsv",
) -> bool:
    """Check whether labels are those of the components: equal exactly within a component.

    Parameters
    ----------
    A, directed, connection
        As for `connected_components`.
    labels : array of integers
        A label for each vertex, on A's device; the numbering of the components does not matter.
    method : {"fastsv", "fastsv_vertices", "union", "auto"}
        The algorithm for the weak components to compare with; by default another one than the default of
        `connected_components`.

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
    count, found = labelled_components(A, directed, connection, method)
    given = per_vertex("labels", labels, found)
    if not count:
        return True
    xp = xp_of(found)
    # The labels of one vertex of each component must be distinct and shared by the rest of the component.
    chosen = given[xp.unique(found, return_index=True)[1]]
    return all_set(given == chosen[found]) and int(xp.unique(chosen).size) == count  # stall: the answer


@named_arguments
def is_maximal_independent_set(A: MatrixLike, mis: npt.ArrayLike, k: int = 1) -> bool:
    """Check whether vertices form a distance-k independent set that is maximal.

    Parameters
    ----------
    A, k
        As in `maximal_independent_set`.
    mis : array of integers or booleans
        Nonzero for the vertices of the set, 0 for the others; on A's device.

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
    k = as_integer("k", k, 1)
    pattern = as_pattern(A)
    backend = pattern.backend
    xp = backend.xp
    rows, columns = backend.matrix.entries.rows_of(pattern.indptr, pattern.nnz), pattern.indices
    # The distance of each vertex to the nearest member, and that member; -1 for none so far.
    distances = xp.where(per_vertex("mis", mis, pattern.degrees) != 0, 0, -1).astype(np.int32)
    nearest = xp.where(distances == 0, xp.arange(pattern.n), -1).astype(np.int32)
    for distance in range(1, min(k, pattern.n) + 1):
        found = (distances[rows] == distance - 1) & (distances[columns] < 0)
        nearest[columns[found]] = nearest[rows[found]]
        distances[columns[found]] = distance
    # A shortest path between two members has an edge whose ends have different nearest members.
    too_close = (nearest[rows] != nearest[columns]) & (distances[rows] + distances[columns] < k)
    return all_set(distances >= 0) and not any_set(too_close)  # stall: two answers


@named_arguments
def is_coloring(A: MatrixLike, colors: npt.ArrayLike) -> bool:
    """Check whether every vertex has a colour, 0 or more, and no two neighbours have the same.

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
    backend = pattern.backend
    given = per_vertex("colors", colors, pattern.degrees)
    rows, columns = backend.matrix.entries.rows_of(pattern.indptr, pattern.nnz), pattern.indices
    same = (given[rows] == given[columns]) & (rows != columns)
    return all_set(given >= 0) and not any_set(same)  # stall: two answers


@named_arguments
def is_spanning_forest(A: MatrixLike, forest: MatrixLike) -> bool:
    """Check whether a matrix is a spanning forest of A: acyclic, with the components of A.

    Parameters
    ----------
    A : sparse matrix or dense array
        As for `minimum_spanning_tree`.
    forest : sparse matrix or dense array
        On A's device. Each edge is stored once, where A has it and with the same value; it need not be a
        minimum spanning forest.

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
    graph, trees = as_csgraph(A), as_csgraph(forest, "forest")
    backend = graph.backend
    check_device("forest", forest, backend)
    if trees.n != graph.n:
        raise ValueError(f"forest must have A's shape, ({graph.n}, {graph.n}), got ({trees.n}, {trees.n})")
    count, _ = labelled_components(trees)
    if trees.nnz != graph.n - count or count != labelled_components(graph)[0]:
        return False
    stored, wanted = (
        backend.matrix.entries.rows_of(csr.indptr, csr.nnz).astype(np.int64) * csr.n + csr.indices
        for csr in (graph, trees)
    )
    places = backend.xp.minimum(backend.xp.searchsorted(stored, wanted), max(graph.nnz - 1, 0))
    # stall: the answer
    return all_set((stored[places] == wanted) & (graph.data[places] == trees.data))


def per_vertex(name: str, values: npt.ArrayLike, like: Array) -> Array:
    """An argument with an integer for each vertex, on the device of `like`."""
    xp = xp_of(like)
    check_device(name, values, backend_of(like))
    array: Array = xp.asarray(values)
    if array.size and array.dtype.kind not in "biu":
        raise TypeError(f"{name} must hold integers, got {array.dtype}")
    if array.shape != like.shape:
        raise ValueError(f"{name} must have shape {like.shape}, one number a vertex, got {array.shape}")
    return array
