"""Pairs across paths over ranks, as `graph.forest.path_pairs` finds them on one rank.

The paths of a forest are the vertices of a second graph, whose forest pairs neighbouring paths: mates. Two
rows from the middle of a path, which are sent to the rank of its smaller end, determine the offset and the
direction of its mate.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from linforest_precond.backends.annotations import Array
from linforest_precond.distributed.forest.factor import FactorArrays, propose_factor
from linforest_precond.distributed.forest.graph import RankGraph, graph_of_entries, symmetrized
from linforest_precond.distributed.forest.linear_forest import Paths, Places, break_cycles, place_paths
from linforest_precond.distributed.forest.local_paths import remove
from linforest_precond.distributed.forest.ordering import forest_order
from linforest_precond.distributed.partition import NO_VERTEX
from linforest_precond.distributed.partition.owners import lookup, send_to_owners
from linforest_precond.graph.forest.factor import FactorOptions
from linforest_precond.matrix.value_range import is_nonzero, magnitude_bits


class Samples(NamedTuple):
    """Entries of the two sampled rows of own paths, the first rows' before the second rows'.

    For each entry: the path (global number), whether it is of the second row, the place and the path of its
    column, and its weight.
    """

    paths: Array
    second: Array
    targets: Array
    target_paths: Array
    weights: Array


class OwnPaths(NamedTuple):
    """The paths whose smaller end is an own vertex: the first path, starts, ends and the sampled places.

    Rank r owns the paths ``offsets[r]:offsets[r + 1]``.
    """

    offsets: Array
    first: int
    starts: Array
    ends: Array
    middles: Array


def partners_across_paths(graph: RankGraph, options: FactorOptions) -> Array:
    """The partner of each own vertex on the neighbouring path, -1 where there is none.

    The checked options are those of the paths' factor.
    """
    factor = without_weak_edges(graph, propose_factor(graph, options))
    paths = break_cycles(graph, factor)
    places = place_paths(graph, paths)
    own = own_paths(graph, paths, places)
    samples = sampled_rows(graph, paths, places, own)
    mates = mates_of(graph_of_paths(graph, own, samples), options)
    ladders = alignments(graph, own, samples, mates)
    return aligned_partners(graph, places, own, ladders)


def values_at(graph: RankGraph, values: Array, neighbors: Array) -> Array:
    """The values of own vertices at the neighbors; arbitrary where there is none."""
    return graph.with_ghosts(values)[graph.halo.local(np.where(neighbors >= 0, neighbors, graph.first))]


def without_weak_edges(graph: RankGraph, factor: FactorArrays) -> FactorArrays:
    """A [0,2]-factor without edges below half of the heaviest at both ends: they join parallel grid lines."""
    weights, neighbors = magnitude_bits(factor.values), factor.neighbors.copy()
    # Half of the weight: its exponent is one less.
    half = weights.max(axis=1) - (1 << np.finfo(factor.values.dtype).nmant)
    there = neighbors >= 0
    theirs = values_at(graph, half, neighbors)
    weak = there & (weights < half[:, None]) & (weights < theirs)
    values = factor.values.copy()
    for slot in (1, 0):  # the second edge moves to the front if the first one is removed
        rows = np.flatnonzero(weak[:, slot])
        remove(neighbors, values, rows, factor.neighbors[rows, slot])
    return factor._replace(neighbors=neighbors, values=values)


def own_paths(graph: RankGraph, paths: Paths, places: Places) -> OwnPaths:
    """The paths that own vertices begin, in the order of the paths."""
    heads = np.flatnonzero(paths.position == 1)
    offsets = graph.comm.offsets(heads.size)
    starts = places.starts[heads]
    ends = starts + paths.lengths[heads]
    return OwnPaths(offsets, int(offsets[graph.comm.rank]), starts, ends, (starts + ends - 1) // 2)


def sampled_rows(graph: RankGraph, paths: Paths, places: Places, own: OwnPaths) -> Samples:
    """Two neighbouring rows from the middle of each path, sent to the rank that owns the path."""
    ends = places.starts + paths.lengths
    middles = (places.starts + ends - 1) // 2
    followers = np.minimum(middles + 1, ends - 1)
    columns = graph.with_ghosts(np.stack([places.positions, places.numbers], axis=1))
    parts = []
    for second, sampled in enumerate((middles, followers)):
        slots = np.flatnonzero((places.positions == sampled)[graph.rows])
        numbers, targets = places.numbers[graph.rows[slots]], columns[graph.columns[slots]]
        parts.append((numbers, np.full(slots.size, second), *targets.T, np.abs(graph.values[slots])))
    entries = [np.concatenate(part) for part in zip(*parts, strict=True)]
    found = send_to_owners(graph.comm, own.offsets, *entries)
    # A row arrives from one rank, so its entries keep their order.
    order = np.argsort(found[1], kind="stable")
    return Samples(*(array[order] for array in found))


def graph_of_paths(graph: RankGraph, own: OwnPaths, samples: Samples) -> RankGraph:
    """The graph whose vertices are the paths: weights are sums of the sampled entries between two paths."""
    entries = samples.paths, samples.target_paths, samples.weights
    return symmetrized(graph_of_entries(graph.comm, own.offsets, *entries))


def mates_of(graph: RankGraph, options: FactorOptions) -> Array:
    """The vertex that each one of a forest is paired with along its path, the first with the second."""
    paths = break_cycles(graph, propose_factor(graph, options))
    there = paths.neighbors >= 0
    theirs = values_at(graph, paths.position, paths.neighbors)
    beside = paths.position + np.where(paths.position % 2 == 1, 1, -1)
    return np.where(there & (theirs == beside[:, None]), paths.neighbors, NO_VERTEX).max(axis=1)


def alignments(graph: RankGraph, own: OwnPaths, samples: Samples, mates: Array) -> Array:
    """For each own path a row (direction, aligned place, the mate's aligned place, start and end).

    One of two mates decides, the lower one if its first sampled row has entries in the other: the place of
    that row is aligned with the mean of the places of these entries. The direction is 1 or -1, and 0 where
    there is no mate or neither first row has entries in the other path.
    """
    counts, means = _entries_in_mates(own, samples, mates)
    coupled, reverse = counts[0] > 0, (counts[1] > 0) & (means[1] < means[0])
    directions = np.where(reverse, -1, 1) * coupled
    table = np.stack([coupled, directions, means[0], own.middles, own.starts, own.ends], axis=1)
    paired = np.flatnonzero(mates >= 0)
    numbers, others = own.first + paired, mates[paired]
    their_coupled, their_direction, their_mean, their_middle, their_start, their_end = lookup(
        graph.comm, own.offsets, table, others
    ).T
    decides = coupled[paired] & ((their_coupled == 0) | (numbers < others))
    they_decide = (their_coupled != 0) & (~coupled[paired] | (others < numbers))
    out = np.zeros((mates.size, 5), np.int64)
    out[paired, 0] = np.where(decides, directions[paired], their_direction)
    out[paired, 1] = np.where(decides, own.middles[paired], their_mean)
    out[paired, 2] = np.where(they_decide, their_middle, means[0][paired])
    out[paired, 3:] = np.stack([their_start, their_end], axis=1)
    return out


def _entries_in_mates(own: OwnPaths, samples: Samples, mates: Array) -> tuple[Array, Array]:
    """Entries of the first and the second row in the mate's columns: their number, and their mean place."""
    paths = samples.paths - own.first
    inside = np.flatnonzero((samples.target_paths == mates[paths]) & is_nonzero(samples.weights))
    where = samples.second[inside], paths[inside]
    counts, sums = np.zeros((2, 2, mates.size), np.int64)
    np.add.at(counts, where, 1)
    np.add.at(sums, where, samples.targets[inside])
    return counts, sums // np.maximum(counts, 1)


def aligned_partners(graph: RankGraph, places: Places, own: OwnPaths, ladders: Array) -> Array:
    """The partner of each own vertex, at the same distance from the aligned places of both paths; or -1."""
    comm = graph.comm
    direction, place, mates_place, start, end = lookup(comm, own.offsets, ladders, places.numbers).T
    partner = mates_place + direction * (places.positions - place)
    there = np.flatnonzero((direction != 0) & (partner >= start) & (partner < end))
    order = forest_order(comm, graph.offsets, places.positions, places.numbers, graph.n)
    partners = np.full(graph.n_local, NO_VERTEX)
    partners[there] = lookup(comm, order.cuts, order.vertices, partner[there])
    return partners
