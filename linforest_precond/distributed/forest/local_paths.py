"""Local paths: the maximal pieces of paths, and of cycles, whose vertices one rank owns."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from linforest_precond.backends.annotations import Array
from linforest_precond.backends.array_libraries import on_host, xp_of
from linforest_precond.backends.returns import ForestArrays
from linforest_precond.distributed.forest.graph import RankGraph
from linforest_precond.distributed.forest.list_ranking import END, ContractedPaths
from linforest_precond.distributed.partition import NO_VERTEX
from linforest_precond.distributed.partition.communicator import parts_by_rank
from linforest_precond.distributed.partition.owners import joined, owners_of
from linforest_precond.matrix.conversion import index_dtype
from linforest_precond.matrix.value_range import magnitude_bits


@dataclass(frozen=True, eq=False)
class LocalPaths:
    """The local paths of a rank. Vertices are numbered on this rank, and neighbors by global ids."""

    heads: Array  # of each own vertex: the smaller end of its local path
    position: Array  # of each own vertex in its local path, counted from 1 at the head
    lengths: Array  # of each own vertex's local path
    crossing: Array  # the heads of the local paths that continue on other ranks, ascending
    vertices: Array  # of the edges to other ranks: the own vertices
    sides: Array  # of these in their local paths; 0 is the side of the head
    others: Array  # the neighbors
    cycles: int  # number of cycles that were broken, all of their vertices on this rank

    def numbers(self, vertices: Array) -> Array:
        """The indices in `crossing` of the local paths of these vertices, which continue on other ranks."""
        if not vertices.size:
            return vertices
        found: Array = xp_of(self.heads).searchsorted(self.crossing, self.heads[vertices])
        return found

    def members(self, chosen: Array) -> Array:
        """The vertices of the crossing local paths that are chosen by a mask."""
        xp = xp_of(self.heads)
        selected = xp.zeros(self.heads.size, bool)
        selected[self.crossing] = xp.asarray(chosen)
        found: Array = xp.flatnonzero(selected[self.heads])
        return found


def contract(graph: RankGraph, neighbors: Array, values: Array) -> LocalPaths:
    """Walk along the local paths; cycles on this rank lose their weakest edge in `neighbors` and `values`."""
    xp, own = graph.backend.xp, graph.halo.is_own(neighbors)
    local = xp.where(own, neighbors - graph.first, NO_VERTEX).astype(index_dtype(graph.n_local))
    inside = local, values
    if graph.halo.ghosts.size:
        inside = own_first(local, own), own_first(xp.where(own, values, values.dtype.type(0)), own)
    nothing = inside[0][:, 0]
    walked = ForestArrays(*inside, None, nothing, nothing, nothing, np.zeros(3, np.int64))
    if graph.n_local:
        walked = graph.backend.forest.linear_forest.linear_forest(*inside, None)
    cycles = int(walked.counts[2])  # stall: decides whether edges are removed
    if cycles:
        copy_broken(graph, inside[0], walked, neighbors, values)
    heads, position, lengths = (
        array.astype(np.int64) for array in (walked.path_id, walked.position, walked.lengths)
    )
    vertices = slots = heads[:0]
    if graph.halo.ghosts.size:
        vertices, slots = xp.nonzero((neighbors >= 0) & ~own)
    lengths = lengths[heads]
    # A single vertex may have an edge to another rank on each side.
    sides = xp.where(lengths[vertices] > 1, position[vertices] > 1, slots)
    return LocalPaths(
        heads=heads,
        position=position,
        lengths=lengths,
        crossing=xp.unique(heads[vertices]) if vertices.size else heads[:0],
        vertices=vertices,
        sides=sides,
        others=neighbors[vertices, slots],
        cycles=cycles,
    )


def own_first(table: Array, own: Array) -> Array:
    """A table of two columns; entries of own neighbors move to the front."""
    swapped, out = xp_of(table).flatnonzero(own[:, 1] & ~own[:, 0]), table.copy()
    out[swapped] = table[swapped][:, ::-1]
    return out


def copy_broken(
    graph: RankGraph, before: Array, walked: ForestArrays, neighbors: Array, values: Array
) -> None:
    """Write the vertices that lost an edge of a cycle on this rank; both of their neighbors were own ones."""
    xp, (first, second) = xp_of(before), (walked.neighbors != before).T
    rows = xp.flatnonzero(first | second)
    left = walked.neighbors[rows].astype(np.int64)
    neighbors[rows] = xp.where(left >= 0, left + graph.first, NO_VERTEX)
    values[rows] = walked.values[rows]


def link(graph: RankGraph, local: LocalPaths) -> ContractedPaths:
    """The contracted paths of all ranks: the ranks of an edge exchange the states that enter it.

    Two ranks list the edges between them in the same order, so no ids are sent. Contracted paths are ranked
    on the host: there are few.
    """
    comm, first = graph.comm, graph.first
    count = local.crossing.size
    offsets = comm.offsets(2 * count)
    # stall: contracted paths are ranked on the host
    leaving = on_host(2 * local.numbers(local.vertices) + local.sides)
    # A state that enters a local path at one end leaves it at the other end.
    entering = offsets[comm.rank] + (leaving ^ 1)
    ids, others = on_host(first + local.vertices), on_host(local.others)  # stall: as above
    order = np.lexsort((np.maximum(ids, others), np.minimum(ids, others)))
    sent, kept = parts_by_rank(owners_of(graph.offsets, others[order]), [entering[order], leaving[order]])
    found = comm.exchange_known(sent, {r: part.size for r, part in sent.items()}, entering)
    following = np.full(2 * count, END)
    following[joined(kept, leaving)] = joined(found, entering)
    xp = xp_of(local.heads)
    tails = xp.zeros_like(local.heads)
    last = xp.flatnonzero(local.position == local.lengths)
    tails[local.heads[last]] = last
    ends = first + xp.stack([local.crossing, tails[local.crossing]], axis=1)
    counts = np.repeat(on_host(local.lengths[local.crossing]), 2)  # stall: as above
    return ContractedPaths(comm, offsets, following, counts, on_host(ends).ravel())  # stall: as above


def break_crossing_cycles(
    graph: RankGraph,
    local: LocalPaths,
    contracted: ContractedPaths,
    on_cycle: Array,
    neighbors: Array,
    values: Array,
) -> int:
    """Remove the weakest edge of each cycle that crosses ranks; `on_cycle` marks the states on cycles.

    Returns the number of cycles whose weakest edge has its smaller end on this rank.
    """
    edges = weakest_edges(graph, local, on_cycle[::2], neighbors, values)
    weakest = contracted.least_on_cycles(np.flatnonzero(on_cycle), np.repeat(edges, 2, axis=0))
    low, high = np.unique(weakest[:, 1:], axis=0).T
    xp = xp_of(neighbors)
    for v, w in ((low, high), (high, low)):
        own = graph.halo.is_own(v)
        remove(neighbors, values, xp.asarray(v[own] - graph.first), xp.asarray(w[own]))
    return int(np.count_nonzero(graph.halo.is_own(low)))


def weakest_edges(
    graph: RankGraph, local: LocalPaths, chosen: Array, neighbors: Array, values: Array
) -> Array:
    """For each chosen local path its edge with the least (weight, smaller end, larger end), as integers.

    The bits of the weights compare as the weights do. Edges to other ranks are included. On the host.
    """
    members = local.members(chosen)
    # stall: the edges of cycles that cross ranks are compared on the host
    arrays = (on_host(each) for each in (members, neighbors[members], values[members], local.heads[members]))
    vertices, theirs, weights, heads = arrays
    rows, slots = np.nonzero(theirs >= 0)
    w, ids = theirs[rows, slots], graph.first + vertices[rows]
    bits = magnitude_bits(np.ascontiguousarray(weights[rows, slots])).astype(np.int64)
    edges = np.stack([bits, np.minimum(ids, w), np.maximum(ids, w)], axis=1)
    order = np.lexsort((*edges.T[::-1], heads[rows]))
    _, first = np.unique(heads[rows][order], return_index=True)
    return edges[order[first]]


def remove(neighbors: Array, values: Array, v: Array, w: Array) -> None:
    """Remove the neighbors w from the rows v; the other neighbor moves to the front."""
    front = v[neighbors[v, 0] == w]
    neighbors[front, 0], values[front, 0] = neighbors[front, 1], values[front, 1]
    neighbors[v, 1], values[v, 1] = NO_VERTEX, 0
