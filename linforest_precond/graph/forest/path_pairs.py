"""Pairs across paths: where heavy paths run side by side, their vertices are paired in lockstep.

A pair along a heavy edge takes up what a path holds anyway. Pairs across two paths form a ladder: as one path
of blocks it holds both of them and what couples them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from linforest_precond.annotations import Array
from linforest_precond.backends import backend_of
from linforest_precond.gate import LARGEST_INT32_COUNT
from linforest_precond.graph.forest.factor import propose_factor
from linforest_precond.graph.forest.linear_forest import break_cycles
from linforest_precond.records import Factor, Forest, Graph, Pairs

NO_PATH = -1


@dataclass(frozen=True, eq=False)
class _Paths:
    """The paths of a forest, numbered as they come in its order.

    Attributes
    ----------
    order, rank
        The vertices path after path, and where each of them stands.
    number
        The path that stands at each place of the order.
    starts
        Where in the order each path begins, and where the last one ends.
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
    """What the graph holds in two neighbouring rows of each path: all the first rows, then all the second.

    Attributes
    ----------
    places
        Where in the order the first row of each path stands.
    indptr
        Where the entries of each row begin.
    paths, targets
        The path of each entry's row, and where in the order its column stands.
    weights
        The entries' weights.
    """

    places: Array
    indptr: Array
    paths: Array
    targets: Array
    weights: Array


def pair_paths(graph: Graph, **options: Any) -> Pairs:
    """Pair the vertices of paths that lie side by side; the checked options are those of the paths' factor.

    The graph has one vertex at least. The paths are those of a [0,2]-factor, and they form paths in turn:
    neighbours on these are mates, two by two. Two rows in the middle of a path say where on its mate it lies,
    and which way that one runs.
    """
    factor = without_weak_edges(propose_factor(graph, **options))
    paths = _numbered(break_cycles(factor, in_place=True))
    samples = _sampled(graph, paths)
    factor = propose_factor(_graph_of_paths(graph, paths, samples), **options)
    mates = _mates(break_cycles(factor, in_place=True))
    partners = _in_lockstep(paths, mates, *_meetings(paths, samples, mates))
    return Pairs(*backend_of(partners).forest.pairs.pair_up(partners.astype(graph.indices.dtype)))


def without_weak_edges(factor: Factor) -> Factor:
    """A [0,2]-factor without the edges below half of the heaviest at both ends: such link a grid's lines."""
    xp = backend_of(factor.values).xp
    sizes, neighbors = _sizes(factor.values), factor.neighbors
    # Half of a number has an exponent that is one less.
    strong = xp.maximum(sizes[:, 0], sizes[:, 1]) - (1 << np.finfo(factor.values.dtype).nmant)
    weak = (sizes < strong[:, None]) & (sizes < strong[neighbors])

    def kept(table: Array, empty: int) -> Array:
        """What stays moves to the front."""
        table = xp.where(weak, table.dtype.type(empty), table)
        front = xp.where(weak[:, 0], table[:, 1], table[:, 0])
        return xp.stack((front, xp.where(weak[:, 0], table.dtype.type(empty), table[:, 1])), axis=1)

    return replace(factor, neighbors=kept(neighbors, -1), values=kept(factor.values, 0), slots=None)


def _sizes(values: Array) -> Array:
    """Whole numbers that compare as the magnitudes do, those that CuPy takes for 0 included."""
    word = np.dtype(f"i{values.dtype.itemsize}")
    return values.view(word) & np.iinfo(word).max


def _numbered(forest: Forest) -> _Paths:
    xp = backend_of(forest.position).xp
    begins = forest.position[forest.order] == 1
    starts = xp.flatnonzero(begins)  # stall: CuPy counts them to allocate
    starts = xp.concatenate((starts, xp.asarray([begins.size], starts.dtype)))
    return _Paths(forest.order, forest.rank, xp.cumsum(begins) - 1, starts)


def _sampled(graph: Graph, paths: _Paths) -> _Samples:
    backend = backend_of(graph.values)
    xp = backend.xp
    places = (paths.starts[:-1] + paths.starts[1:] - 1) // 2
    behind = xp.minimum(places + 1, paths.starts[1:] - 1)
    vertices = paths.order[xp.concatenate((places, behind))]
    first = graph.indptr[vertices].astype(np.int64)
    # All these entries, and their mirror images, must have a number.
    index = graph.indices.dtype if 4 * graph.indices.size <= LARGEST_INT32_COUNT else np.int64
    indptr = xp.zeros(vertices.size + 1, index)
    indptr[1:] = xp.cumsum(graph.indptr[vertices + 1] - first)
    rows = backend.matrix.entries.rows_of(indptr, int(indptr[-1]))  # stall: how many there are
    slots = xp.arange(rows.size) + (first - indptr[:-1])[rows]
    targets = paths.rank[graph.indices[slots]]
    weights = backend.matrix.entries.magnitudes(graph.values[slots])
    return _Samples(places, indptr, rows % paths.count, targets, weights)


def _graph_of_paths(graph: Graph, paths: _Paths, samples: _Samples) -> Graph:
    """The weights between paths, as far as sampled; entries of a path with itself are no edges."""
    backend, index = backend_of(graph.values), samples.indptr.dtype
    triplets = samples.paths, paths.number[samples.targets], samples.weights
    indptr, indices, sums = backend.matrix.entries.canonical(*triplets, paths.count, index)
    sums = backend.xp.where(backend.xp.isinf(sums), np.finfo(sums.dtype).max, sums)
    indptr, indices, values, _ = backend.matrix.entries.symmetrized(indptr, indices, sums)
    longest = int((indptr[1:] - indptr[:-1]).max())  # stall: one number
    return Graph(indptr, indices, values, graph.total_weight, graph.scale, longest, False, False)


def _mates(forest: Forest) -> Array:
    """Of each vertex of a forest the one it is paired with along its path, the first with the second."""
    xp = backend_of(forest.position).xp
    beside = forest.rank + xp.where(forest.position % 2 == 1, 1, -1)
    mates = forest.order[xp.minimum(beside, forest.rank.size - 1)]
    there = (forest.path_id[mates] == forest.path_id) & (beside < forest.rank.size)
    return xp.where(there, mates, NO_PATH)


def _meetings(paths: _Paths, samples: _Samples, mates: Array) -> tuple[Array, Array]:
    """For each path a place that lies beside its mate's, and whether they run the same way (1) or not (-1).

    One of two mates, the lower if its first sampled row leads to the other, names the place of that row and
    the mean of the places that it leads to; where neither first row leads to the other the direction is 0.
    """
    xp = backend_of(mates).xp
    joins = (paths.number[samples.targets] == mates[samples.paths]) & (_sizes(samples.weights) > 0)
    met = _row_sums(samples.indptr, joins)
    means = _row_sums(samples.indptr, xp.where(joins, samples.targets, 0)) // xp.maximum(met, 1)
    (met, met_behind), (means, means_behind) = met.reshape(2, -1), means.reshape(2, -1)
    met, reverse = met > 0, (met_behind > 0) & (means_behind < means)
    directions = xp.where(reverse, -1, 1) * met
    leads = met & (~met[mates] | (xp.arange(paths.count) < mates))
    return xp.where(leads, samples.places, means[mates]), xp.where(leads, directions, directions[mates])


def _row_sums(indptr: Array, numbers: Array) -> Array:
    """The sums of whole numbers over each row."""
    xp = backend_of(numbers).xp
    sums = xp.zeros(numbers.size + 1, np.int64)
    sums[1:] = xp.cumsum(numbers, dtype=np.int64)
    return sums[indptr[1:]] - sums[indptr[:-1]]


def _in_lockstep(paths: _Paths, mates: Array, places: Array, directions: Array) -> Array:
    """The partner of each vertex, as many steps from the mate's place as it is from its own path's; or -1."""
    xp = backend_of(mates).xp
    # For each place of the order.
    mate, direction = mates[paths.number], directions[paths.number]
    partner = places[mate] + direction * (xp.arange(mate.size) - places[paths.number])
    inside = (partner >= paths.starts[mate]) & (partner < paths.starts[mate + 1])
    there = (mate != NO_PATH) & (direction != 0) & inside
    return xp.where(there, paths.order[xp.where(there, partner, 0)], -1)[paths.rank]
