"""Label propagation: in each round a hashed half of the active vertices take their neighbours' modal label.

U. N. Raghavan, R. Albert, S. Kumara, "Near linear time algorithm to detect community structures in
large-scale networks", Phys. Rev. E 76 (2007), https://doi.org/10.1103/PhysRevE.76.036106.
"""

import numba
import numpy as np
from numba import prange

from ..matrix.entries import wide_pattern
from ..runtime.hashing import is_positive, iteration_keys
from ..runtime.jit import helper, kernel

# The probability that an active vertex is updated in a round: one half, times 2**53.
HALF = np.uint64(2**52)


def propagate_labels(pattern, max_iter, seed):
    """The community of each vertex, numbered by their lowest vertices."""
    n = pattern.n
    indptr, indices, _ = wide_pattern(pattern)
    labels = np.arange(n, dtype=np.int32)
    # A vertex is active if a neighbour's label has changed since its last update.
    active = np.ones(n, bool)
    threads = numba.get_num_threads()
    counts, found = np.zeros((threads, n), np.int32), np.empty((threads, pattern.longest_row), np.int32)
    for number in range(max_iter):
        if not active.any():
            break
        selected = np.empty(n, bool)
        select_half(active, iteration_keys(seed, number)[0], selected)
        vertices = np.flatnonzero(selected)
        new_labels = np.empty(vertices.size, np.int32)
        offsets = balanced_offsets(indptr[vertices + 1] - indptr[vertices], threads)
        find_modal_labels(indptr, indices, vertices, offsets, labels, counts, found, new_labels)
        active[vertices] = False
        changed = new_labels != labels[vertices]
        labels[vertices[changed]] = new_labels[changed]
        activate_neighbours(indptr, indices, vertices[changed], active)
    return numbered_by_first(labels)


def balanced_offsets(lengths, parts):
    """The offsets of consecutive parts of a list of rows that have about equal numbers of entries."""
    ends = np.cumsum(lengths)
    total = int(ends[-1]) if ends.size else 0
    inner = np.searchsorted(ends, np.arange(1, parts) * (total // parts))
    return np.array([0, *inner, lengths.size], np.int64)


@kernel(parallel=True)
def select_half(active, charge_key, selected):
    for v in prange(active.size):
        selected[v] = active[v] and is_positive(v, charge_key, HALF)


# Each part of the vertices has its own histogram `counts`, all zero before and after, and its own `found`.
@kernel(parallel=True)
def find_modal_labels(indptr, indices, vertices, offsets, labels, counts, found, new_labels):
    for part in prange(offsets.size - 1):
        for place in range(offsets[part], offsets[part + 1]):
            v = vertices[place]
            new_labels[place] = modal_label(
                indices[indptr[v] : indptr[v + 1]], v, labels, counts[part], found[part]
            )


# The most frequent label among a vertex's neighbours. Ties: its own label if that is among them, else the
# lowest. An isolated vertex keeps its label. The best label is updated with every count, so that the last
# comparison of each label is with its full count.
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
def activate_neighbours(indptr, indices, vertices, active):
    for place in prange(vertices.size):
        v = vertices[place]
        for slot in range(indptr[v], indptr[v + 1]):
            active[indices[slot]] = True


# Consecutive numbers for the labels, in the order of the lowest vertex of each.
@kernel
def numbered_by_first(labels):
    numbers = np.full(labels.size, -1, np.int32)
    count = 0
    for v in range(labels.size):
        if numbers[labels[v]] < 0:
            numbers[labels[v]] = count
            count += 1
    return numbers[labels]
