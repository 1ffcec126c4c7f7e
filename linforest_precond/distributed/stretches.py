"""Stretches: the maximal pieces of paths, and of cycles, whose vertices one rank owns."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from linforest_precond.annotations import Array
from linforest_precond.backends.cpu.forest.linear_forest import linear_forest as walk_paths
from linforest_precond.backends.cpu.runtime.arrays import NO_VERTEX
from linforest_precond.backends.returns import ForestArrays
from linforest_precond.distributed.chains import END, Chains
from linforest_precond.distributed.communicator import parts_by_rank
from linforest_precond.distributed.graph import RankGraph
from linforest_precond.distributed.owners import joined, owners_of
from linforest_precond.own_matrix import index_dtype
from linforest_precond.subnormals import magnitude_bits


@dataclass(frozen=True, eq=False)
class Stretches:
    """The stretches of a rank. Vertices are numbered on this rank, and neighbors by global ids.

    Attributes
    ----------
    heads, position, lengths
        For each own vertex: the smaller end of its stretch, its position counted from 1 there, and the length
        of the stretch.
    crossing
        The heads of the stretches that continue on other ranks, ascending.
    vertices, sides, others
        The edges to other ranks: the own vertex, the side of its stretch, and the neighbor. Side 0 is that of
        the head.
    cycles
        Number of cycles, all on this rank, that were broken.
    """

    heads: Array
    position: Array
    lengths: Array
    crossing: Array
    vertices: Array
    sides: Array
    others: Array
    cycles: int

    def numbers(self, vertices: Array) -> Array:
        """The indices in `crossing` of the stretches of these vertices, which continue on other ranks."""
        return np.searchsorted(self.crossing, self.heads[vertices])

    def members(self, chosen: Array) -> Array:
        """The vertices of the crossing stretches that are chosen by a mask."""
        selected = np.zeros(self.heads.size, bool)
        selected[self.crossing] = chosen
        return np.flatnonzero(selected[self.heads])


def contract(graph: RankGraph, neighbors: Array, values: Array) -> Stretches:
    """Walk along the stretches; cycles on this rank lose their weakest edge in `neighbors` and `values`."""
    own = (neighbors >= graph.first) & (neighbors < graph.first + graph.n_local)
    local = np.where(own, neighbors - graph.first, NO_VERTEX).astype(index_dtype(graph.n_local))
    inside = own_first(local, own), own_first(np.where(own, values, 0), own)
    walked = walk_paths(*inside, None)
    copy_broken(graph, inside[0], walked, neighbors, values)
    heads, position, lengths = (
        array.astype(np.int64) for array in (walked.path_id, walked.position, walked.lengths)
    )
    vertices, slots = np.nonzero((neighbors >= 0) & ~own)
    lengths = lengths[heads]
    # A single vertex may have an edge to another rank on each side.
    sides = np.where(lengths[vertices] > 1, position[vertices] > 1, slots)
    return Stretches(
        heads=heads,
        position=position,
        lengths=lengths,
        crossing=np.unique(heads[vertices]),
        vertices=vertices,
        sides=sides,
        others=neighbors[vertices, slots],
        cycles=int(walked.counts[2]),
    )


def own_first(table: Array, own: Array) -> Array:
    """A table of two columns; entries of own neighbors move to the front."""
    swap = own[:, 1] & ~own[:, 0]
    out: Array = np.where(swap[:, None], table[:, ::-1], table)
    return out


def copy_broken(
    graph: RankGraph, before: Array, walked: ForestArrays, neighbors: Array, values: Array
) -> None:
    """Write the vertices that lost an edge of a cycle on this rank; both of their neighbors were own ones."""
    rows = np.flatnonzero((walked.neighbors != before).any(axis=1))
    left = walked.neighbors[rows].astype(np.int64)
    neighbors[rows] = np.where(left >= 0, left + graph.first, NO_VERTEX)
    values[rows] = walked.values[rows]


def link(graph: RankGraph, stretches: Stretches) -> Chains:
    """Join the stretches of all ranks to chains: both ends of an edge tell each other their states.

    Two ranks list the edges between them in the same order, so that no ids need to be sent.
    """
    comm, first = graph.comm, graph.first
    count = stretches.crossing.size
    offsets = np.concatenate([[0], np.cumsum(comm.allgather(2 * count))])
    leaving = 2 * stretches.numbers(stretches.vertices) + stretches.sides
    entering = offsets[comm.rank] + (leaving ^ 1)  # who enters through a side leaves through the other
    ids, others = first + stretches.vertices, stretches.others
    order = np.lexsort((np.maximum(ids, others), np.minimum(ids, others)))
    told, kept = parts_by_rank(owners_of(graph.offsets, others[order]), [entering[order], leaving[order]])
    found = comm.exchange_known(told, {r: part.size for r, part in told.items()}, entering)
    following = np.full(2 * count, END)
    following[joined(kept, leaving)] = joined(found, entering)
    tails = np.zeros_like(stretches.heads)
    last = np.flatnonzero(stretches.position == stretches.lengths)
    tails[stretches.heads[last]] = last
    ends = first + np.stack([stretches.crossing, tails[stretches.crossing]], axis=1)
    return Chains(comm, offsets, following, np.repeat(stretches.lengths[stretches.crossing], 2), ends.ravel())


def break_chain_cycles(
    graph: RankGraph, stretches: Stretches, chains: Chains, on_cycle: Array, neighbors: Array, values: Array
) -> int:
    """Remove the weakest edge of each cycle of chains; `on_cycle` tells for each state whether it is on one.

    Returns the number of cycles whose weakest edge has its smaller end on this rank.
    """
    edges = weakest_edges(graph, stretches, on_cycle[::2], neighbors, values)
    weakest = chains.least_on_cycles(np.flatnonzero(on_cycle), np.repeat(edges, 2, axis=0))
    low, high = np.unique(weakest[:, 1:], axis=0).T
    for v, w in ((low, high), (high, low)):
        own = (v >= graph.first) & (v < graph.first + graph.n_local)
        remove(neighbors, values, v[own] - graph.first, w[own])
    return int(np.count_nonzero((low >= graph.first) & (low < graph.first + graph.n_local)))


def weakest_edges(
    graph: RankGraph, stretches: Stretches, chosen: Array, neighbors: Array, values: Array
) -> Array:
    """For each chosen stretch its edge with the least (weight, smaller end, larger end), as integers.

    The bits of the weights compare as the weights do. Edges to other ranks are included.
    """
    vertices = stretches.members(chosen)
    rows, slots = np.nonzero(neighbors[vertices] >= 0)
    v = vertices[rows]
    w, ids = neighbors[v, slots], graph.first + v
    bits = magnitude_bits(np.ascontiguousarray(values[v, slots])).astype(np.int64)
    edges = np.stack([bits, np.minimum(ids, w), np.maximum(ids, w)], axis=1)
    order = np.lexsort((*edges.T[::-1], stretches.heads[v]))
    _, first = np.unique(stretches.heads[v][order], return_index=True)
    least: Array = edges[order[first]]
    return least


def remove(neighbors: Array, values: Array, v: Array, w: Array) -> None:
    """Remove the neighbors w from the rows v; the other neighbor moves to the front."""
    front = v[neighbors[v, 0] == w]
    neighbors[front, 0], values[front, 0] = neighbors[front, 1], values[front, 1]
    neighbors[v, 1], values[v, 1] = NO_VERTEX, 0
