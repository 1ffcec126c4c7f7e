"""Pairs across paths: the work for each vertex, each sampled entry and each path."""

from typing import Any, NamedTuple

import numpy as np
from numba import prange

from linforest_precond.backends.returns import NumberedPaths

from ..matrix.entries import canonical, magnitudes, rows_of
from ..runtime.arrays import NO_VERTEX, readonly
from ..runtime.jit import helper, kernel

NO_PATH = -1


class SampledRows(NamedTuple):
    """Two neighbouring rows of a graph from the middle of each path: all first rows, then all second ones."""

    indptr: Any  # where the entries of each row begin
    rows: Any
    paths: Any  # the path of the row
    targets: Any  # the place of the column
    target_paths: Any  # the path of the column
    weights: Any


def drop_weak_edges(neighbors, values):
    """A [0,2]-factor without the edges below half of the heaviest at both ends; the others come first."""
    # Bits are ordered as the weights are. Half of a weight: its exponent is one less.
    weights = np.abs(values).view(f"i{values.dtype.itemsize}")
    kept = np.full_like(neighbors, NO_VERTEX), np.zeros_like(values)
    keep_heavy(*map(readonly, (neighbors, values, weights)), 1 << np.finfo(values.dtype).nmant, *kept)
    return kept


def number_paths(order, rank, position, count):
    """Number the `count` paths of a forest in its order."""
    begins = position[order] == 1
    starts = np.append(np.flatnonzero(begins), begins.size)
    return NumberedPaths(order, rank, np.cumsum(begins) - 1, starts)


def middles(starts):
    """The place of the first sampled row of each path."""
    return (starts[:-1] + starts[1:] - 1) // 2


def sample_rows(graph, paths):
    """The entries of two neighbouring rows from the middle of each path."""
    places = middles(paths.starts)
    following = np.minimum(places + 1, paths.starts[1:] - 1)
    vertices = paths.order[np.concatenate((places, following))]
    first = graph.indptr[vertices].astype(np.int64)
    indptr = np.zeros(vertices.size + 1, np.int64)
    indptr[1:] = np.cumsum(graph.indptr[vertices + 1] - first)
    rows = rows_of(indptr, int(indptr[-1]))
    slots = np.arange(rows.size) + (first - indptr[:-1])[rows]
    targets, weights = paths.rank[graph.indices[slots]], magnitudes(graph.values[slots])
    return SampledRows(indptr, rows, rows % places.size, targets, paths.number[targets], weights)


def merge_samples(graph, samples):
    """The graph of the paths: the sampled weights between any two, as CSR arrays with ascending columns.

    The last result is the length of the longest row.
    """
    triplets = samples.paths, samples.target_paths, samples.weights
    indptr, indices, sums = canonical(*triplets, samples.indptr.size // 2, graph.indices.dtype)
    return indptr, indices, np.minimum(sums, np.finfo(sums.dtype).max), int(np.diff(indptr).max())


def partners(graph, paths, samples, lines):
    """The partner of each vertex, at the same distance from the aligned places of both paths; or -1.

    `lines` is a forest whose vertices are the paths; it pairs them.
    """
    mates = _mates(lines)
    aligned, directions = _alignments(paths, samples, mates)
    # At each place:
    mate, direction = mates[paths.number], directions[paths.number]
    partner = aligned[mate] + direction * (np.arange(mate.size) - aligned[paths.number])
    inside = (partner >= paths.starts[mate]) & (partner < paths.starts[mate + 1])
    there = (mate != NO_PATH) & (direction != 0) & inside
    found = np.where(there, paths.order[np.where(there, partner, 0)], NO_VERTEX)
    return found[paths.rank].astype(paths.order.dtype)


def _mates(forest):
    """The vertex that each vertex of a forest is paired with along its path, the first with the second."""
    beside = forest.rank + np.where(forest.position % 2 == 1, 1, -1)
    mates = forest.order[np.minimum(beside, forest.rank.size - 1)]
    there = (forest.path_id[mates] == forest.path_id) & (beside < forest.rank.size)
    return np.where(there, mates, NO_PATH)


def _alignments(paths, samples, mates):
    """For each path a place that is aligned with its mate's, and the direction: same (1) or opposite (-1).

    One of two mates decides, the lower one if its first sampled row has entries in the other: the place of
    that row is aligned with the mean of the places of these entries. The direction is 0 where neither first
    row has entries in the other path.
    """
    in_mate = (samples.target_paths == mates[samples.paths]) & (samples.weights != 0)
    counts = _row_sums(samples.indptr, in_mate)
    means = _row_sums(samples.indptr, np.where(in_mate, samples.targets, 0)) // np.maximum(counts, 1)
    (first_count, second_count), (first_mean, second_mean) = counts.reshape(2, -1), means.reshape(2, -1)
    coupled, reverse = first_count > 0, (second_count > 0) & (second_mean < first_mean)
    directions = np.where(reverse, -1, 1) * coupled
    decides = coupled & (~coupled[mates] | (np.arange(mates.size) < mates))
    aligned = np.where(decides, middles(paths.starts), first_mean[mates])
    return aligned, np.where(decides, directions, directions[mates])


def _row_sums(indptr, numbers):
    """The sum of integers over each row: a segmented reduction by differences of a prefix sum."""
    sums = np.zeros(numbers.size + 1, np.int64)
    sums[1:] = np.cumsum(numbers, dtype=np.int64)
    return sums[indptr[1:]] - sums[indptr[:-1]]


@kernel(parallel=True)
def keep_heavy(neighbors, values, weights, halving, kept_neighbors, kept_values):
    for v in prange(neighbors.shape[0]):
        kept = 0
        for j in range(2):
            w, weight = np.int64(neighbors[v, j]), weights[v, j]
            if w >= 0 and (
                weight >= heaviest(weights, v) - halving or weight >= heaviest(weights, w) - halving
            ):
                kept_neighbors[v, kept], kept_values[v, kept] = w, values[v, j]
                kept += 1


@helper
def heaviest(weights, v):
    return max(weights[v, 0], weights[v, 1])
