"""Vectors partitioned by rows, the states of vertices on a grid, and consecutive numbers for labels."""

from __future__ import annotations

import numpy as np

from linforest_precond.backends.annotations import Array
from linforest_precond.distributed.grid2d.exchange import spread_all
from linforest_precond.distributed.grid2d.graph import Graph2D
from linforest_precond.distributed.grid2d.packets import lookup, swap
from linforest_precond.distributed.partition.owners import owners_of


def own_vertices(graph: Graph2D) -> Array:
    """The vertices whose results this rank has."""
    rank = graph.grid.comm.rank
    return np.arange(graph.offsets[rank], graph.offsets[rank + 1])


def own_results(graph: Graph2D, state: Array, dtype: type | None = None) -> Array:
    """The states of the own vertices; the rank that has a vertex as a row and as a column sends it."""
    piece = graph.push.pieces[graph.grid.j]
    vertices = graph.row_vertices[piece.begin - graph.rows.begin : piece.end - graph.rows.begin]
    bits = state[piece.ids].astype(np.float64 if state.dtype.kind == "f" else np.int64).view(np.int64)
    found = swap(graph.grid, owners_of(graph.offsets, vertices), np.column_stack([vertices, bits]))
    own = np.empty(len(found), np.int64)
    own[found[:, 0] - graph.offsets[graph.grid.comm.rank]] = found[:, 1]
    return own.view(np.float64) if state.dtype.kind == "f" else own.astype(dtype or np.int64)


def states_of(graph: Graph2D, values: Array) -> Array:
    """States from float64 values of the own vertices."""
    positions = graph.where.positions(own_vertices(graph))
    packets = np.column_stack([positions, np.ascontiguousarray(values, np.float64).view(np.int64)])
    found = swap(graph.grid, graph.where.block_owner(positions, positions), packets)
    state = np.zeros(graph.n_states)
    state[graph.rows.local(found[:, 0])] = np.ascontiguousarray(found[:, 1]).view(np.float64)
    spread_all(graph.push, state)
    spread_all(graph.pull, state)
    return state


def vertex_dtype(n: int) -> type:
    """The type of vertex numbers in results: int32 as on one rank, where they fit."""
    return np.int32 if n <= np.iinfo(np.int32).max else np.int64


def numbered_by_first(graph: Graph2D, labels: Array) -> tuple[int, Array]:
    """How many labels there are, and the labels of the own vertices numbered by their lowest vertices.

    Labels are vertices. The rank that owns a label's vertex finds the lowest vertex with that label.
    """
    grid, own = graph.grid, own_vertices(graph)
    distinct, where = np.unique(labels, return_index=True)
    found = swap(grid, owners_of(graph.offsets, distinct), np.column_stack([distinct, own[where]]))
    lowest = np.full(own.size, graph.n)
    np.minimum.at(lowest, found[:, 0] - graph.offsets[grid.comm.rank], found[:, 1])
    used = lowest < graph.n
    count, numbers = _numbers_of(graph, lowest[used])
    number_of_label = np.zeros(own.size, np.int64)
    number_of_label[used] = lookup(grid, graph.offsets, numbers, lowest[used])
    return count, lookup(grid, graph.offsets, number_of_label, labels)


def _numbers_of(graph: Graph2D, leaders: Array) -> tuple[int, Array]:
    """How many leaders all ranks name, and for each own vertex the number of leaders below it."""
    grid, offsets = graph.grid, graph.offsets
    found = swap(grid, owners_of(offsets, leaders), leaders[:, np.newaxis])[:, 0]
    is_leader = np.zeros(own_vertices(graph).size, np.int64)
    is_leader[found - offsets[grid.comm.rank]] = 1
    (count,) = grid.total(found.size)
    return count, grid.comm.offsets(found.size)[grid.comm.rank] + np.cumsum(is_leader) - is_leader
