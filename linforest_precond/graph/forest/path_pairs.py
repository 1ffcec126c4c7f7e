"""Pairs across paths: the vertices of two neighbouring heavy paths are paired one by one.

A pair along a heavy edge covers an edge that a path would cover anyway. Pairs across two paths form a ladder,
one path of blocks, which covers both paths and the edges between them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from linforest_precond.annotations import Array
from linforest_precond.backends import backend_of
from linforest_precond.graph.forest.factor import propose_factor
from linforest_precond.graph.forest.linear_forest import break_cycles
from linforest_precond.own_matrix import index_dtype
from linforest_precond.records import Factor, Forest, Graph, Pairs, magnitudes_of
from linforest_precond.subnormals import is_nonzero, magnitude_bits

NO_PATH = -1


@dataclass(frozen=True, eq=False)
class _Paths:
    """The paths of a forest, numbered in the forest's order. A place is an index of that order.

    Attributes
    ----------
    order, rank
        The vertex at each place, and the place of each vertex.
    number
        The path at each place.
    starts
        The first place of each path, and the number of vertices.
    """

    order: Array
    rank: Array
    number: Array
    starts: Array

    @property
    def count(self) -> int:
        return self.starts.size - 1


@dataclass(frozen=True, eq=False)
class _Samples:
    """Two neighbouring rows of the graph from the middle of each path: all first rows, then all second ones.

    Attributes
    ----------
    places
        The place of the first row of each path.
    indptr
        Where the entries of each row begin.
    paths, targets
        The path of each entry's row, and the place of its column.
    weights
        The entries' weights.
    """

    places: Array
    indptr: Array
    paths: Array
    targets: Array
    weights: Array


def pair_paths(graph: Graph, **options: Any) -> Pairs:
    """Pair the vertices of neighbouring paths; the checked options are those of the paths' factor.

    The graph has at least one vertex. The paths are those of a linear forest. They are the vertices of a
    graph in turn, whose linear forest pairs neighbouring paths: mates. Two rows from the middle of a path
    determine the offset and the direction of its mate.
    """
    factor = without_weak_edges(propose_factor(graph, **options))
    paths = _numbered_paths(break_cycles(factor, in_place=True))
    samples = _sampled_rows(graph, paths)
    factor = propose_factor(_graph_of_paths(graph, paths, samples), **options)
    mates = _mates(break_cycles(factor, in_place=True))
    partners = _partners(paths, mates, *_alignments(paths, samples, mates))
    return Pairs(*backend_of(partners).forest.pairs.pair_up(partners.astype(graph.indices.dtype)))


def without_weak_edges(factor: Factor) -> Factor:
    """A [0,2]-factor without edges below half of the heaviest at both ends: they join parallel grid lines."""
    xp = backend_of(factor.values).xp
    weights, neighbors = magnitude_bits(factor.values), factor.neighbors
    # Half of the weight: its exponent is one less.
    half = xp.maximum(weights[:, 0], weights[:, 1]) - (1 << np.finfo(factor.values.dtype).nmant)
    weak = (weights < half[:, None]) & (weights < half[neighbors])

    def kept(table: Array, empty: int) -> Array:
        """The table without weak edges, those that remain in front."""
        table = xp.where(weak, table.dtype.type(empty), table)
        front = xp.where(weak[:, 0], table[:, 1], table[:, 0])
        packed: Array = xp.stack((front, xp.where(weak[:, 0], table.dtype.type(empty), table[:, 1])), axis=1)
        return packed

    return replace(factor, neighbors=kept(neighbors, -1), values=kept(factor.values, 0), slots=None)


def _numbered_paths(forest: Forest) -> _Paths:
    xp = backend_of(forest.position).xp
    begins = forest.position[forest.order] == 1
    starts = xp.flatnonzero(begins)  # stall: CuPy counts them to allocate
    starts = xp.concatenate((starts, xp.asarray([begins.size], starts.dtype)))
    return _Paths(forest.order, forest.rank, xp.cumsum(begins) - 1, starts)


def _sampled_rows(graph: Graph, paths: _Paths) -> _Samples:
    backend = backend_of(graph.values)
    xp = backend.xp
    places = (paths.starts[:-1] + paths.starts[1:] - 1) // 2
    following = xp.minimum(places + 1, paths.starts[1:] - 1)
    vertices = paths.order[xp.concatenate((places, following))]
    first = graph.indptr[vertices].astype(np.int64)
    # A row may be sampled twice, and the graph of the paths also has the transpose's entries.
    index = index_dtype(4 * graph.indices.size, graph.indices.dtype)
    indptr = xp.zeros(vertices.size + 1, index)
    indptr[1:] = xp.cumsum(graph.indptr[vertices + 1] - first)
    rows = backend.matrix.entries.rows_of(indptr, int(indptr[-1]))  # stall: the number of entries
    slots = xp.arange(rows.size) + (first - indptr[:-1])[rows]
    targets = paths.rank[graph.indices[slots]]
    return _Samples(places, indptr, rows % paths.count, targets, magnitudes_of(graph.values[slots]))


def _graph_of_paths(graph: Graph, paths: _Paths, samples: _Samples) -> Graph:
    """The graph whose vertices are the paths: weights are sums of the sampled entries between two paths."""
    backend, index = backend_of(graph.values), samples.indptr.dtype
    triplets = samples.paths, paths.number[samples.targets], samples.weights
    indptr, indices, sums = backend.matrix.entries.canonical(*triplets, paths.count, index)
    sums = backend.xp.where(backend.xp.isinf(sums), np.finfo(sums.dtype).max, sums)
    indptr, indices, values, _ = backend.matrix.entries.symmetrized(indptr, indices, sums)
    longest = int((indptr[1:] - indptr[:-1]).max())  # stall: one number
    return Graph(indptr, indices, values, graph.total_weight, graph.scale, longest, False, False)


def _mates(forest: Forest) -> Array:
    """The vertex that each vertex of a forest is paired with along its path, the first with the second."""
    xp = backend_of(forest.position).xp
    beside = forest.rank + xp.where(forest.position % 2 == 1, 1, -1)
    mates = forest.order[xp.minimum(beside, forest.rank.size - 1)]
    there = (forest.path_id[mates] == forest.path_id) & (beside < forest.rank.size)
    paired: Array = xp.where(there, mates, NO_PATH)
    return paired


def _alignments(paths: _Paths, samples: _Samples, mates: Array) -> tuple[Array, Array]:
    """For each path a place that is aligned with its mate's, and the direction: same (1) or opposite (-1).

    One of two mates decides, the lower one if its first sampled row has entries in the other: the place of
    that row is aligned with the mean of the places of these entries. The direction is 0 where neither first
    row has entries in the other path.
    """
    xp = backend_of(mates).xp
    in_mate = (paths.number[samples.targets] == mates[samples.paths]) & is_nonzero(samples.weights)
    counts = _row_sums(samples.indptr, in_mate)
    means = _row_sums(samples.indptr, xp.where(in_mate, samples.targets, 0)) // xp.maximum(counts, 1)
    (first_count, second_count), (first_mean, second_mean) = counts.reshape(2, -1), means.reshape(2, -1)
    coupled, reverse = first_count > 0, (second_count > 0) & (second_mean < first_mean)
    directions = xp.where(reverse, -1, 1) * coupled
    decides = coupled & (~coupled[mates] | (xp.arange(paths.count) < mates))
    places = xp.where(decides, samples.places, first_mean[mates])
    return places, xp.where(decides, directions, directions[mates])


def _row_sums(indptr: Array, numbers: Array) -> Array:
    """The sum of integers over each row: a segmented reduction by differences of a prefix sum."""
    xp = backend_of(numbers).xp
    sums = xp.zeros(numbers.size + 1, np.int64)
    sums[1:] = xp.cumsum(numbers, dtype=np.int64)
    row_sums: Array = sums[indptr[1:]] - sums[indptr[:-1]]
    return row_sums


def _partners(paths: _Paths, mates: Array, places: Array, directions: Array) -> Array:
    """The partner of each vertex, at the same distance from the aligned places of both paths; or -1."""
    xp = backend_of(mates).xp
    # At each place:
    mate, direction = mates[paths.number], directions[paths.number]
    partner = places[mate] + direction * (xp.arange(mate.size) - places[paths.number])
    inside = (partner >= paths.starts[mate]) & (partner < paths.starts[mate + 1])
    there = (mate != NO_PATH) & (direction != 0) & inside
    partners: Array = xp.where(there, paths.order[xp.where(there, partner, 0)], -1)
    return partners[paths.rank]
