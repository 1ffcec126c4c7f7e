"""Consecutive numbers for labels."""

from __future__ import annotations

import numpy as np

from linforest_precond.annotations import Array
from linforest_precond.distributed.grid2d.graph import Graph2D
from linforest_precond.distributed.grid2d.packets import lookup, swap
from linforest_precond.distributed.grid2d.vectors import own_vertices
from linforest_precond.distributed.grid2d.vertex_map import group_of


def numbered_by_first(graph: Graph2D, labels: Array) -> tuple[int, Array]:
    """How many labels there are, and the labels of the own vertices numbered by their lowest vertices.

    Labels are vertices. The rank that owns a label's vertex finds the lowest vertex with that label.
    """
    grid, own = graph.grid, own_vertices(graph)
    distinct, where = np.unique(labels, return_index=True)
    found = swap(grid, group_of(graph.offsets, distinct), np.column_stack([distinct, own[where]]))
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
    found = swap(grid, group_of(offsets, leaders), leaders[:, np.newaxis])[:, 0]
    is_leader = np.zeros(own_vertices(graph).size, np.int64)
    is_leader[found - offsets[grid.comm.rank]] = 1
    (count,) = grid.total(found.size)
    return count, grid.comm.offsets(found.size)[grid.comm.rank] + np.cumsum(is_leader) - is_leader
