"""Conversion between partitioned vectors and states on a grid of ranks, and relabelling."""

from __future__ import annotations

import numpy as np

from linforest_precond.backends.annotations import Array
from linforest_precond.distributed.grid2d.blocks import run_begins
from linforest_precond.distributed.grid2d.exchange import spread_all, spread_some
from linforest_precond.distributed.grid2d.graph import Graph2D
from linforest_precond.distributed.grid2d.packets import hop, lookup, swap
from linforest_precond.distributed.partition.owners import owners_of


def own_vertices(graph: Graph2D) -> Array:
    """The vertices whose results this rank has."""
    rank = graph.grid.comm.rank
    return graph.xp.arange(int(graph.offsets[rank]), int(graph.offsets[rank + 1]))


def own_results(graph: Graph2D, state: Array, dtype: type | None = None) -> Array:
    """The states of the own vertices; the rank that has a vertex as a row and as a column sends it."""
    piece = graph.push.pieces[graph.grid.j]
    vertices = graph.vertices[piece.ids]
    bits = state[piece.ids].astype(np.float64 if state.dtype.kind == "f" else np.int64).view(np.int64)
    found = swap(graph.grid, owners_of(graph.offsets, vertices), graph.xp.column_stack([vertices, bits]))
    own = graph.xp.empty(len(found), np.int64)
    own[found[:, 0] - int(graph.offsets[graph.grid.comm.rank])] = found[:, 1]
    return own.view(np.float64) if state.dtype.kind == "f" else own.astype(dtype or np.int64)


def states_of(graph: Graph2D, values: Array) -> Array:
    """States from float64 values of the own vertices."""
    positions = graph.where.positions(own_vertices(graph))
    xp = graph.xp
    packets = xp.column_stack([positions, xp.ascontiguousarray(values, np.float64).view(np.int64)])
    found = swap(graph.grid, graph.where.block_owner(positions, positions), packets)
    state = xp.zeros(graph.n_states)
    state[graph.rows.local(found[:, 0])] = xp.ascontiguousarray(found[:, 1]).view(np.float64)
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
    grid, own, first = graph.grid, own_vertices(graph), int(graph.offsets[graph.grid.comm.rank])
    order = graph.xp.argsort(labels, kind="stable")
    firsts = order[run_begins(labels[order])]
    packets = graph.xp.column_stack([labels[firsts], own[firsts]])
    found = swap(grid, owners_of(graph.offsets, packets[:, 0]), packets)
    lowest = graph.xp.full(own.size, graph.n)
    graph.blocks.minimum_at(lowest, found[:, 0] - first, found[:, 1])
    leaders = lookup(grid, graph.offsets, lowest, labels)
    numbered, numbers = grid.comm.numbered(leaders == own)
    return int(numbered[-1]), lookup(grid, graph.offsets, numbers, leaders)


def sent_to_shares(graph: Graph2D, packets: Array) -> Array:
    """Packets that begin with a row, on the ranks of the row group that have the rows' shares."""
    shares = (packets[:, 0] + 1) * graph.grid.shape[1] - 1
    return hop(graph.grid.row, shares // max(graph.rows.size, 1), packets)


def spread_rows(graph: Graph2D, state: Array, rows: Array, values: Array) -> Array:
    """Set the states of some rows from one rank of the row group each, on all ranks that hold these vertices.

    Returns the rows of all ranks of the group.
    """
    pairs = graph.grid.row.allgather_arrays(graph.xp.column_stack([rows, values]))
    ids = pairs[:, 0] + graph.rows.start
    state[ids] = pairs[:, 1]
    spread_some(graph.pull, state, ids)
    return pairs[:, 0]
