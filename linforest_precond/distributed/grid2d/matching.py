"""Matching of locally dominant edges on a grid of ranks."""

from __future__ import annotations

from functools import partial

import numpy as np

from linforest_precond.backends.annotations import Array
from linforest_precond.backends.arguments import as_integer
from linforest_precond.backends.user_warnings import named_arguments
from linforest_precond.distributed.grid2d.blocks import run_begins
from linforest_precond.distributed.grid2d.exchange import combine_minima, is_dense
from linforest_precond.distributed.grid2d.graph import Graph2D
from linforest_precond.distributed.grid2d.vectors import (
    own_results,
    sent_to_shares,
    spread_rows,
    vertex_dtype,
)
from linforest_precond.distributed.partition import NO_VERTEX
from linforest_precond.graph.matching.matching import tie_key_of

FREE = np.iinfo(np.int64).max


@named_arguments
def matching(graph: Graph2D, seed: int = 0) -> Array:
    """Find a matching of heavy edges: each is the best at both of its ends among the edges that are left.

    A vertex points along its best edge to a free vertex, mutual pointers are matched, and vertices that have
    lost their target point anew. The best edge of a row is found by a custom reduction in the row group.

    Parameters
    ----------
    graph : Graph2D
        With real weights, of which magnitudes count, added for both directions where these differ.
    seed : int
        Of the order among equal weights.

    Returns
    -------
    array of int32
        The mate of each of this rank's vertices (``graph.offsets``), -1 for a single one: that of
        `graph.matching` of the whole matrix.

    References
    ----------
    F. Manne, R. H. Bisseling, "A Parallel Approximation Algorithm for the Weighted Maximum Matching Problem",
    PPAM 2007, https://doi.org/10.1007/978-3-540-68111-3_74

    Examples
    --------
    >>> import scipy.sparse
    >>> from linforest_precond.distributed import grid2d, scatter, simulate
    >>> A = scipy.sparse.csr_array([[0, 2, 0, 0], [2, 0, 3, 0], [0, 3, 0, 2], [0, 0, 2, 0]])
    >>> simulate(2, lambda comm: grid2d.matching(grid2d.Graph2D.from_matrix(scatter(A, comm))).tolist())
    [[-1, 2], [1, -1]]
    """
    comm = graph.grid.comm
    with comm.checking():
        seed = as_integer("seed", seed) % 2**64
        if graph.weights is None:
            raise TypeError("the graph must have real weights; pass magnitudes")
    comm.same("seed", seed)
    with comm.together():
        mates = match(graph.with_magnitudes(), tie_key_of(seed))
        return own_results(graph, graph.xp.where(mates == FREE, NO_VERTEX, mates), vertex_dtype(graph.n))


def match(graph: Graph2D, tie_key: np.uint32) -> Array:
    """The mates of row and column vertices of a graph with symmetric weights."""
    xp = graph.xp
    mates, pointers = (xp.full(graph.n_states, none, np.int64) for none in (FREE, NO_VERTEX))
    free = lost = xp.arange(graph.rows.size)
    matched = graph.n
    while graph.grid.comm.total(lost.size):
        point(graph, tie_key, mates, pointers, lost)
        free = free[pointers[free + graph.rows.start] != NO_VERTEX]
        dense = is_dense("auto", matched, graph.n, graph.grid.shape)
        changed = combine_minima(graph.pull, mates, partial(join, graph, mates, pointers, free), dense)
        free = free[mates[free + graph.rows.start] == FREE]
        lost = graph.grid.row.allgather_arrays(with_matched_targets(graph, mates, pointers, free))
        matched = graph.totals(graph.rows_among(changed), 0)[0]
    return mates


def point(graph: Graph2D, tie_key: np.uint32, mates: Array, pointers: Array, rows: Array) -> None:
    """Point from rows along their best edges to free vertices, on all ranks that hold these vertices."""
    found = best_edges(graph, tie_key, mates, rows)
    found = _first_of_rows(graph, sent_to_shares(graph, found))
    pointers[rows + graph.rows.start] = NO_VERTEX
    spread_rows(graph, pointers, found[:, 0], found[:, 3])


def best_edges(graph: Graph2D, tie_key: np.uint32, mates: Array, rows: Array) -> Array:
    """Of each row the best of this rank's edges: row, weight (its bits), hash, and the other end."""
    assert graph.weights is not None
    places, slots = graph.blocks.expanded_rows(graph.indptr, rows)
    tails, heads = rows[places] + graph.rows.start, graph.indices[slots]
    usable = (mates[heads] == FREE) & (graph.weights[slots] > 0) & (tails != heads)
    places, slots = places[usable], slots[usable]
    # Lighter edges of a row need not be hashed and sorted. Bits of positive weights order as these.
    bits = graph.weights.view(np.int64)[slots]
    least = graph.xp.zeros(rows.size, np.int64)
    graph.blocks.minimum_at(least, places, -bits)
    heaviest = least[places] == -bits
    sources, slots, bits = rows[places[heaviest]], slots[heaviest], bits[heaviest]
    targets = graph.vertices[graph.indices[slots]]
    ties = graph.blocks.hashed_edges(graph.vertices[sources + graph.rows.start], targets, tie_key)
    return _first_of_rows(graph, graph.xp.column_stack([sources, bits, ties, targets]))


def _first_of_rows(graph: Graph2D, edges: Array) -> Array:
    """The first edge of each row in the order (-weight, hash, other end)."""
    row, weights, ties, heads = edges.T
    order = graph.blocks.lexicographic_order((heads, ties, -weights, row))
    return edges[order[run_begins(row[order])]]


def join(graph: Graph2D, mates: Array, pointers: Array, free: Array) -> Array:
    """Make mutual pointers mates: the local ids of rows whose target is a column here that points back."""
    ids, columns = _targets_here(graph, pointers, free)
    ids = ids[pointers[columns] == graph.vertices[ids]]
    graph.blocks.minimum_at(mates, ids, pointers[ids])
    return ids


def with_matched_targets(graph: Graph2D, mates: Array, pointers: Array, free: Array) -> Array:
    """The free rows whose target is a column here that is matched."""
    ids, columns = _targets_here(graph, pointers, free)
    return ids[mates[columns] != FREE] - graph.rows.start


def _targets_here(graph: Graph2D, pointers: Array, free: Array) -> tuple[Array, Array]:
    """Local ids of free rows that point to a column of this rank, and of these columns."""
    ids = free + graph.rows.start
    positions = graph.where.positions(pointers[ids])
    here = (positions >= graph.columns.begin) & (positions < graph.columns.end)
    return ids[here], graph.columns.local(positions[here])
