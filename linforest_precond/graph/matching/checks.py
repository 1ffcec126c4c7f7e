"""Whether an array of mates is a matching, and whether it is maximal."""

from __future__ import annotations

from typing import Any

import numpy as np

from linforest_precond.annotations import Array
from linforest_precond.backends import backend_of
from linforest_precond.gate import as_graph
from linforest_precond.matching_records import Matching
from linforest_precond.records import Graph
from linforest_precond.subnormals import is_nonzero


def is_matching(A: Any, mate: Any) -> bool:
    """Tell whether mates form a matching of A's graph: mutual, and joined by an edge.

    Parameters
    ----------
    A : sparse matrix or dense array
        Square, of SciPy, NumPy or CuPy. Entries off the diagonal that are not 0 are edges, both ways.
    mate : (N,) integer array or Matching
        The mate of each vertex, -1 for a single one, on A's device.

    Examples
    --------
    >>> import linforest_precond as lf
    >>> A = lf.matrices.stencil(4, [-1, 2, -1])
    >>> lf.graph.is_matching(A, [1, 0, -1, -1]), lf.graph.is_matching(A, [3, 2, 1, 0])
    (True, False)
    """
    graph = as_graph(A)
    mate = as_mates(mate, graph)
    return mate is not None and _is_matching(graph, mate)


def is_maximal_matching(A: Any, mate: Any) -> bool:
    """Tell whether mates form a matching of A's graph to which no edge can be added.

    Parameters
    ----------
    A, mate
        As in `is_matching`.

    Examples
    --------
    >>> import linforest_precond as lf
    >>> A = lf.matrices.stencil(4, [-1, 2, -1])
    >>> lf.graph.is_maximal_matching(A, [1, 0, -1, -1]), lf.graph.is_maximal_matching(A, [-1, 2, 1, -1])
    (False, True)
    """
    graph = as_graph(A)
    mate = as_mates(mate, graph)
    return mate is not None and _is_matching(graph, mate) and not _has_free_edge(graph, mate)


def _is_matching(graph: Graph, mate: Array) -> bool:
    joined = is_nonzero(backend_of(mate).matching.edge_values.edge_values(graph, mate))
    return are_mutual(mate) and bool((joined | (mate < 0)).all())  # stall: the answer


def are_mutual(mate: Array) -> bool:
    """Whether each vertex is the mate of its mate, and none is its own."""
    vertices = backend_of(mate).xp.arange(mate.size, dtype=mate.dtype)
    mutual = (mate != vertices) & (mate[mate] == vertices)
    return bool((mutual | (mate < 0)).all())  # stall: the answer


def _has_free_edge(graph: Graph, mate: Array) -> bool:
    rows = backend_of(mate).matrix.entries.rows_of(graph.indptr, graph.indices.size)
    free = mate < 0
    joined = (rows != graph.indices) & is_nonzero(graph.values)
    return bool((joined & free[rows] & free[graph.indices]).any())  # stall: the answer


def as_mates(mate: Any, graph: Graph, name: str = "mate") -> Array | None:
    """An array of the graph's index type, one number for each vertex; None where one of them is no vertex."""
    backend = backend_of(graph.values)
    mate = mate.mate if isinstance(mate, Matching) else mate
    if hasattr(mate, "dtype") and backend_of(mate) is not backend:
        raise TypeError(f"{name} must be on A's device ({backend.name}), got a {type(mate).__name__}")
    mate = backend.xp.asarray(mate)
    if mate.shape != (graph.n,):
        raise ValueError(
            f"{name} must have one number for each of A's {graph.n} rows, got shape {mate.shape}"
        )
    if mate.size and mate.dtype.kind not in "iu":
        raise TypeError(f"{name} must hold integers, got {mate.dtype}")
    mate = mate.astype(np.int64)
    outside = bool(((mate < -1) | (mate >= graph.n)).any())  # stall: before they are used as addresses
    return None if outside else mate.astype(graph.indices.dtype)
