"""`is_matching` and `is_maximal_matching` check matchings from any program."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from linforest_precond.backends.annotations import Array, MatrixLike
from linforest_precond.backends.array_libraries import refuse_masked_or_ragged, xp_of
from linforest_precond.backends.flags import all_set, any_set
from linforest_precond.backends.user_warnings import named_arguments
from linforest_precond.matrix.checked import checked
from linforest_precond.matrix.checks import check_device
from linforest_precond.matrix.graphs import Graph
from linforest_precond.matrix.value_range import is_nonzero
from linforest_precond.records.matching import Matching


@named_arguments
def is_matching(A: MatrixLike, mate: npt.ArrayLike | Matching) -> bool:
    """Tell whether mates form a matching of A's graph: mutual, and joined by an edge.

    Parameters
    ----------
    A : sparse matrix or dense array
        Square, of SciPy, NumPy or CuPy. Nonzero off-diagonal entries are edges, in both directions.
    mate : (N,) integer array or Matching
        The mate of each vertex, -1 for a single one, on A's device.

    Examples
    --------
    >>> import linforest_precond as lf
    >>> A = lf.matrices.stencil(4, [-1, 2, -1])
    >>> lf.graph.is_matching(A, [1, 0, -1, -1]), lf.graph.is_matching(A, [3, 2, 1, 0])
    (True, False)
    """
    graph = checked(A).graph
    mates = as_mates(mate, graph)
    return mates is not None and _is_matching(graph, mates)


@named_arguments
def is_maximal_matching(A: MatrixLike, mate: npt.ArrayLike | Matching) -> bool:
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
    graph = checked(A).graph
    mates = as_mates(mate, graph)
    return mates is not None and _is_matching(graph, mates) and not _has_free_edge(graph, mates)


def _is_matching(graph: Graph, mate: Array) -> bool:
    joined = is_nonzero(graph.backend.matching.matched_weight.matched_edge_values(graph, mate))
    return are_mutual(mate) and all_set(joined | (mate < 0))  # stall: the result


def are_mutual(mate: Array) -> bool:
    """Whether each vertex with a mate is the mate of its mate, and none is its own mate."""
    vertices = xp_of(mate).arange(mate.size, dtype=mate.dtype)
    mutual = (mate != vertices) & (mate[mate] == vertices)
    return all_set(mutual | (mate < 0))  # stall: the result


def _has_free_edge(graph: Graph, mate: Array) -> bool:
    rows = graph.backend.matrix.entries.rows_of(graph.indptr, graph.indices.size)
    free = mate < 0
    joined = (rows != graph.indices) & is_nonzero(graph.values)
    return any_set(joined & free[rows] & free[graph.indices])  # stall: the result


def checked_mates(matching: Any, graph: Graph, vertices: str = "rows") -> Array:
    """The mates of the argument `matching`, which must be mutual."""
    mate = as_mates(matching, graph, "matching", vertices)
    if mate is None or not are_mutual(mate):
        raise ValueError("matching must name as mates two vertices that name each other, or -1")
    return mate


def as_mates(mate: Any, graph: Graph, name: str = "mate", vertices: str = "rows") -> Array | None:
    """The mates as an array of the graph's index type, or None if one of them is neither a vertex nor -1."""
    backend = graph.backend
    mate = mate.mate if isinstance(mate, Matching) else mate
    if hasattr(mate, "dtype"):
        check_device(name, mate, backend)
    refuse_masked_or_ragged(name, mate)
    mate = backend.xp.asarray(mate)
    if mate.shape != (graph.n,):
        raise ValueError(
            f"{name} must have one number for each of A's {graph.n} {vertices}, got shape {mate.shape}"
        )
    if mate.size and mate.dtype.kind not in "iu":
        raise TypeError(f"{name} must hold integers, got {mate.dtype}")
    mate = mate.astype(np.int64)
    outside = any_set((mate < -1) | (mate >= graph.n))  # stall: before they are used as indices
    return None if outside else mate.astype(graph.indices.dtype)
