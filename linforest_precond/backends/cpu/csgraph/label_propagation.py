"""Label propagation: in each round a hashed half of the vertices take the most frequent label around them."""

import numba
import numpy as np
from numba import prange

from ..matrix.entries import wide_pattern
from ..runtime.hashing import is_positive, iteration_keys
from ..runtime.jit import helper, kernel

# A vertex has its turn in a round with a chance of one half.
HALF = np.uint64(2**52)


def propagate_labels(pattern, max_iter, seed):
    """The community of each vertex, numbered by their lowest vertices."""
    n = pattern.n
    indptr, indices, _ = wide_pattern(pattern)
    labels = np.arange(n, dtype=np.int32)
    # Vertices that have not looked at their neighbours since one of these took another label.
    waiting = np.ones(n, bool)
    threads = numba.get_num_threads()
    counts, found = np.zeros((threads, n), np.int32), np.empty((threads, pattern.longest_row), np.int32)
    for number in range(max_iter):
        if not waiting.any():
            break
        turns = np.empty(n, bool)
        give_turns(waiting, iteration_keys(seed, number)[0], turns)
        vertices = np.flatnonzero(turns)
        chosen = np.empty(vertices.size, np.int32)
        shares = equal_shares(indptr[vertices + 1] - indptr[vertices], threads)
        choose_labels(indptr, indices, vertices, shares, labels, counts, found, chosen)
        waiting[vertices] = False
        changed = chosen != labels[vertices]
        labels[vertices[changed]] = chosen[changed]
        wake_neighbours(indptr, indices, vertices[changed], waiting)
    return numbered(labels)


def equal_shares(lengths, parts):
    """Where each of so many parts of a list begins, and the last ends, that have about as many entries."""
    ends = np.cumsum(lengths)
    total = int(ends[-1]) if ends.size else 0
    inner = np.searchsorted(ends, np.arange(1, parts) * (total // parts))
    return np.array([0, *inner, lengths.size], np.int64)


@kernel(parallel=True)
def give_turns(waiting, charge_key, turns):
    for v in prange(waiting.size):
        turns[v] = waiting[v] and is_positive(v, charge_key, HALF)


# Each part has its own row of counts, all zero before and after, and room for the labels of a row.
@kernel(parallel=True)
def choose_labels(indptr, indices, vertices, shares, labels, counts, found, chosen):
    for part in prange(shares.size - 1):
        for place in range(shares[part], shares[part + 1]):
            v = vertices[place]
            chosen[place] = modal_label(
                indices[indptr[v] : indptr[v + 1]], v, labels, counts[part], found[part]
            )


# The most frequent label of a vertex's neighbours: its own if that is one, else the lowest. Without any
# neighbours it keeps its own. A label is compared with the best one whenever it is met, at last with all its
# count.
@helper
def modal_label(neighbours, v, labels, counts, found):
    own, best, most, size = labels[v], labels[v], 0, 0
    for u in neighbours:
        if u == v:
            continue
        label = labels[u]
        counts[label] += 1
        found[size] = label
        size += 1
        count = counts[label]
        if count > most or (count == most and (label == own or (best != own and label < best))):
            best, most = label, count
    for label in found[:size]:
        counts[label] = 0
    return best


@kernel(parallel=True)
def wake_neighbours(indptr, indices, vertices, waiting):
    for place in prange(vertices.size):
        v = vertices[place]
        for slot in range(indptr[v], indptr[v + 1]):
            waiting[indices[slot]] = True


@kernel
def numbered(labels):
    numbers = np.full(labels.size, -1, np.int32)
    count = 0
    for v in range(labels.size):
        if numbers[labels[v]] < 0:
            numbers[labels[v]] = count
            count += 1
    return numbers[labels]
