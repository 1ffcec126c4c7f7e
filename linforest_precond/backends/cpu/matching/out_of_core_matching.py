"""Out-of-core matching of locally dominant edges, for graphs whose arrays are memory-mapped files.

Row pointers, mates and pointers of all vertices are in memory, and one batch of consecutive rows at a time,
which is copied. Columns are checked: a file that changes meanwhile can make the matching wrong, no more.
"""

import numpy as np
from numba import prange

from ..runtime.arrays import readonly
from ..runtime.constants import NO_VERTEX
from ..runtime.hashing import edge_hash
from ..runtime.jit import kernel

# The pointer of a vertex without a free neighbour.
DEAD = -2


def match(graph, tie_key, batches):
    """The mate of each vertex, -1 where it is single, and an array: rounds that matched edges, maximal.

    Every round reads the batches in which vertices must set their pointers anew, because their targets were
    matched; then mutual pointers are matched. The rounds are those of `locally_dominant`.
    """
    index = graph.indices.dtype
    mate, pointers = np.full(graph.n, NO_VERTEX, index), np.full(graph.n, NO_VERTEX, index)
    ends = batch_ends(graph.indptr, batches)
    starts = np.concatenate([[0], ends[:-1]])
    pending, rounds = np.ones(ends.size, np.bool_), 0
    while pending.any():
        for first, last in zip(starts[pending].tolist(), ends[pending].tolist()):
            set_batch_pointers(*batch_of(graph, first, last), np.uint32(tie_key), mate, pointers)
        matched = match_mutual(mate, pointers)
        if not matched:  # without a concurrent change of the weights, every round matches an edge
            break
        rounds += 1
        pending = open_batches(mate, pointers, starts, ends)
    return mate, np.array([rounds, 1])


def batch_ends(indptr, batches):
    """The ends of at most `batches` ranges of vertices with about equal numbers of entries."""
    if indptr.size < 2:
        return np.zeros(0, np.int64)
    shares = np.arange(1, batches + 1) * (int(indptr[-1]) / batches)
    ends = np.searchsorted(indptr[1:], shares) + 1
    ends[-1] = indptr.size - 1
    return np.unique(np.minimum(ends, indptr.size - 1))


def batch_of(graph, first, last):
    """The rows of the vertices [first, last): row pointers, first entry, and copies of their entries."""
    begin, end = int(graph.indptr[first]), int(graph.indptr[last])
    indices, values = np.array(graph.indices[begin:end]), np.array(graph.values[begin:end])
    return *map(readonly, (graph.indptr, indices, values)), begin, first, last


# Sets the pointers of the free vertices of a batch whose targets are not free.
@kernel(parallel=True)
def set_batch_pointers(indptr, indices, values, begin, first, last, tie_key, mate, pointers):
    for v in prange(first, last):
        target = np.int64(pointers[v])
        if mate[v] != NO_VERTEX or target == DEAD or (target >= 0 and mate[target] == NO_VERTEX):
            continue
        target = np.int64(DEAD)
        best, best_tie = values.dtype.type(0), np.uint32(0)
        for slot in range(np.int64(indptr[v]) - begin, np.int64(indptr[v + 1]) - begin):
            w, weight = np.int64(indices[slot]), abs(values[slot])
            if w < 0 or w >= mate.size or weight < best or weight == 0 or w == v or mate[w] != NO_VERTEX:
                continue
            tie = edge_hash(v, w, tie_key)
            if weight > best or tie < best_tie:
                target, best, best_tie = w, weight, tie
        pointers[v] = target


# Matches mutual pointers and returns the number of matched vertices. Each vertex writes its own mate only.
@kernel(parallel=True)
def match_mutual(mate, pointers):
    matched = 0
    for v in prange(mate.size):
        target = pointers[v]
        if mate[v] == NO_VERTEX and target >= 0 and pointers[target] == v:
            mate[v] = target
            matched += 1
    return matched


# Which batches have a free vertex that lost its target.
@kernel(parallel=True)
def open_batches(mate, pointers, starts, ends):
    found = np.zeros(ends.size, np.bool_)
    for batch in prange(ends.size):
        for v in range(starts[batch], ends[batch]):
            target = pointers[v]
            if mate[v] == NO_VERTEX and target >= 0 and mate[target] != NO_VERTEX:
                found[batch] = True
                break
    return found
