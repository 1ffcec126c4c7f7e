"""A rank's block of the adjacency matrix, from edges that any rank may have."""

from __future__ import annotations

import numpy as np

from linforest_precond.backends.annotations import Array
from linforest_precond.backends.hash_keys import GOLDEN, HIGH_STRIDE, mixed
from linforest_precond.distributed.grid2d.grid import Grid
from linforest_precond.distributed.grid2d.packets import swap
from linforest_precond.distributed.grid2d.vertex_map import VertexMap


def route_edges(
    grid: Grid, where: VertexMap, sources: Array, targets: Array, weights: Array | None
) -> tuple[Array, Array, Array | None]:
    """The edges of this rank's block, by positions: (source, target) ascending, duplicates summed."""
    columns = [sources, targets] + ([] if weights is None else [weights.view(np.int64)])
    found = swap(grid, where.block_owner(sources, targets), np.column_stack(columns))
    values = None if weights is None else np.ascontiguousarray(found[:, 2]).view(np.float64)
    return _sorted_edges(found[:, 0], found[:, 1], values)


def _sorted_edges(sources: Array, targets: Array, weights: Array | None) -> tuple[Array, Array, Array | None]:
    # Duplicates are summed in the order of their weights, not of arrival, which depends on the partition.
    order = np.lexsort((targets, sources) if weights is None else (weights, targets, sources))
    sources, targets = sources[order], targets[order]
    first = np.ones(sources.size, bool)
    first[1:] = (sources[1:] != sources[:-1]) | (targets[1:] != targets[:-1])
    if weights is not None and first.size:
        weights = np.add.reduceat(weights[order], np.flatnonzero(first))
    return sources[first], targets[first], weights


def is_symmetric(grid: Grid, sources: Array, targets: Array, weights: Array | None = None) -> bool:
    """Whether every edge has its reverse, of the same weight, by a sum of 64-bit hashes.

    Wrong with a probability of 2**-64.
    """
    words, upper, lower = edge_words(sources, targets, weights), sources < targets, sources > targets
    balance = np.concatenate([words[upper], np.negative(words[lower])]).sum(dtype=np.uint64)
    return not grid.comm.allreduce(np.array([balance])).any()


def edge_words(sources: Array, targets: Array, weights: Array | None = None) -> Array:
    """A word for each edge, the same for both directions."""
    low, high = np.minimum(sources, targets), np.maximum(sources, targets)
    words = low.astype(np.uint64) * GOLDEN + high.astype(np.uint64) * HIGH_STRIDE
    return mixed(words if weights is None else words ^ weights.view(np.uint64))


def row_pointers(rows: Array, count: int) -> Array:
    """CSR row pointers of sorted row numbers."""
    return np.searchsorted(rows, np.arange(count + 1))
