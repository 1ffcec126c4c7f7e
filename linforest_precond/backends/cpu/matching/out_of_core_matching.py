"""Out-of-core matching of locally dominant edges, for graphs whose arrays are memory-mapped files.

For all vertices, row pointers (twice), mates, pointers and a list are in memory, and one batch of consecutive
rows at a time, which is copied. Columns are checked: a file that changes meanwhile can make the matching
wrong, no more.
"""

import numpy as np
from numba import prange

from linforest_precond.backends.host_numbers import batch_ends

from ..runtime.arrays import BLOCK, NO_VERTEX, readonly
from ..runtime.hashing import edge_hash
from ..runtime.jit import kernel
from .locally_dominant import match_rounds

# The pointer of a vertex without a free neighbour.
DEAD = -2


def match(graph, tie_key, batches):
    """The mate of each vertex, -1 where it is single, and an array: rounds that matched edges, maximal.

    Every round reads the batches in which vertices must set their pointers anew, because their targets were
    matched; then mutual pointers are matched. As soon as the rows of all vertices that may still be matched
    are no more than a batch, they are read once more and matched in memory. The rounds are those of
    `locally_dominant`.
    """
    index, tie_key = graph.indices.dtype, np.uint32(tie_key)
    mate, pointers = np.full(graph.n, NO_VERTEX, index), np.full(graph.n, NO_VERTEX, index)
    ends = batch_ends(graph.indptr, batches)
    starts = np.concatenate([[0], ends[:-1]])
    room = np.diff(graph.indptr[ends], prepend=0).max(initial=0)
    pending, rounds = np.ones(ends.size, np.bool_), 0
    while pending.any():
        for first, last in zip(starts[pending].tolist(), ends[pending].tolist()):
            set_batch_pointers(*batch_of(graph, first, last), tie_key, mate, pointers)
        if not match_mutual(mate, pointers):  # every round matches an edge, unless the weights change
            break
        rounds += 1
        pending = open_batches(mate, pointers, starts, ends)
        kept = kept_rows(graph.indptr, mate, pointers)
        if pending.any() and kept[-1] <= room:
            rounds += match_rest(graph, tie_key, mate, pointers, kept, starts, ends)
            break
    return mate, np.array([rounds, 1])


def match_rest(graph, tie_key, mate, pointers, kept, starts, ends):
    """Match the remaining vertices in memory, after copying their rows; returns the rounds."""
    indices = np.empty(int(kept[-1]), graph.indices.dtype)
    values = np.empty(int(kept[-1]), graph.values.dtype)
    for first, last in zip(starts.tolist(), ends.tolist()):
        if kept[last] > kept[first]:
            copy_rows(*batch_of(graph, first, last), kept, indices, values)
    active = np.flatnonzero(np.diff(kept)).astype(mate.dtype)
    left = np.empty(-(-active.size // BLOCK), np.int64)
    arrays = map(readonly, (kept, indices, values))
    return match_rounds(*arrays, tie_key, mate, pointers, active, left)


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


# Row pointers to the rows of the vertices that may still be matched; other rows are empty.
@kernel
def kept_rows(indptr, mate, pointers):
    kept = np.zeros(indptr.size, indptr.dtype)
    for v in range(mate.size):
        stays = mate[v] == NO_VERTEX and pointers[v] >= 0
        kept[v + 1] = kept[v] + (indptr[v + 1] - indptr[v] if stays else 0)
    return kept


# Copies the kept rows of a batch.
@kernel(parallel=True)
def copy_rows(indptr, indices, values, begin, first, last, kept, kept_indices, kept_values):
    for v in prange(first, last):
        slot = np.int64(indptr[v]) - begin
        for place in range(np.int64(kept[v]), np.int64(kept[v + 1])):
            # Columns are followed unchecked from here on.
            kept_indices[place] = min(max(indices[slot], 0), indptr.size - 2)
            kept_values[place] = values[slot]
            slot += 1


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


# Copies the entries [first, last) of the kept rows; `kept` are row pointers to them, other rows are empty.
# Several threads may do so at once.
@kernel(nogil=True)
def gather_entries(indptr, kept, source, first, last, target):
    v = np.searchsorted(kept, first, side="right") - 1
    place = first
    while place < last:
        end = min(np.int64(kept[v + 1]), last)
        if end > place:
            slot = np.int64(indptr[v]) + place - np.int64(kept[v])
            target[place - first : end - first] = source[slot : slot + end - place]
            place = end
        v += 1
