"""A rank's block of the adjacency matrix, from edges that any rank may have."""

from __future__ import annotations

import numpy as np

from linforest_precond.backends import Backend
from linforest_precond.backends.annotations import Array
from linforest_precond.backends.array_libraries import xp_of
from linforest_precond.backends.hash_keys import GOLDEN, HIGH_STRIDE, mixed
from linforest_precond.distributed.grid2d.grid import Grid
from linforest_precond.distributed.grid2d.packets import swap
from linforest_precond.distributed.grid2d.vertex_map import VertexMap

# Edges that are hashed at once.
AT_ONCE = 2**24


def route_edges(
    backend: Backend, grid: Grid, where: VertexMap, sources: Array, targets: Array, weights: Array | None
) -> tuple[Array, Array, Array | None]:
    """The edges of this rank's block, by positions: (source, target) ascending, duplicates summed."""
    owners = where.block_owner(sources, targets)
    is_own = bool((owners == grid.comm.rank).all())  # stall: whether edges are sent
    if not grid.comm.all(is_own):
        columns = [sources, targets] + ([] if weights is None else [weights.view(np.int64)])
        found = swap(grid, owners, backend.xp.column_stack(columns))
        sources, targets = found[:, 0], found[:, 1]
        weights = None if weights is None else backend.xp.ascontiguousarray(found[:, 2]).view(np.float64)
    del owners
    pairs = sources * where.n + targets
    del sources, targets
    if weights is None:
        return *split_pairs(where.n, distinct_pairs([pairs])), None
    # Duplicates are summed in the order of their weights, not of arrival, which depends on the partition.
    order = backend.csgraph.grid_blocks.lexicographic_order((weights, pairs))
    pairs, weights = pairs[order], weights[order]
    begins = run_begins(pairs)
    return *split_pairs(where.n, pairs[begins]), backend.csgraph.grid_blocks.run_sums(weights, begins)


def distinct_pairs(parts: list[Array]) -> Array:
    """The distinct ones of the pairs in some arrays, ascending; the list is emptied, to free them early."""
    pairs = xp_of(parts[0]).concatenate(parts)
    parts.clear()
    pairs.sort()
    return pairs[is_begin(pairs)]


def split_pairs(n: int, pairs: Array) -> tuple[Array, Array]:
    """The sources and the targets of pairs ``source * n + target``; the sources replace the pairs."""
    targets = pairs % max(n, 1)
    pairs //= max(n, 1)
    return pairs, targets


def is_symmetric(grid: Grid, sources: Array, targets: Array, weights: Array | None = None) -> bool:
    """Whether every edge has its reverse, of the same weight, by a sum of 64-bit hashes.

    Wrong with a probability of 2**-64.
    """
    balance = 0
    for first in range(0, sources.size, AT_ONCE):
        some = slice(first, first + AT_ONCE)
        tails, heads = sources[some], targets[some]
        words = edge_words(tails, heads, None if weights is None else weights[some])
        # stall: a number of all ranks
        upper, lower = (int(words[part].sum(dtype=np.uint64)) for part in (tails < heads, tails > heads))
        balance += upper - lower
    return not grid.comm.allreduce(np.array([balance % 2**64], np.uint64)).any()


def edge_words(sources: Array, targets: Array, weights: Array | None = None) -> Array:
    """A word for each edge, the same for both directions."""
    xp = xp_of(sources)
    low, high = xp.minimum(sources, targets), xp.maximum(sources, targets)
    words = low.astype(np.uint64) * GOLDEN + high.astype(np.uint64) * HIGH_STRIDE
    return mixed(words if weights is None else words ^ weights.view(np.uint64))


def row_pointers(rows: Array, begin: int, count: int) -> Array:
    """CSR row pointers of sorted row numbers, which begin at a number."""
    xp = xp_of(rows)
    return xp.searchsorted(rows, xp.arange(begin, begin + count + 1))


def run_begins(*keys: Array) -> Array:
    """Where the runs of equal keys begin."""
    return xp_of(keys[0]).flatnonzero(is_begin(*keys))


def is_begin(*keys: Array) -> Array:
    """Whether a run of equal keys begins at each place."""
    begins = xp_of(keys[0]).ones(keys[0].size, bool)
    if begins.size:
        begins[1:] = False
    for key in keys:
        begins[1:] |= key[1:] != key[:-1]
    return begins
