"""Pointer jumping on a grid of ranks: the roots of a forest."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from linforest_precond.backends.annotations import Array
from linforest_precond.backends.user_warnings import named_arguments
from linforest_precond.distributed.grid2d.graph import Graph2D, on_backend
from linforest_precond.distributed.grid2d.packets import lookup
from linforest_precond.distributed.grid2d.vectors import own_results, own_vertices, vertex_dtype


@named_arguments
def pointer_jumping(graph: Graph2D, parents: npt.ArrayLike | None = None) -> Array:
    """Find the root of every vertex of a forest: pointers are replaced by those they point to.

    Pointers do not follow edges, so they are fetched by packet swapping, in about log2(depth) rounds.

    Parameters
    ----------
    graph : Graph2D
        The vertices and the ranks.
    parents : array of integers, optional
        The parent of each of this rank's vertices (``graph.offsets``). A root is its own parent, or has a
        negative one. By default the lowest neighbour of each vertex that is below it; directions of edges do
        not matter.

    Returns
    -------
    array
        The root of each of this rank's vertices, as `graph.tree_roots` of all parents: 32-bit integers where
        `parents` holds these, else 64-bit ones.

    Raises
    ------
    TypeError
        For values that are no integers.
    ValueError
        For a parent that is out of range, and for a cycle; the message names the vertex.

    Examples
    --------
    >>> from linforest_precond.distributed import grid2d, simulate
    >>> def roots(comm):
    ...     graph = grid2d.Graph2D(grid2d.Grid(comm), 5, [], [], offsets=[0, 2, 5])
    ...     return grid2d.pointer_jumping(graph, [[1, 3], [-1, 3, 2]][comm.rank]).tolist()
    >>> simulate(2, roots)
    [[3, 3], [2, 3, 2]]
    """
    comm = graph.grid.comm
    comm.same("whether parents are given", parents is not None)
    with comm.together():
        if parents is None:
            return jump(graph, lowest_neighbours(graph)).astype(vertex_dtype(graph.n))
        with comm.checking():
            checked = checked_parents(graph, parents)
        comm.same("the dtype of parents", checked.dtype.name)
        return jump(graph, checked.astype(np.int64)).astype(checked.dtype)


def lowest_neighbours(graph: Graph2D) -> Array:
    """The lowest neighbour of each own vertex, or itself where none is below it."""
    graph = graph.undirected()
    lowest = graph.vertices.copy()
    graph.lower(graph.xp.arange(graph.rows.size), True, graph.vertices, lowest)
    lowest[graph.rows.ids] = graph.grid.row.allreduce(lowest[graph.rows.ids], "min")
    return own_results(graph, lowest)


def jump(graph: Graph2D, parents: Array) -> Array:
    """The roots, by at most log2(n) + 1 rounds; vertices whose root is known are inactive.

    A pointer to a root v is stored as -(v + 1): a vertex of a cycle may come to point to itself.
    """
    xp, own = graph.xp, own_vertices(graph)
    pointers = xp.where((parents < 0) | (parents == own), -(own + 1), parents)
    active = xp.flatnonzero(pointers >= 0)
    for _ in range(graph.n.bit_length()):
        if not graph.grid.comm.total(active.size):
            break
        pointers[active] = lookup(graph.grid, graph.offsets, pointers, pointers[active])
        active = active[pointers[active] >= 0]
    _refuse_cycles(graph, own[active])
    return -(pointers + 1)


def _refuse_cycles(graph: Graph2D, unfinished: Array) -> None:
    own = int(unfinished.min()) if unfinished.size else graph.n
    first = int(graph.grid.comm.allreduce(own, "min"))
    with graph.grid.comm.checking():
        if first < graph.n:
            raise ValueError(
                f"parents must lead to a root from every vertex; from vertex {first} they lead into a cycle. "
                "Give a root itself, or a negative number, as its parent"
            )


def checked_parents(graph: Graph2D, parents: Any) -> Array:
    """Parents as int32 or int64."""
    found, own = on_backend(graph.backend, "parents", parents), own_vertices(graph)
    found = found if found.size else found.astype(np.int64)
    if not np.can_cast(found.dtype, np.int64) or found.dtype.kind == "b":
        raise TypeError(f"parents must hold integers that fit into 64 bits with a sign, got {found.dtype}")
    if found.shape != own.shape:
        raise ValueError(
            f"parents must have shape {own.shape}, one number a vertex of this rank, got {found.shape}"
        )
    outside = graph.xp.flatnonzero(found >= graph.n)
    if outside.size:
        raise ValueError(
            f"parents must hold vertices, below {graph.n}, or negative numbers at roots; "
            f"got {found[outside[0]]} at vertex {own[outside[0]]}"
        )
    return found.astype(np.int32 if found.dtype == np.int32 else np.int64)
