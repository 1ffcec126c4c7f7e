"""Aggregates: groups of vertices, each of which becomes one vertex of a coarser matrix."""

import numpy as np
from numba import prange

from ..runtime.arrays import NO_VERTEX, number_by_first, readonly
from ..runtime.hashing import edge_hash
from ..runtime.jit import helper, kernel

ROWS_AT_ONCE = 4096  # vertices that one thread processes at a time


def of_mates(graph, mate, tie_key):
    """Make an aggregate of every matched pair; a single vertex joins that of its heaviest matched neighbour.

    A single vertex without such a neighbour stays alone. `tie_key` orders equal weights, as in matchings.
    Returns the aggregate of each vertex and the number of aggregates, which are numbered in the order of
    their lowest vertices.
    """
    roots = np.empty(graph.n, graph.indices.dtype)
    arrays = graph.indptr, graph.indices, graph.values, mate
    find_roots(*map(readonly, arrays), np.uint32(tie_key), roots)
    numbers = np.full(graph.n, NO_VERTEX, roots.dtype)
    count = number_by_first(roots, numbers)
    return roots, count


def members_of(aggregates, count):
    """The vertices of all aggregates in CSR form: where each aggregate begins, and its ascending vertices."""
    indptr = np.zeros(count + 1, aggregates.dtype)
    members = np.empty(aggregates.size, aggregates.dtype)
    list_members(readonly(aggregates), indptr, members)
    return indptr, members


# The root of each vertex: the lower vertex of the pair that it belongs to or joins, or itself.
@kernel(parallel=True)
def find_roots(indptr, indices, values, mate, tie_key, roots):
    for block in prange(-(-roots.size // ROWS_AT_ONCE)):
        for v in range(block * ROWS_AT_ONCE, min((block + 1) * ROWS_AT_ONCE, roots.size)):
            other = np.int64(mate[v])
            if other < 0:
                other = heaviest_matched(indptr, indices, values, mate, tie_key, v)
                if other < 0:
                    roots[v] = v
                    continue
                roots[v] = min(other, np.int64(mate[other]))
            else:
                roots[v] = min(v, other)


# The best of a vertex's edges to matched vertices: by weight, then hash, then column. Columns ascend, so a
# later one never wins a tie.
@helper
def heaviest_matched(indptr, indices, values, mate, tie_key, v):
    best = NO_VERTEX
    best_weight, best_tie = values.dtype.type(0), np.uint32(0)
    for slot in range(np.int64(indptr[v]), np.int64(indptr[v + 1])):
        w, weight = np.int64(indices[slot]), abs(values[slot])
        if weight == 0 or weight < best_weight or w == v or mate[w] < 0:
            continue
        tie = edge_hash(v, w, tie_key)
        if weight > best_weight or tie < best_tie:
            best, best_weight, best_tie = w, weight, tie
    return best


# Counting sort of the vertices by their aggregates; `indptr` is zero at first.
@kernel
def list_members(aggregates, indptr, members):
    for v in range(aggregates.size):
        indptr[aggregates[v] + 1] += 1
    for aggregate in range(1, indptr.size):
        indptr[aggregate] += indptr[aggregate - 1]
    # Scattering moves each aggregate's pointer to its end, where the next aggregate begins: shifted back
    # afterwards.
    for v in range(aggregates.size):
        aggregate = aggregates[v]
        members[indptr[aggregate]] = v
        indptr[aggregate] += 1
    for aggregate in range(indptr.size - 1, 0, -1):
        indptr[aggregate] = indptr[aggregate - 1]
    indptr[0] = 0
